"""The protocols of backends that run jobs or store files for them, and their values."""

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

    `properties.run` of the body has the numbers of the run, if the backend knows them.
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
    """An event of a job: seconds since its submission (`at`), its name and its fields.

    A backend without its own clock counts from when somebody began to watch.
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
    """A logged training step; `at` as for events.

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

        If jobs are simulated, `workload` overrides the stored one named `workload_name`.
        """

    def create(
        self, name: str | None, body: Mapping[str, Data], workload: Workload, workload_name: str
    ) -> Job:
        """Submit a command, pipeline or sweep job: `body` is ARM's.

        A missing name is generated. A step of a pipeline has the stored workload of its own name,
        if any.
        """

    def show(self, name: str) -> Job:
        """Return a job."""

    def list(
        self,
        endpoint: str | None = None,
        deployment: str | None = None,
        *,
        view: JobListView = JobListView.ACTIVE,
        limit: int | None = None,
    ) -> builtins.list[Job]:
        """List the jobs of the workspace, an endpoint or a deployment, newest first.

        At most `limit`, if given. Steps of pipelines and trials of sweeps are not included: see
        `children`.
        """

    def unfinished(self) -> builtins.list[Job]:
        """Return the jobs of the workspace that have not ended, including archived ones."""

    def children(self, name: str) -> builtins.list[Job]:
        """Return the steps of a pipeline or the trials of a sweep, each after those it needs."""

    def change(self, name: str, changes: Mapping[str, Data]) -> Job:
        """Change a job's `displayName`, `description`, `tags` or `isArchived`, in ARM's names."""

    def cancel(self, name: str) -> Job:
        """Cancel a job; a ServiceError if it has already ended."""

    def follow(self, name: str, seconds: float, *, detail: bool) -> Iterator[JobProgress]:
        """Wait until a job has ended, but no longer than `seconds`; yield its progress.

        The first item is the present state. With `detail`, successful mini-batches are events too.
        """

    def metrics(self, name: str) -> builtins.list[MetricPoint]:
        """Return what a training job has logged, in order; a ServiceError if it logs nothing."""


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
        """Yield the event log of a job and its cluster, from submission to end, as JSON lines."""


@runtime_checkable
class SupportsLogs(Protocol):
    """Prints what a job prints."""

    def stream(self, name: str) -> None:
        """Write a job's logs to stdout until it has ended; a ServiceError if it has failed."""


@runtime_checkable
class SupportsOutputs(Protocol):
    """Has the outputs of jobs locally."""

    def outputs(self, name: str) -> Iterator[tuple[PurePosixPath, str]]:
        """Yield the files of a job and their texts, under `artifacts` and `named-outputs`."""


@runtime_checkable
class SupportsDownloads(Protocol):
    """Downloads the outputs of jobs."""

    def download(self, name: str, folder: Path, output: str | None, *, every: bool) -> None:
        """Download the artifacts of an ended job, one named output or all (`every`) to a folder."""


class Folders(Protocol):
    """Folders that jobs can name as inputs; all may raise the storage's ServiceErrors."""

    def locate(self, text: str) -> str:
        """Return the URI of an input's folder: a data asset's, or the text itself."""

    def files(self, uri: str) -> Mapping[str, int]:
        """Return the paths of the files beneath a folder, sorted, with their sizes in bytes.

        Raises:
            NotFound: the datastore does not exist.
            Permanent: it is not in any of the workspace's blob datastores.
        """

    def write(self, folder: str, files: Mapping[str, Path]) -> None:
        """Write local files into a folder under these paths, overwriting."""

    def remove(self, folder: str) -> None:
        """Remove a folder with everything in it, if it exists."""


@runtime_checkable
class SupportsFolders(Protocol):
    """Stores files for jobs."""

    @property
    def folders(self) -> Folders:
        """The folders of the workspace."""
