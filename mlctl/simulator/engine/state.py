"""The state of a simulated cloud: plain data, and the two ways to add to it.

`schedule` puts an event into the queue, `tell` a line into the log. Names are the caller's:
clusters, pools and jobs each have their own space of names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappush

from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.jobs import AnyJob
from mlctl.simulator.engine.model import (
    ClusterSpec,
    PoolSpec,
    SharedQueueSettings,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess


class NodeState(IntEnum):
    """The counters of ARM's `nodeStateCounts`, after ALLOCATING, which has none: not there yet."""

    ALLOCATING = 0
    PREPARING = 1
    IDLE = 2
    RUNNING = 3
    UNUSABLE = 4
    LEAVING = 5
    PREEMPTED = 6


class EventKind(IntEnum):
    """What can happen by itself: to batch jobs, nodes, markets, other jobs, the classic service.

    Batch jobs keep their mini-batches' ends to themselves; WORK says when the next is due.
    """

    MINI_BATCH_END = 0
    ALLOCATED = 1
    READY = 2
    START_FAIL = 3
    RESTORED = 4
    PREEMPT = 5
    RESTORE_EXPIRED = 6
    IDLE_TIMEOUT = 7
    LEFT = 8
    RECYCLED = 9
    PROCESS_DUE = 10
    TRAINING_PHASE_END = 11
    CANCEL_DUE = 12
    DEADLINE = 13
    VM_UP = 14
    POOL_JOB_DONE = 15
    OTHER_JOB_DONE = 16
    OTHER_JOB_ARRIVAL = 17


# At one moment: completions, then nodes that come, time-outs of mini-batches, losses, what people
# ask for, and nodes that go. "All completed progress is kept": it must not depend on chance.
DONE_FIRST, TIMEOUT = 0, 2
PRIORITY = (0, 1, 1, 1, 1, 3, 3, 5, 5, 5, 3, 0, 3, 4, 1, 0, 0, 4)

# (time, priority, number, kind, name, detail, epoch): numbers make the order total. An event whose
# epoch is not its subject's any more has been overtaken: it is skipped, never searched for.
ScheduledEvent = tuple[float, int, int, EventKind, str, int, int]


@dataclass(slots=True)
class Node:
    """A node of a cluster. `number` is its place in the cluster and is reused, `birth` is not.

    `life` is the epoch of its losses, `epoch` that of everything else. It holds a share of the
    region's capacity or waits for one. `armed` is the epoch that has an idle timer. `job` is whose
    usable node it is, `account` who pays.
    """

    number: int
    serial: int
    since: float
    state: NodeState = NodeState.ALLOCATING
    epoch: int = 0
    loss_epoch: int = 0
    has_capacity: bool = False
    timer_epoch: int = 0
    job: str = ""
    payer: str = ""
    billed_until: float | None = None
    billed_from: float = 0.0


@dataclass(slots=True)
class Cluster:
    """An AmlCompute cluster: `tag` tells it from an earlier one of the same name.

    `shelves` holds the nodes by state, each in the order in which they came into it; `to_seek` are
    those that capacity has yet to be asked for.
    """

    spec: ClusterSpec
    tag: str
    capacity_key: str
    steady_since: float
    resizing: bool = False
    locked: bool = False
    nodes: dict[int, Node] = field(default_factory=dict)
    nodes_by_state: list[dict[int, Node]] = field(
        default_factory=lambda: [{}, {}, {}, {}, {}, {}, {}], metadata={"derived": True}
    )
    jobs: list[str] = field(default_factory=list)
    to_request: list[int] = field(default_factory=list)
    last_serial: int = 0
    free_numbers: list[int] = field(default_factory=list)
    allocations: dict[int, int] = field(default_factory=dict)
    state_seconds: list[float] = field(default_factory=lambda: [0.0] * len(NodeState))
    billed_s: float = 0.0
    preempted_nodes: int = 0


@dataclass(slots=True)
class ActiveProcess:
    """A process of a market: its next turn is at `at`; until then the market has `limit` nodes."""

    process: PreemptionProcess | CapacityProcess
    serial: int
    since: float
    epoch: int
    tick: int = 0
    due: float | None = None
    limit: int | None = None


@dataclass(slots=True)
class RegionCapacity:
    """The capacity that the clusters of one region and tier share."""

    region: str
    tier: Tier
    processes: list[ActiveProcess] = field(default_factory=list)
    last_serial: int = 0
    limit: int | None = None
    used: int = 0
    waiting: dict[tuple[str, int], None] = field(default_factory=dict)
    preempt_count: int = 0


@dataclass(slots=True)
class Vm:
    """A VM of a Batch Pool; `charged` is None until it is provisioned."""

    number: int
    epoch: int
    job: str = ""
    billed_until: float | None = None
    billed_from: float = 0.0


@dataclass(slots=True)
class Pool:
    """A Batch Pool, with the names of the jobs that wait for a VM, first in first out."""

    spec: PoolSpec
    vms: dict[int, Vm] = field(default_factory=dict)
    queue: deque[str] = field(default_factory=deque)
    last_number: int = 0
    billed_s: float = 0.0


@dataclass(slots=True)
class SharedQueue:
    """The shared queue of classic batch processing; an empty name is somebody else's job."""

    settings: SharedQueueSettings = field(default_factory=SharedQueueSettings)
    epoch: int = 0
    arrival_count: int = 0
    running: int = 0
    queue: deque[tuple[str, float]] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Bill:
    """What a cluster or pool that is gone has cost; `price` is None where it is not known."""

    kind: str
    name: str
    tier: Tier
    node_s: float
    price: float | None


@dataclass(slots=True)
class World:
    """A simulated cloud at the moment `now`; all chance in it comes from `seed`.

    `watch` sees the world after every event, one mini-batch at a time: for tests, as it is slow.
    """

    seed: str
    now: float = 0.0
    settings: SimulationSettings = field(default_factory=SimulationSettings)
    number: int = 0
    epoch: int = 0
    queue: list[ScheduledEvent] = field(default_factory=list)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    capacities: dict[str, RegionCapacity] = field(default_factory=dict)
    jobs: dict[str, AnyJob] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    shared_queue: SharedQueue = field(default_factory=SharedQueue)
    bills: list[Bill] = field(default_factory=list)
    name_uses: dict[str, int] = field(default_factory=dict)
    preemption: tuple[PreemptionProcess, ...] = ()
    preemption_since: float = 0.0
    capacity: dict[Tier, CapacityProcess] = field(default_factory=dict)
    capacity_since: dict[Tier, float] = field(default_factory=dict)
    log: list[LoggedEvent] | None = field(default=None, metadata={"derived": True})
    detail: bool = field(default=False, metadata={"derived": True})
    observer: Callable[[World], None] | None = field(default=None, metadata={"derived": True})

    def __post_init__(self) -> None:
        self.now = float(self.now)

    def new_epoch(self) -> int:
        """A number that no subject of an event has had."""
        self.epoch += 1
        return self.epoch


def schedule(
    world: World, at: float, kind: EventKind, name: str, detail: int = 0, epoch: int = 0
) -> None:
    """Let `kind` happen to the subject `name` at a moment."""
    world.number += 1
    heappush(world.queue, (at, PRIORITY[kind], world.number, kind, name, detail, epoch))


def log_event(world: World, event: str, **facts: object) -> None:
    """Write down that something happened, where somebody listens."""
    if world.log is not None:
        world.log.append(LoggedEvent(world.now, event, facts))
