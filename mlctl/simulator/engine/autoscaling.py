"""Autoscaling: assigns idle nodes to jobs and scales each cluster to what its jobs need.

"Scales up automatically when a job is submitted"; "Idle time before scaling the cluster down to the
minimum node count"; "queuing the failed tasks to the cluster". Jobs are served in the order of
their submission.
"""

from __future__ import annotations

from itertools import islice

from mlctl.simulator.engine import batch, billing, capacity, nodes, preemption, training
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.state import Bill, Cluster, EventKind, Node, NodeState, World, schedule

_IDLE, _ALLOCATING, _PREEMPTED = NodeState.IDLE, NodeState.ALLOCATING, NodeState.PREEMPTED
_IDLE_TIMEOUT = EventKind.IDLE_TIMEOUT
_LEAVING, _UNUSABLE, _RUNNING = NodeState.LEAVING, NodeState.UNUSABLE, NodeState.RUNNING
_REMOVAL_ORDER = (
    _LEAVING,
    _UNUSABLE,
    _PREEMPTED,
    _ALLOCATING,
    _IDLE,
    NodeState.PREPARING,
    _RUNNING,
)


def reconcile(world: World, cluster: Cluster) -> None:
    """Assign idle nodes and scale the cluster, after any event that concerns it."""
    if cluster.spec.ephemeral and not cluster.jobs:
        delete_cluster(world, cluster)
        return
    _assign_idle(world, cluster)
    if not cluster.locked:
        _scale(world, cluster)
    update_state(world, cluster)


def reconcile_ended(world: World, cluster: Cluster) -> None:
    """Like `reconcile`, after an attempt has ended: jobs need no more nodes than before."""
    if cluster.spec.ephemeral and not cluster.jobs:
        delete_cluster(world, cluster)
        return
    _assign_idle(world, cluster)
    if not cluster.locked and _may_shrink(world, cluster):
        _scale(world, cluster)
    update_state(world, cluster)


def _may_shrink(world: World, cluster: Cluster) -> bool:
    """Whether nodes could be removed: some are on their way, or have exceeded their idle time."""
    allocating, _, idle, _, _, _, preempted = cluster.nodes_by_state
    if allocating or preempted:
        return True
    oldest = next(iter(idle.values()), None)
    return oldest is not None and oldest.since + cluster.spec.idle_s < world.now


def assign(world: World, cluster: Cluster, node: Node) -> None:
    """Like `reconcile`, after a node has come: the number of nodes needed is unchanged.

    A ready node is usable for the job that it was requested for, even before that job's first
    mini-batch there.
    """
    if node.state is _IDLE:
        job = world.jobs.get(node.payer)
        if isinstance(job, BatchJob) and batch.can_use_node(job):
            batch.add_usable_node(world, job, node)
    _assign_idle(world, cluster)
    update_state(world, cluster)


def update_state(world: World, cluster: Cluster) -> None:
    """Start idle timers of idle nodes, and update the allocation state."""
    allocating, _, idle, _, _, leaving, preempted = cluster.nodes_by_state
    if idle:
        # Start the idle timers of nodes that have become idle since the last call
        for node in reversed(idle.values()):
            if node.timer_epoch == node.epoch:
                break
            node.timer_epoch = node.epoch
            at = max(world.now, node.since + cluster.spec.idle_s)
            schedule(world, at, _IDLE_TIMEOUT, cluster.spec.name, node.number, node.epoch)
    comes_or_goes = bool(allocating or leaving or preempted)
    resizing = comes_or_goes or (cluster.locked and is_resizing(world, cluster))
    if resizing is not cluster.resizing:
        cluster.resizing = resizing
        cluster.steady_since = world.now


def is_resizing(world: World, cluster: Cluster) -> bool:
    """Whether `allocationState` is `Resizing`: nodes come or go, or a lock prevents that."""
    allocating, _, _, _, _, leaving, preempted = cluster.nodes_by_state
    if allocating or leaving or preempted:
        return True
    return cluster.locked and target_nodes(world, cluster) > current_nodes(cluster)


