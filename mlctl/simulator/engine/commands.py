"""The commands of a simulated cloud; `engine.apply` carries one out completely or not at all."""

from __future__ import annotations

from mlctl.dataclasses import dataclass
from mlctl.simulator.engine import model
from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess


class EngineError(ValueError):
    """A command that cannot be carried out, or an unknown name; nothing has changed.

    The message is for people. The control plane turns it into a `ServiceError`.
    """


@dataclass(frozen=True, slots=True)
class AddCluster:
    """Create a cluster; its minimum of nodes is requested immediately."""

    spec: model.ClusterSpec


@dataclass(frozen=True, slots=True)
class ResizeCluster:
    """Change the bounds or the idle time; None keeps a value.

    If there are more nodes than the new maximum, idle ones go first, then those of the highest
    numbers. Mini-batches that run there return to the queue (Azure Batch's default, `requeue`).
    """

    name: str
    min_instances: int | None = None
    max_instances: int | None = None
    idle_s: float | None = None


@dataclass(frozen=True, slots=True)
class DeleteCluster:
    """Delete a cluster: its nodes go and its jobs fail."""

    name: str


@dataclass(frozen=True, slots=True)
class SetLock:
    """Set or remove a resource lock: a locked cluster cannot scale ("resizing (0 -> 0)")."""

    name: str
    locked: bool = True


@dataclass(frozen=True, slots=True)
class SubmitBatch:
    """Submit a batch job. Resubmitting a cancelled job is a new job under a new name."""

    spec: model.BatchSpec


@dataclass(frozen=True, slots=True)
class SubmitTraining:
    """Submit a training job, to a cluster or serverless."""

    spec: model.TrainingSpec


@dataclass(frozen=True, slots=True)
class SubmitGroup:
    """Submit a job that consists of others, together with them."""

    spec: model.GroupSpec


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Cancel a job that has not ended, and its members."""

    name: str


@dataclass(frozen=True, slots=True)
class Preempt:
    """Preempt these nodes of a cluster (by number) now, or all if None."""

    cluster: str
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetPreemption:
    """Set what preempts low-priority nodes from now on; an empty tuple means nothing.

    Times in scripts and traces count from now.
    """

    processes: tuple[PreemptionProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class SetCapacity:
    """Set how many nodes of a tier (None: of each) every region has for all its clusters.

    None: no limit. Dedicated nodes are never preempted; too little capacity only makes new ones
    wait.
    """

    capacity: CapacityProcess | None = None
    tier: model.Tier | None = None


@dataclass(frozen=True, slots=True)
class SetQuotas:
    """Set how many cores of each quota nodes may use at once.

    Existing nodes stay; too low a quota only makes new ones wait.
    """

    limits: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Configure:
    """Change the settings; delays that have begun keep their length."""

    settings: model.SimulationSettings


@dataclass(frozen=True, slots=True)
class AddPool:
    """Create a Batch Pool; its VMs are requested at once."""

    spec: model.PoolSpec


@dataclass(frozen=True, slots=True)
class ResizePool:
    """Change the number of VMs. Free ones go first; jobs of busy ones return to the front."""

    name: str
    vms: int


@dataclass(frozen=True, slots=True)
class DeletePool:
    """Delete a pool: its VMs go and its jobs fail."""

    name: str


@dataclass(frozen=True, slots=True)
class SubmitPoolJob:
    """Submit a classic job of `duration_s` on a VM of `pool`; None: to the shared queue."""

    name: str
    duration_s: float
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class SetSharedQueue:
    """Set the behaviour of classic batch processing's shared queue from now on."""

    settings: model.SharedQueueSettings


Command = (
    AddCluster
    | ResizeCluster
    | DeleteCluster
    | SetLock
    | SubmitBatch
    | SubmitTraining
    | SubmitGroup
    | CancelJob
    | Preempt
    | SetPreemption
    | SetCapacity
    | SetQuotas
    | Configure
    | AddPool
    | ResizePool
    | DeletePool
    | SubmitPoolJob
    | SetSharedQueue
)
