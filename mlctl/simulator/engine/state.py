"""The state of a simulated cloud as plain data, its queue of scheduled events, and its log.

`schedule` adds a scheduled event, `log_event` an entry of the log. The caller chooses the names of
clusters, pools and jobs; each of the three is a name space of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from heapq import heappush

from mlctl.dataclasses import dataclass, field
from mlctl.simulator.engine import model
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.jobs import AnyJob
from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess


class NodeState(IntEnum):
    """The counters of ARM's `nodeStateCounts`, and ALLOCATING for nodes that do not exist yet."""

    ALLOCATING = 0
    PREPARING = 1
    IDLE = 2
    RUNNING = 3
    UNUSABLE = 4
    LEAVING = 5
    PREEMPTED = 6


class EventKind(IntEnum):
    """The kinds of scheduled events.

    A batch job has a queue of its own for the ends of its mini-batches; MINI_BATCH_END is scheduled
    for the first of them.
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
    NODE_STARTED = 18
    STALL_DUE = 19


# The order of events of the same second: completions, nodes that come, time-outs of mini-batches,
# losses, deadlines and arrivals, nodes that go. Completions come first since "All completed
# progress is kept".
DONE_FIRST, TIMEOUT = 0, 2
PRIORITY = (0, 1, 1, 1, 1, 3, 3, 5, 5, 5, 3, 0, 3, 4, 1, 0, 0, 4, 1, 3)

# (time, priority, number, kind, name, detail, epoch). Numbers are unique, so the order is total. An
# event is void if its subject has a newer epoch: void events stay queued and are skipped.
ScheduledEvent = tuple[float, int, int, EventKind, str, int, int]


@dataclass(slots=True)
class Node:
    """A node of a cluster. `number` is reused after the node is removed, `serial` is not.

    `loss_epoch` is the epoch of its scheduled loss, `epoch` that of its other events. With
    `has_capacity` it uses its region's capacity and quotas, else it waits for both. `timer_epoch`
    is the epoch that has an idle timer. `job` is the job that it is usable for, `entered` the batch
    job whose processes run there, `payer` the job that is billed.
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
    entered: str = ""
    payer: str = ""
    billed_until: float | None = None
    billed_from: float = 0.0


@dataclass(slots=True)
class Cluster:
    """An AmlCompute cluster; `tag` differs from that of an earlier cluster of the same name.

    `nodes_by_state` holds the nodes of each state in the order in which they entered it.
    `to_request` are the numbers of nodes for which capacity is still to be requested. `allocations`
    counts how often each number was allocated, `grants` how often it was granted capacity, where
    delays vary. `state_seconds` is the time that nodes have spent in
    each state.
    """

    spec: model.ClusterSpec
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
    grants: dict[int, int] = field(default_factory=dict)
    state_seconds: list[float] = field(default_factory=lambda: [0.0] * len(NodeState))
    billed_s: float = 0.0
    preempted_nodes: int = 0


@dataclass(slots=True)
class ActiveProcess:
    """A capacity or preemption process that is running.

    Its next change is at `due`; until then it allows `limit` nodes (None: any number).
    """

    process: PreemptionProcess | CapacityProcess
    serial: int
    since: float
    epoch: int
    tick: int = 0
    due: float | None = None
    limit: int | None = None


@dataclass(slots=True)
class RegionCapacity:
    """The capacity that the clusters of one region and tier share, in nodes.

    `waiting` are nodes without capacity, as (cluster, number), first in first out.
    """

    region: str
    tier: model.Tier
    processes: list[ActiveProcess] = field(default_factory=list)
    last_serial: int = 0
    limit: int | None = None
    used: int = 0
    waiting: dict[tuple[str, int], None] = field(default_factory=dict)
    preempt_count: int = 0


@dataclass(slots=True)
class CoreQuota:
    """How many cores nodes may use at once, and how many they use."""

    limit: int
    used: int = 0


@dataclass(slots=True)
class Vm:
    """A VM of a Batch Pool; `billed_until` is None until it is provisioned."""

    number: int
    epoch: int
    job: str = ""
    billed_until: float | None = None
    billed_from: float = 0.0


