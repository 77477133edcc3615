"""The state of jobs: plain data. What moves it is in `batch`, `training` and `pool`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from mlctl.simulator.engine.model import BatchSpec, Tier, TrainingSpec

# (time, priority, number, mini-batch, slot): how an attempt will end, known when it begins.
Attempt = tuple[float, int, int, int, int]


class Status(Enum):
    """A job's status in Azure's words."""

    QUEUED = "Queued"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"

    @property
    def ended(self) -> bool:
        """Nothing more will happen to the job."""
        return self not in (Status.QUEUED, Status.RUNNING)


@dataclass(slots=True)
class Job:
    """What every job has. Times are None until they come; tier, cores and price are those of the
    cluster when it was submitted."""

    name: str
    submitted: float
    tier: Tier = Tier.DEDICATED
    cores: int = 0
    price: float | None = None
    status: Status = Status.QUEUED
    started: float | None = None
    ended: float | None = None
    reason: str = ""
    billed_s: float = 0.0
    lost_s: float = 0.0
    preempted_nodes: int = 0


@dataclass(slots=True)
class BatchJob(Job):
    """A batch job. Of its mini-batches only those that something happened to are written down:
    those from `fresh` on nobody has touched, `head` and `tail` are the queue around them.

    `work` has the attempt of every busy slot; `flight` has them in the order of their ends, and
    still those that died with their node. A node's slots are numbered from its own number times
    the concurrency on.
    """

    spec: BatchSpec = field(kw_only=True)
    total: int = field(kw_only=True)
    fresh: int = 0
    head: deque[int] = field(default_factory=deque)
    tail: deque[int] = field(default_factory=deque)
    work: dict[int, Attempt] = field(default_factory=dict)
    spare: dict[int, None] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    cut_off: dict[int, int] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    failed_files: int = 0
    attempts: int = 0
    running: int = 0
    members: int = 0
    epoch: int = 0
    flight: deque[Attempt] = field(default_factory=deque, metadata={"derived": True})
    times: list[float] = field(default_factory=list, metadata={"derived": True})
    failing: dict[int, int] = field(default_factory=dict, metadata={"derived": True})
    late: bool = field(default=False, metadata={"derived": True})
    due: tuple[float, int, int] | None = field(default=None, metadata={"derived": True})

    @property
    def cluster_name(self) -> str:
        """Where the job runs."""
        return self.spec.cluster


class Phase(Enum):
    """What a training job is at."""

    WAITING = "waiting"
    RESTORE = "restore"
    STEPS = "steps"
    CHECKPOINT = "checkpoint"


@dataclass(slots=True)
class Stretch:
    """Steps `first` to `last` of a training job, logged one by one from `began` on."""

    first: int
    last: int
    began: float


@dataclass(slots=True)
class TrainingJob(Job):
    """A training job. `step` is done in this run, `saved` is in the last complete checkpoint.

    `metrics` is what AzureML keeps: every run appends to it, so steps repeat. `partial` are the
    checkpoints that a preemption cut off.
    """

    spec: TrainingSpec = field(kw_only=True)
    phase: Phase = Phase.WAITING
    phase_began: float = 0.0
    safe_at: float = 0.0
    target: int = 0
    step: int = 0
    saved: int = 0
    runs: int = 0
    points: int = 0
    metrics: list[Stretch] = field(default_factory=list)
    partial: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    epoch: int = 0

    @property
    def cluster_name(self) -> str:
        """Where the job runs: serverless, on a cluster of its own."""
        own = self.spec.serverless
        return self.spec.cluster if own is None else own.name


@dataclass(slots=True)
class PoolJob(Job):
    """A job of the classic service, on a pool's VM or in the shared queue (`pool` empty)."""

    duration_s: float = field(kw_only=True)
    pool: str = field(kw_only=True)
    epoch: int = 0


AnyJob = BatchJob | TrainingJob | PoolJob
