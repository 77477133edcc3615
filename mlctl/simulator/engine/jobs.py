"""The state of jobs, as plain data; `batch`, `retry`, `training` and `batch_pool` change it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import Enum

from mlctl.dataclasses import dataclass, field
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, GroupSpec, Tier, TrainingSpec

# (time, priority, number, mini-batch, slot): the end of an attempt, known at its start.
Attempt = tuple[float, int, int, int, int]


class JobStatus(Enum):
    """A job's status, in Azure's words."""

    NOT_STARTED = "NotStarted"
    QUEUED = "Queued"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED)


@dataclass(slots=True)
class EngineJob:
    """The fields of every job. Times are None until they are known.

    `tier`, `cores` and `price` are the cluster's at the time of submission. `lost_node_s` are
    node-seconds of work that a preemption discarded. `group` is the job of which it is a member,
    `after` the members that it waits for, `own` the cluster that is created for it. `serial`
    numbers all jobs in the order in which they were added.
    """

    name: str
    submitted: float
    tier: Tier = Tier.DEDICATED
    cores: int = 0
    price: float | None = None
    status: JobStatus = JobStatus.QUEUED
    started: float | None = None
    ended: float | None = None
    reason: str = ""
    billed_node_s: float = 0.0
    lost_node_s: float = 0.0
    preempted_nodes: int = 0
    group: str = ""
    after: tuple[str, ...] = ()
    own: ClusterSpec | None = None
    reused: bool = False
    serial: int = 0


@dataclass(slots=True)
class BatchJob(EngineJob):
    """A batch job. Mini-batches that never started are only counted: all from `next_new` on.

    `head` and `tail` queue mini-batches to be retried, before and after those. `attempts_by_end`
    has the running attempts in the order of their ends. The slots of node n are numbered from
    n * concurrency on. `starting` are running nodes that cannot work yet, with the second since
    which they start; `last_progress` is when an attempt began or ended, where `attempts_by_end`
    does not show it. `failed_attempts` and `lost_attempts` count per mini-batch. Derived fields are
    not stored; they are computed again. `times` has those of the first mini-batches, as far as they
    are known to be needed, `samples` the others.
    """

    spec: BatchSpec = field(kw_only=True)
    total: int = field(kw_only=True)
    next_new: int = 0
    head: deque[int] = field(default_factory=deque)
    tail: deque[int] = field(default_factory=deque)
    attempts_by_end: list[Attempt] = field(default_factory=list)
    starting: dict[int, float] = field(default_factory=dict)
    last_progress: float = 0.0
    idle_slots: dict[int, None] = field(default_factory=dict)
    failed_attempts: dict[int, int] = field(default_factory=dict)
    lost_attempts: dict[int, int] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    failed_files: int = 0
    attempts: int = 0
    running_nodes: int = 0
    usable_nodes: int = 0
    epoch: int = 0
    times: list[float] = field(default_factory=list, metadata={"derived": True})
    samples: Iterator[list[float]] | None = field(default=None, metadata={"derived": True})
    attempts_to_fail: dict[int, int] = field(default_factory=dict, metadata={"derived": True})
    has_timeouts: bool = field(default=False, metadata={"derived": True})
    scheduled: tuple[float, int, int] | None = field(default=None, metadata={"derived": True})

    @property
    def cluster_name(self) -> str:
        """The cluster that the job runs on."""
        return self.spec.cluster


class TrainingPhase(Enum):
    """What a training job is doing."""

    WAITING = "waiting"
    RESTORE = "restore"
    STEPS = "steps"
    CHECKPOINT = "checkpoint"


@dataclass(slots=True)
class StepRange:
    """The steps `first` to `last` of a training job, logged one by one since the second `began`.

    `run` counts the job's runs from 1.
    """

    first: int
    last: int
    began: float
    run: int = 1


@dataclass(slots=True)
class TrainingJob(EngineJob):
    """A training job. `step` is the last step of this run, `saved` that of the last checkpoint.

    `metrics` are the logged steps: every run appends, so steps repeat. `partial_checkpoints` are
    those that a preemption cut off. `unsaved_since` is the time since when work would be lost.
    """

    spec: TrainingSpec = field(kw_only=True)
    phase: TrainingPhase = TrainingPhase.WAITING
    phase_began: float = 0.0
    unsaved_since: float = 0.0
    target: int = 0
    step: int = 0
    saved: int = 0
    runs: int = 0
    metric_count: int = 0
    metrics: list[StepRange] = field(default_factory=list)
    partial_checkpoints: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    epoch: int = 0

    @property
    def cluster_name(self) -> str:
        """The cluster that the job runs on; a serverless job has its own."""
        own_cluster = self.spec.serverless
        return self.spec.cluster if own_cluster is None else own_cluster.name


@dataclass(slots=True)
class PoolJob(EngineJob):
    """A job of the classic service, on a VM of `pool`, or in the shared queue if that is empty."""

    duration_s: float = field(kw_only=True)
    pool: str = field(kw_only=True)
    epoch: int = 0


@dataclass(slots=True)
class GroupJob(EngineJob):
    """A job that consists of others: they are separate jobs, named in `spec`."""

    spec: GroupSpec = field(kw_only=True)


ClusterJob = BatchJob | TrainingJob
AnyJob = BatchJob | TrainingJob | PoolJob | GroupJob