@dataclass(slots=True)
class Pool:
    """A Batch Pool; `queue` has the names of the jobs that wait for a VM, first in first out."""

    spec: model.PoolSpec
    vms: dict[int, Vm] = field(default_factory=dict)
    queue: deque[str] = field(default_factory=deque)
    last_number: int = 0
    billed_s: float = 0.0


@dataclass(slots=True)
class SharedQueue:
    """The shared queue of classic batch processing, as (name, seconds).

    An empty name is a job of another user. `running` counts the jobs that run.
    """

    settings: model.SharedQueueSettings = field(default_factory=model.SharedQueueSettings)
    epoch: int = 0
    arrival_count: int = 0
    running: int = 0
    queue: deque[tuple[str, float]] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Bill:
    """The node-seconds of a deleted cluster or pool; `price` per node-hour is None if unknown."""

    kind: str
    name: str
    tier: model.Tier
    node_s: float
    price: float | None


@dataclass(slots=True)
class World:
    """A simulated cloud at the second `now`; all random numbers derive from `seed`.

    `number` counts events, `epoch` the numbers that `new_epoch` has given out. `observer` is called
    after every event, one mini-batch at a time; it is for tests, as it makes the engine slow.
    `queue_kept` is how long the queue was when void events were taken out of it.
    `ended_members` are jobs of groups that have ended in this event; it is empty after each.
    `ended_jobs` are those that have left `jobs`; `job_count` counts all that were ever added.
    """

    seed: str
    now: float = 0.0
    settings: model.SimulationSettings = field(default_factory=model.SimulationSettings)
    number: int = 0
    epoch: int = 0
    queue: list[ScheduledEvent] = field(default_factory=list)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    capacities: dict[str, RegionCapacity] = field(default_factory=dict)
    quotas: dict[str, CoreQuota] = field(default_factory=dict)
    jobs: dict[str, AnyJob] = field(default_factory=dict)
    job_count: int = 0
    pools: dict[str, Pool] = field(default_factory=dict)
    shared_queue: SharedQueue = field(default_factory=SharedQueue)
    bills: list[Bill] = field(default_factory=list)
    name_uses: dict[str, int] = field(default_factory=dict)
    preemption: tuple[PreemptionProcess, ...] = ()
    preemption_since: float = 0.0
    capacity: dict[model.Tier, CapacityProcess] = field(default_factory=dict)
    capacity_since: dict[model.Tier, float] = field(default_factory=dict)
    ended_members: deque[str] = field(default_factory=deque, metadata={"derived": True})
    ended_jobs: Mapping[str, AnyJob] = field(default_factory=dict, metadata={"derived": True})
    queue_kept: int = field(default=0, metadata={"derived": True})
    log: list[LoggedEvent] | None = field(default=None, metadata={"derived": True})
    detail: bool = field(default=False, metadata={"derived": True})
    observer: Callable[[World], None] | None = field(default=None, metadata={"derived": True})

    def __post_init__(self) -> None:
        self.now = float(self.now)

    def new_epoch(self) -> int:
        """Return a new number that no event has had as its epoch."""
        self.epoch += 1
        return self.epoch


def add_job(world: World, job: AnyJob) -> None:
    """Add a new job."""
    world.job_count += 1
    job.serial = world.job_count
    world.jobs[job.name] = job


def schedule(
    world: World, at: float, kind: EventKind, name: str, detail: int = 0, epoch: int = 0
) -> None:
    """Schedule an event about the cluster, job or pool `name`.

    `detail` is the number of a node, VM or process. The event is void if its subject's epoch
    differs from `epoch` when it is due.
    """
    world.number += 1
    heappush(world.queue, (at, PRIORITY[kind], world.number, kind, name, detail, epoch))


def log_event(world: World, event: str, **facts: object) -> None:
    """Add an event to the log, if the world is logged."""
    if world.log is not None:
        world.log.append(LoggedEvent(world.now, event, facts))


def log_job_ended(world: World, job: AnyJob) -> None:
    """Log that a job has ended, and remember a group's member for the end of the event."""
    log_event(world, "JOB_ENDED", job=job.name, status=job.status.value, reason=job.reason)
    if job.group:
        world.ended_members.append(job.name)
