"""The life of a node: each function is one transition of the model, and what it does by itself.

Nothing here knows jobs. A node comes (`add`, `allocated`, `ready`), works or idles, and goes
(`leave`, `remove`), or is lost (`lose`) and comes again (`restored`).
"""

from __future__ import annotations

from heapq import heappop, heappush

from mlctl.simulator.engine import billing, capacity, processes, rng
from mlctl.simulator.engine.processes import (
    Bathtub,
    HyperExponential,
    Poisson,
    Weibull,
)
from mlctl.simulator.engine.state import (
    Cluster,
    EventKind,
    Node,
    NodeState,
    World,
    log_event,
    schedule,
)

UP_STATES = (NodeState.PREPARING, NodeState.IDLE, NodeState.RUNNING)  # what a preemption can hit


def set_state(world: World, cluster: Cluster, node: Node, state: NodeState) -> None:
    """Bring a node into another state; what was planned for the old one is overtaken."""
    shelves, before, now = cluster.nodes_by_state, node.state, world.now
    del shelves[before][node.number]
    shelves[state][node.number] = node
    cluster.state_seconds[before] += now - node.since
    node.state = state
    node.since = now
    world.epoch += 1
    node.epoch = world.epoch


def add(world: World, cluster: Cluster, account: str) -> None:
    """SCALE_UP: ask for one node more, under the lowest number that is free."""
    number = heappop(cluster.free_numbers) if cluster.free_numbers else len(cluster.nodes)
    cluster.last_serial += 1
    node = Node(number, cluster.last_serial, world.now, epoch=world.new_epoch(), payer=account)
    cluster.nodes[number] = cluster.nodes_by_state[NodeState.ALLOCATING][number] = node
    if world.settings.bill_allocating:
        billing.start(world, node)
    log_node_event(world, "SCALE_UP", cluster, node)
    capacity.request(world, world.capacities[cluster.capacity_key], cluster, node)


def allocated(world: World, cluster: Cluster, node: Node) -> None:
    """ALLOCATED: the node is there, bills, can be lost, and prepares."""
    billing.start(world, node)
    set_state(world, cluster, node, NodeState.PREPARING)
    time = cluster.allocations[node.number] = cluster.allocations.get(node.number, 0) + 1
    schedule_loss(world, cluster, node)
    settings, name = world.settings, cluster.spec.name
    at = world.now + capacity.delay(world, cluster, node, settings.preparation_s, "preparation")
    bad = settings.p_unusable and settings.p_unusable > rng.uniform(
        f"{world.seed}/unusable/{cluster.tag}/{node.number}/{time}"
    )
    log_node_event(world, "ALLOCATED", cluster, node)
    if bad:
        schedule(world, at, EventKind.START_FAIL, name, node.number, node.epoch)
    elif at > world.now:
        schedule(world, at, EventKind.READY, name, node.number, node.epoch)
    else:
        ready(world, cluster, node)


def schedule_loss(world: World, cluster: Cluster, node: Node) -> None:
    """Draw when the node will be lost, by the processes that wear on each node by itself."""
    world.epoch += 1
    node.loss_epoch = world.epoch
    ends = []
    for source in world.capacities[cluster.capacity_key].processes:
        if isinstance(source.process, (Poisson, HyperExponential, Weibull, Bathtub)):
            time = cluster.allocations[node.number]
            key = f"{world.seed}/life/{source.serial}/{cluster.tag}/{node.number}/{time}"
            ends.append(processes.lifetime(source.process, rng.uniform(key)))
    if ends:
        at = world.now + min(ends)
        schedule(world, at, EventKind.PREEMPT, cluster.spec.name, node.number, node.loss_epoch)


def ready(world: World, cluster: Cluster, node: Node) -> None:
    """READY: the node can work."""
    set_state(world, cluster, node, NodeState.IDLE)
    log_node_event(world, "READY", cluster, node)


def dispatch(world: World, cluster: Cluster, node: Node, job: str) -> None:
    """DISPATCH: an idle node begins to run a job."""
    set_state(world, cluster, node, NodeState.RUNNING)
    log_node_event(world, "DISPATCH", cluster, node, job=job)


def become_idle(world: World, cluster: Cluster, node: Node) -> None:
    """LAST_SLOT_FREE: a node that ran has nothing to do."""
    set_state(world, cluster, node, NodeState.IDLE)
    log_node_event(world, "LAST_SLOT_FREE", cluster, node)


def start_failed(world: World, cluster: Cluster, node: Node) -> None:
    """START_FAIL: the node is of no use, and bills until it is recycled."""
    set_state(world, cluster, node, NodeState.UNUSABLE)
    at = world.now + world.settings.unusable_recycle_s
    schedule(world, at, EventKind.RECYCLED, cluster.spec.name, node.number, node.epoch)
    log_node_event(world, "START_FAIL", cluster, node)


def restored(world: World, cluster: Cluster, node: Node) -> None:
    """RESTORED: a preempted node is back under its name, and is reinitialized."""
    log_node_event(world, "RESTORED", cluster, node)
    set_state(world, cluster, node, NodeState.ALLOCATING)
    allocated(world, cluster, node)


def preempt(world: World, cluster: Cluster, node: Node) -> None:
    """PREEMPT: the node stops billing and stays listed; the platform tries to bring it back."""
    billing.stop(world, cluster, node)
    set_state(world, cluster, node, NodeState.PREEMPTED)
    cluster.preempted_nodes += 1
    cluster.to_request.append(node.number)
    capacity.release(world, world.capacities[cluster.capacity_key], cluster, node)
    capacity.schedule_restore_expiry(world, cluster, node)


def leave(world: World, cluster: Cluster, node: Node) -> None:
    """IDLE_TIMEOUT: give the node back."""
    log_node_event(world, "LEAVING", cluster, node)
    if world.settings.leave_s == 0:
        remove(world, cluster, node, "LEFT")
        return
    set_state(world, cluster, node, NodeState.LEAVING)
    at = world.now + world.settings.leave_s
    schedule(world, at, EventKind.LEFT, cluster.spec.name, node.number, node.epoch)


def remove(world: World, cluster: Cluster, node: Node, event: str) -> None:
    """The node is no more: billing stops, its capacity is free."""
    billing.stop(world, cluster, node)
    cluster.state_seconds[node.state] += world.now - node.since
    del cluster.nodes_by_state[node.state][node.number]
    del cluster.nodes[node.number]
    heappush(cluster.free_numbers, node.number)
    capacity.release(world, world.capacities[cluster.capacity_key], cluster, node)
    log_node_event(world, event, cluster, node)


def log_node_event(world: World, event: str, cluster: Cluster, node: Node, **facts: object) -> None:
    """Write down what happened to a node, where somebody listens."""
    if world.log is not None:
        log_event(world, event, cluster=cluster.spec.name, node=node.number, **facts)
