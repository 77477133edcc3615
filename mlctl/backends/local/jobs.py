"""Jobs of the local backend, and the nodes and metrics of its clusters."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from mlctl.backends.ports import jobs
from mlctl.backends.ports.backend import ComputeNode
from mlctl.backends.ports.monitor import MetricInterval, Series
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.simulator.control_plane import metrics as measured
from mlctl.simulator.control_plane import nodes as cluster_nodes
from mlctl.simulator.control_plane.jobs import artifacts, creation, job_events, records
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.workload import Workload


def nodes(place: WorkspaceHandle, cluster: Address) -> list[ComputeNode]:
    """Return the nodes of a cluster; a ServiceError if it does not exist (404)."""
    return [
        ComputeNode(node.id, node.state, node.private_ip, node.public_ip, node.port, node.job)
        for node in cluster_nodes.list_nodes(place, cluster)
    ]


def metrics(
    place: WorkspaceHandle,
    cluster: Address,
    names: Sequence[str],
    interval: float | None,
    span: float | None,
) -> list[Series]:
    """Return metrics of a cluster; a ServiceError if cluster (404) or metric do not exist."""
    series_list = measured.aggregate(place, cluster, names, interval=interval, span=span)
    return [
        Series(
            series.name,
            series.interval,
            tuple(
                MetricInterval(measured.interval_start(b), b.average, b.minimum, b.maximum, b.total)
                for b in series.buckets
            ),
        )
        for series in series_list
    ]


@dataclass(frozen=True, slots=True)
class LocalJobs(jobs.Jobs):
    """The jobs of a simulated workspace; each method does what its port says.

    Following a job advances the clock, which stops when no event is to come.
    """

    handle: WorkspaceHandle

    @property
    def simulated(self) -> bool:
        return True

    def invoke(
        self,
        endpoint: str,
        deployment: str | None,
        body: Mapping[str, Data],
        workload: Workload,
        workload_name: str,
    ) -> jobs.Job:
        return self._job(
            creation.invoke(
                self.handle, Invocation(endpoint, deployment, body, workload, workload_name)
            )
        )

    def create(
        self, name: str | None, body: Mapping[str, Data], workload: Workload, workload_name: str
    ) -> jobs.Job:
        request = JobRequest(name, body["properties"], workload, workload_name)
        return self._job(creation.create(self.handle, request))

    def submit(self, pool: str | None, seconds: float, name: str | None) -> jobs.Job:
        """Submit a classic job to a Batch Pool, or to the shared queue if none is named.

        Raises:
            NotFound: the pool does not exist.
            ServiceError: the service refuses.
        """
        return self._job(creation.submit_pool_job(self.handle, pool, seconds, name))

    def show(self, name: str) -> jobs.Job:
        return self._job(records.get_job(self.handle, name))

    def unfinished(self) -> builtins.list[jobs.Job]:
        return [job for job in self.list(view=jobs.JobListView.ALL) if not job.ended]

    def children(self, name: str) -> builtins.list[jobs.Job]:
        return [self._job(record) for record in records.children(self.handle, name)]

    def change(self, name: str, changes: Mapping[str, Data]) -> jobs.Job:
        return self._job(records.change(self.handle, name, changes))

    def list(
        self,
        endpoint: str | None = None,
        deployment: str | None = None,
        *,
        view: jobs.JobListView = jobs.JobListView.ACTIVE,
        limit: int | None = None,
    ) -> builtins.list[jobs.Job]:
        archived = None if view is jobs.JobListView.ALL else view is jobs.JobListView.ARCHIVED
        job_records = records.list_jobs(
            self.handle, endpoint, deployment, archived=archived, limit=limit
        )
        return [self._job(record) for record in job_records]

    def cancel(self, name: str) -> jobs.Job:
        return self._job(records.cancel(self.handle, name))

    def follow(self, name: str, seconds: float, *, detail: bool) -> Iterator[jobs.JobProgress]:
        for event in job_events.follow(self.handle, name, seconds, detail=detail):
            events = (jobs.JobEvent(entry.at, entry.event, entry.facts) for entry in event.events)
            counts = cluster_nodes.node_state_counts(event.nodes) if event.nodes else {}
            yield jobs.JobProgress(event.now, self._job(event.record), counts, tuple(events))

    def metrics(self, name: str) -> builtins.list[jobs.MetricPoint]:
        return [jobs.MetricPoint(*point) for point in job_events.metrics(self.handle, name)]

    def outputs(self, name: str) -> Iterator[tuple[PurePosixPath, str]]:
        yield from artifacts.files_of(records.get_job(self.handle, name))

    def event_log(self, name: str) -> Iterator[str]:
        yield from job_events.event_lines(self.handle, name)

    def _job(self, record: JobRecord) -> jobs.Job:
        return jobs.Job(record.row.name, record.body(self.handle.scope))
