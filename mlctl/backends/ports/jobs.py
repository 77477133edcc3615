"""The protocols of backends that run jobs, and their values."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.workload import Workload


class JobListView(Enum):
    """Which jobs a list has, in ARM's words for `listViewType`."""

    ACTIVE = "ActiveOnly"
    ARCHIVED = "ArchivedOnly"
    ALL = "All"

    def holds(self, job: Job) -> bool:
        """Whether a job is listed."""
        archived = bool(job.body["properties"].get("isArchived"))
        return self is JobListView.ALL or archived is (self is JobListView.ARCHIVED)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the backend has it: its name and its ARM body.

    `properties.run` of the body has the numbers of the run, where the backend knows them.
    """

    name: str
    body: Mapping[str, Data]

    @property
    def status(self) -> str:
        """Azure's word: Queued, Running, Completed, Failed, Canceled."""
        return str(self.body["properties"]["status"])

    @property
    def ended(self) -> bool:
        """Whether the job has reached a final status."""
        return self.status in ("Completed", "Failed", "Canceled")


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job: `at` in seconds since it was submitted, its name and its fields.

    A backend that has no clock of its own counts from when somebody began to look.
    """

    at: float
    event: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A job at one moment, the nodes of its cluster by state, and the events since the last one.

    `at` is as that of events.
    """

    at: float
    job: Job
    nodes: Mapping[str, int]
    events: tuple[JobEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """A training step that was logged, `at` as that of events.

    A restarted job (`run` counts from 1) repeats the steps since its last checkpoint. What code has
    logged has the `name` of a metric, and its `value`.
    """

    run: int
    at: float
    step: int
    name: str = ""
    value: float = 0.0


class Jobs(Protocol):
    """The jobs of a workspace."""

    @property
    def simulated(self) -> bool:
        """Whether jobs are simulated and need a workload."""

    def invoke(
        self,
        endpoint: str,
        deployment: str | None,
        body: Mapping[str, Data],
        workload: Workload,
        workload_name: str,
    ) -> Job:
        """Call an endpoint: `body` has ARM's properties of a batch job.

        `workload` goes over the stored one named `workload_name`, where jobs are simulated.

        Raises:
            NotFound: there is no such endpoint, deployment or workload.
            ServiceError: refused.
        """

    def create(
        self, name: str | None, body: Mapping[str, Data], workload: Workload, workload_name: str
    ) -> Job:
        """Submit a command, pipeline or sweep job: `body` is ARM's.

        A name is made up where there is none. A step of a pipeline has the workload of its own name
        where one is stored.

        Raises:
            NotFound: there is no such cluster, environment or workload.
            ServiceError: refused.
        """

    def show(self, name: str) -> Job:
        """A job.

        Raises:
            NotFound: there is none of that name.
        """

    def list(
        self,
        endpoint: str | None = None,
        deployment: str | None = None,
        *,
        view: JobListView = JobListView.ACTIVE,
        limit: int | None = None,
    ) -> builtins.list[Job]:
        """The jobs of the workspace, of an endpoint or of a deployment, the newest first.

        No more than `most`, if it is given. Steps of pipelines and trials of sweeps are not among
        them: see `children`.

        Raises:
            NotFound: there is no such endpoint or deployment.
        """

    def unfinished(self) -> builtins.list[Job]:
        """The jobs of the workspace that have not ended, archived ones too.

        Raises:
            ServiceError: they cannot be read.
        """

    def children(self, name: str) -> builtins.list[Job]:
        """The steps of a pipeline or the trials of a sweep, each after those that it needs.

        Raises:
            NotFound: there is no such job.
        """

    def set_archived(self, name: str, *, archived: bool) -> None:
        """Archive a job, or restore it.

        Raises:
            NotFound: there is none of that name.
            ServiceError: it is a step or a trial, or refused.
        """

    def cancel(self, name: str) -> Job:
        """Cancel a job.

        Raises:
            NotFound: there is none of that name.
            ServiceError: it has ended already.
        """

    def follow(self, name: str, seconds: float, *, detail: bool) -> Iterator[JobProgress]:
        """Wait until a job has ended, but no longer than `seconds`; yield its progress.

        The first item is the present state. With `detail`, successful mini-batches are events too.

        Raises:
            NotFound: there is no such job.
        """

    def metrics(self, name: str) -> builtins.list[MetricPoint]:
        """What a training job has logged, in the order in which it did.

        Raises:
            NotFound: there is no such job.
            ServiceError: it logs nothing.
        """


@runtime_checkable
class SupportsJobs(Protocol):
    """Has jobs."""

    @property
    def jobs(self) -> Jobs:
        """The jobs of the workspace."""


@runtime_checkable
class SupportsEventLog(Protocol):
    """Keeps an event log of every job."""

    def event_log(self, name: str) -> Iterator[str]:
        """The event log of a job and its cluster, from submitting it to its end, as JSON lines.

        Raises:
            NotFound: there is no such job.
        """


@runtime_checkable
class SupportsLogs(Protocol):
    """Prints what a job prints."""

    def stream(self, name: str) -> None:
        """Write a job's logs to stdout until it has ended.

        Raises:
            NotFound: there is no such job.
            ServiceError: the job has failed; or its logs cannot be read.
        """


@runtime_checkable
class SupportsOutputs(Protocol):
    """Has the outputs of jobs at hand."""

    def outputs(self, name: str) -> Iterator[tuple[PurePosixPath, str]]:
        """The files of a job and their texts, under `artifacts` and `named-outputs`.

        Raises:
            NotFound: there is no such job.
        """


@runtime_checkable
class SupportsDownloads(Protocol):
    """Downloads the outputs of jobs."""

    def download(self, name: str, folder: Path, output: str | None, *, every: bool) -> None:
        """Download a job's artifacts, one named output or, with `every`, all of these to a folder.

        Raises:
            NotFound: there is no such job, or output.
            ServiceError: the job has not ended; or refused.
        """
