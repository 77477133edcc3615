"""What can be asked of a simulated cloud. `engine.apply` carries it out, at once or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from mlctl.simulator.engine.model import (
    BatchSpec,
    ClusterSpec,
    PoolSpec,
    SharedQueueSettings,
    SimulationSettings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess


class EngineError(ValueError):
    """A command that cannot be carried out, or an unknown name; nothing has changed.

    The text is for people. The control plane makes a `ServiceError` of it.
    """


@dataclass(frozen=True, slots=True)
class AddCluster:
    """A new cluster; its least nodes are asked for at once."""

    spec: ClusterSpec


@dataclass(frozen=True, slots=True)
class ResizeCluster:
    """Other bounds, or another idle time; None keeps what is.

    Fewer nodes than there are: idle ones go first, then the last ones, and the mini-batches that
    run on those return to the queue (as Azure Batch does by default: `requeue`).
    """

    name: str
    min_instances: int | None = None
    max_instances: int | None = None
    idle_s: float | None = None


@dataclass(frozen=True, slots=True)
class DeleteCluster:
    """Nodes go, quota with them, and the jobs on the cluster fail."""

    name: str


@dataclass(frozen=True, slots=True)
class SetLock:
    """A resource lock: the cluster can no longer scale, and says "resizing (0 -> 0)"."""

    name: str
    locked: bool = True


@dataclass(frozen=True, slots=True)
class SubmitBatch:
    """A batch job. Resubmitting a cancelled one is a new job under a new name."""

    spec: BatchSpec


@dataclass(frozen=True, slots=True)
class SubmitTraining:
    """A training job, on a cluster or serverless."""

    spec: TrainingSpec


@dataclass(frozen=True, slots=True)
class CancelJob:
    """The user's own cancelling of any job that has not ended."""

    name: str


@dataclass(frozen=True, slots=True)
class Preempt:
    """Losses by hand, now: of these nodes (by number), or of all with None."""

    cluster: str
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetPreemption:
    """What takes low-priority nodes from now on. Times in scripts and traces count from now.

    An empty tuple: nothing does.
    """

    processes: tuple[PreemptionProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class SetCapacity:
    """How many nodes of a tier (None: of each) a region has, for all its clusters together.

    None: no limit. Dedicated nodes are never taken away: too few only make new ones wait.
    """

    capacity: CapacityProcess | None = None
    tier: Tier | None = None


@dataclass(frozen=True, slots=True)
class Configure:
    """Other settings from now on; what is under way keeps its time."""

    settings: SimulationSettings


@dataclass(frozen=True, slots=True)
class AddPool:
    """A new Batch Pool; its VMs are asked for at once."""

    spec: PoolSpec


@dataclass(frozen=True, slots=True)
class ResizePool:
    """Another number of VMs. Free ones go first; the job of a busy one is queued again, first."""

    name: str
    vms: int


@dataclass(frozen=True, slots=True)
class DeletePool:
    """VMs go, and the jobs of the pool fail."""

    name: str


@dataclass(frozen=True, slots=True)
class SubmitPoolJob:
    """A classic job that takes `duration_s` of one VM; without a pool, of the shared queue."""

    name: str
    duration_s: float
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class SetSharedQueue:
    """How the shared queue of classic batch processing behaves from now on."""

    tenancy: SharedQueueSettings


Command = (
    AddCluster
    | ResizeCluster
    | DeleteCluster
    | SetLock
    | SubmitBatch
    | SubmitTraining
    | CancelJob
    | Preempt
    | SetPreemption
    | SetCapacity
    | Configure
    | AddPool
    | ResizePool
    | DeletePool
    | SubmitPoolJob
    | SetSharedQueue
)