def target_nodes(world: World, cluster: Cluster) -> int:
    """R2, R14: the number of nodes that the jobs can use, within the cluster's bounds."""
    spec, useful = cluster.spec, 0
    for name in cluster.jobs:
        job = world.jobs[name]
        if isinstance(job, BatchJob):
            useful += batch.wanted_nodes(job)
        elif isinstance(job, TrainingJob):
            useful += job.spec.instance_count
    return max(spec.min_instances, min(useful, spec.max_instances))


def current_nodes(cluster: Cluster) -> int:
    """Count the nodes that exist or are coming, without leaving and unusable ones."""
    by_state = cluster.nodes_by_state
    return len(cluster.nodes) - len(by_state[_LEAVING]) - len(by_state[_UNUSABLE])


def _assign_idle(world: World, cluster: Cluster) -> None:
    """Assign idle nodes to jobs, first in, first out."""
    idle = cluster.nodes_by_state[_IDLE]
    reserved = False  # idle nodes are kept for a training job that waits for more of them
    for name in cluster.jobs:
        job = world.jobs[name]
        if isinstance(job, BatchJob):
            if job.idle_slots and (job.head or job.tail):
                batch.fill_idle_slots(world, job)
            if idle and not reserved and batch.can_use_idle_node(job):
                _assign_to_batch(world, cluster, job)
        elif isinstance(job, TrainingJob) and not (job.nodes or reserved):
            reserved = not _start_training(world, cluster, job)


def _start_training(world: World, cluster: Cluster, job: TrainingJob) -> bool:
    """Start a training job if enough nodes are idle; return whether it started."""
    idle = cluster.nodes_by_state[_IDLE]
    need = training.wanted_nodes(job, cluster.spec.max_instances)
    free = [idle[number] for number in sorted(idle) if not _is_entered(world, idle[number])]
    if len(free) < need:
        return False
    free_nodes = free[:need]
    for node in free_nodes:
        _dispatch(world, cluster, node, job.name)
    training.start(world, job, free_nodes)
    return True


def _assign_to_batch(world: World, cluster: Cluster, job: BatchJob) -> None:
    """Assign idle nodes to a batch job, its own first, then by number, while it can use more."""
    idle = cluster.nodes_by_state[_IDLE]
    name, numbers = job.name, [*idle]
    if len(numbers) > 1:
        numbers.sort(key=lambda number: (idle[number].job != name, number))
    for number in numbers:
        node = idle[number]
        if may_take(world, job, node):
            _dispatch(world, cluster, node, name)
            batch.start_on_node(world, job, node)
            if not batch.can_use_idle_node(job):
                break


def may_take(world: World, job: BatchJob, node: Node) -> bool:
    """Whether the job may take an idle node: its own, or one that no other job holds."""
    if node.job == job.name:
        return True
    return batch.can_use_node(job) and not _is_entered(world, node)


def _is_entered(world: World, node: Node) -> bool:
    """Whether a batch job runs on an idle node, and holds it until it completes."""
    return node.entered != "" and not world.settings.release_idle_nodes


def _is_held(world: World, node: Node) -> bool:
    """Whether an idle node stays for a batch job that has not ended, entered or not."""
    return node.job != "" and not world.settings.release_idle_nodes


def _dispatch(world: World, cluster: Cluster, node: Node, job: str) -> None:
    """DISPATCH: start a job on an idle node, which is no longer usable for its previous job."""
    if node.job not in ("", job):
        owner = world.jobs[node.job]
        if isinstance(owner, BatchJob):
            owner.usable_nodes -= 1
    if node.payer != job:
        billing.set_payer(world, cluster, node, job)
    nodes.set_state(world, cluster, node, _RUNNING)
    if world.log is not None:
        nodes.log_node_event(world, "DISPATCH", cluster, node, job=job)


