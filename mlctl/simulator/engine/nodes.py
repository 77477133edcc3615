"""The life cycle of a node: each function is one state transition of the model.

This module knows no jobs. A node comes (`add`, `finish_allocation`, `ready`), runs or idles, and
goes (`leave`, `remove`), or is preempted (`preempt`) and comes back (`restore`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from mlctl.simulator.engine import billing, capacity, processes, rng
from mlctl.simulator.engine.processes import LIFETIMES
from mlctl.simulator.engine.state import (
    Cluster,
    EventKind,
    Node,
    NodeState,
    World,
    log_event,
    schedule,
)

# Module-level names: looking up an enumeration member would take longer than using it.
_ALLOCATING, _PREPARING, _IDLE = NodeState.ALLOCATING, NodeState.PREPARING, NodeState.IDLE
_RUNNING, _PREEMPTED = NodeState.RUNNING, NodeState.PREEMPTED
_PREEMPT, _READY = EventKind.PREEMPT, EventKind.READY
UP_STATES = (NodeState.PREPARING, NodeState.IDLE, NodeState.RUNNING)  # can be preempted
USABLE_STATES = (NodeState.IDLE, NodeState.RUNNING)


def any_usable(cluster: Cluster) -> bool:
    """Whether a node of the cluster can run jobs."""
    by_state = cluster.nodes_by_state
    return bool(by_state[_RUNNING] or by_state[_IDLE])


def set_state(world: World, cluster: Cluster, node: Node, state: NodeState) -> None:
    """Change a node's state; events that were scheduled for the old state become void."""
    by_state, now = cluster.nodes_by_state, world.now
    number, old_state = node.number, node.state
    del by_state[old_state][number]
    by_state[state][number] = node
    if now != node.since:
        cluster.state_seconds[old_state] += now - node.since
        node.since = now
    node.state = state
    world.epoch = node.epoch = world.epoch + 1


def add(world: World, cluster: Cluster, payer: str) -> None:
    """SCALE_UP: request one more node, under the lowest free number."""
    number = heappop(cluster.free_numbers) if cluster.free_numbers else len(cluster.nodes)
    cluster.last_serial += 1
    world.epoch += 1
    node = Node(number, cluster.last_serial, world.now, epoch=world.epoch, payer=payer)
    cluster.nodes[number] = cluster.nodes_by_state[_ALLOCATING][number] = node
    log_node_event(world, "SCALE_UP", cluster, node)
    capacity.request(world, world.capacities[cluster.capacity_key], cluster, node)


def finish_allocation(world: World, cluster: Cluster, node: Node) -> None:
    """ALLOCATED: the node exists, is billed, can be preempted, and prepares."""
    billing.start(world, node)
    number, settings, event = node.number, world.settings, _READY
    time = cluster.allocations[number] = cluster.allocations.get(number, 0) + 1
    schedule_loss(world, cluster, node)
    seconds = settings.preparation_s
    if settings.delay_cv:
        seconds = capacity.delay(world, cluster, node, seconds, "preparation", time)
    if settings.p_unusable:
        u = rng.uniform(f"{world.seed}/unusable/{cluster.tag}/{number}/{time}")
        event = EventKind.START_FAIL if settings.p_unusable > u else _READY
    if world.log is not None:
        log_node_event(world, "ALLOCATED", cluster, node)
    at = world.now + seconds
    if at == world.now and event is _READY:
        ready(world, cluster, node)
    else:
        set_state(world, cluster, node, _PREPARING)
        schedule(world, at, event, cluster.spec.name, number, node.epoch)


def schedule_loss(world: World, cluster: Cluster, node: Node) -> None:
    """Sample when the node will be preempted by the processes that act on single nodes."""
    world.epoch = node.loss_epoch = world.epoch + 1
    soonest, number = inf, node.number
    for active in world.capacities[cluster.capacity_key].processes:
        process = active.process
        if isinstance(process, LIFETIMES):
            time = cluster.allocations[number]
            u = rng.uniform_of_row(number, world.seed, "life", active.serial, cluster.tag, time)
            soonest = min(soonest, processes.lost_at(process, active.since, world.now, u))
    if soonest < inf:
        schedule(world, soonest, _PREEMPT, cluster.spec.name, number, node.loss_epoch)


def ready(world: World, cluster: Cluster, node: Node) -> None:
    """READY: the node is idle and can run jobs."""
    set_state(world, cluster, node, _IDLE)
    if world.log is not None:
        log_node_event(world, "READY", cluster, node)


def become_idle(world: World, cluster: Cluster, node: Node) -> None:
    """LAST_SLOT_FREE: a running node has nothing left to run."""
    set_state(world, cluster, node, _IDLE)
    if world.log is not None:
        log_node_event(world, "LAST_SLOT_FREE", cluster, node)


def start_failed(world: World, cluster: Cluster, node: Node) -> None:
    """START_FAIL: the node is unusable, and is billed until it is recycled."""
    set_state(world, cluster, node, NodeState.UNUSABLE)
    at = world.now + world.settings.unusable_recycle_s
    schedule(world, at, EventKind.RECYCLED, cluster.spec.name, node.number, node.epoch)
    log_node_event(world, "START_FAIL", cluster, node)


def restore(world: World, cluster: Cluster, node: Node) -> None:
    """RESTORED: a preempted node is back under its number and is prepared again."""
    log_node_event(world, "RESTORED", cluster, node)
    finish_allocation(world, cluster, node)


def preempt(world: World, cluster: Cluster, node: Node) -> None:
    """PREEMPT: the node is no longer billed but stays listed; the platform tries to restore it."""
    billing.stop(world, cluster, node)
    set_state(world, cluster, node, _PREEMPTED)
    cluster.preempted_nodes += 1
    cluster.to_request.append(node.number)
    capacity.release(world, world.capacities[cluster.capacity_key], cluster, node)
    capacity.schedule_restore_expiry(world, cluster, node)


def leave(world: World, cluster: Cluster, node: Node) -> None:
    """IDLE_TIMEOUT: release the node to the platform."""
    log_node_event(world, "LEAVING", cluster, node)
    if world.settings.leave_s == 0:
        remove(world, cluster, node, "LEFT")
        return
    set_state(world, cluster, node, NodeState.LEAVING)
    at = world.now + world.settings.leave_s
    schedule(world, at, EventKind.LEFT, cluster.spec.name, node.number, node.epoch)


def remove(world: World, cluster: Cluster, node: Node, event: str) -> None:
    """Remove a node: it is no longer billed, and its capacity is free. `event` is logged."""
    billing.stop(world, cluster, node)
    cluster.state_seconds[node.state] += world.now - node.since
    del cluster.nodes_by_state[node.state][node.number]
    del cluster.nodes[node.number]
    heappush(cluster.free_numbers, node.number)
    capacity.release(world, world.capacities[cluster.capacity_key], cluster, node)
    log_node_event(world, event, cluster, node)


def log_node_event(world: World, event: str, cluster: Cluster, node: Node, **facts: object) -> None:
    """Log an event of a node, if the world is logged."""
    if world.log is not None:
        log_event(world, event, cluster=cluster.spec.name, node=node.number, **facts)