def _scale(world: World, cluster: Cluster) -> None:
    """Scale the cluster to its target, and request capacity for preempted nodes again."""
    target, current = target_nodes(world, cluster), current_nodes(cluster)
    if current > target:
        current -= _scale_down(world, cluster, current - target)
    if cluster.to_request and world.settings.replace:
        _request_capacity(world, cluster)
    if current < target:
        room = cluster.spec.max_instances - len(cluster.nodes)
        payer = cluster.jobs[-1] if cluster.jobs else ""
        for _ in range(min(target - current, room)):
            nodes.add(world, cluster, payer)


def _request_capacity(world: World, cluster: Cluster) -> None:
    """R4: request capacity for preempted nodes and, after a lock, for allocating ones."""
    regional = world.capacities[cluster.capacity_key]
    for number in cluster.to_request:
        node = cluster.nodes.get(number)
        if node is not None and node.state in (_PREEMPTED, _ALLOCATING) and not node.has_capacity:
            capacity.request(world, regional, cluster, node)
    cluster.to_request.clear()


def _scale_down(world: World, cluster: Cluster, excess: int) -> int:
    """Remove up to `excess` preempted, allocating, and timed-out idle nodes; return how many."""
    removed = 0
    for state in (_PREEMPTED, _ALLOCATING):
        if cluster.nodes_by_state[state]:
            newest_first = reversed(cluster.nodes_by_state[state].values())
            for node in list(islice(newest_first, excess - removed)):
                nodes.remove(world, cluster, node, "NOT_WANTED")
                removed += 1
    if removed < excess and cluster.nodes_by_state[_IDLE]:
        removed += _give_back_timed_out(world, cluster, excess - removed)
    return removed


def _give_back_timed_out(world: World, cluster: Cluster, excess: int) -> int:
    """Release up to `excess` idle nodes whose time is over; return how many."""
    removed = 0
    for node in list(cluster.nodes_by_state[_IDLE].values()):
        if removed == excess or node.since + cluster.spec.idle_s >= world.now:
            break  # not timed out; at exactly that time its own event handles it
        if not _is_held(world, node):
            give_back(world, cluster, node)
            removed += 1
    return removed


def enforce_maximum(world: World, cluster: Cluster) -> None:
    """Remove nodes above a new maximum at once, in the order of `_REMOVAL_ORDER`."""
    for state in _REMOVAL_ORDER:
        last_first = sorted(cluster.nodes_by_state[state].values(), key=lambda node: -node.number)
        for node in last_first[: max(len(cluster.nodes) - cluster.spec.max_instances, 0)]:
            preemption.detach_from_job(world, cluster, node)
            nodes.remove(world, cluster, node, "LEFT")


def delete_cluster(world: World, cluster: Cluster) -> None:
    """Remove all nodes and the cluster; its usage stays in `World.bills`."""
    for number in sorted(cluster.nodes):
        nodes.remove(world, cluster, cluster.nodes[number], "LEFT")
    spec = cluster.spec
    world.bills.append(Bill("cluster", spec.name, spec.tier, cluster.billed_s, spec.price))
    del world.clusters[spec.name]


def idle_timeout(world: World, cluster: Cluster, node: Node) -> None:
    """IDLE_TIMEOUT: release the node, or keep it for the cluster's minimum, billed to no job."""
    if node.since + cluster.spec.idle_s > world.now or _is_held(world, node):
        return  # the timer is older than a change of the idle time, or the node is needed
    if current_nodes(cluster) > target_nodes(world, cluster) and not cluster.locked:
        give_back(world, cluster, node)
    elif node.payer:
        billing.set_payer(world, cluster, node, "")


def give_back(world: World, cluster: Cluster, node: Node) -> None:
    """Release a node that runs nothing."""
    preemption.detach_from_job(world, cluster, node)
    nodes.leave(world, cluster, node)
