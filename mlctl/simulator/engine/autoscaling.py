"""Autoscaling: after every event, idle nodes get work, and the cluster as many nodes as it needs.

"Scales up automatically when a job is submitted"; "Idle time before scaling the cluster down to
the minimum node count"; "queuing the failed tasks to the cluster". Jobs are served in the order in
which they were submitted.
"""

from __future__ import annotations

from itertools import islice

from mlctl.simulator.engine import (
    batch,
    billing,
    capacity,
    nodes,
    preemption,
    training,
)
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.state import (
    Bill,
    Cluster,
    Kind,
    Node,
    NodeState,
    World,
    schedule,
)

_IDLE, _ALLOCATING, _PREEMPTED = NodeState.IDLE, NodeState.ALLOCATING, NodeState.PREEMPTED
_LEAVING, _UNUSABLE = NodeState.LEAVING, NodeState.UNUSABLE
_LEAST_USED = (
    *(_LEAVING, _UNUSABLE, _PREEMPTED, _ALLOCATING, _IDLE),
    *(NodeState.PREPARING, NodeState.RUNNING),
)


def follow(world: World, cluster: Cluster) -> None:
    """Draw the conclusions from whatever has just happened to the cluster."""
    if cluster.spec.ephemeral and not cluster.jobs:
        close(world, cluster)
        return
    _assign(world, cluster)
    if not cluster.locked:
        _fit(world, cluster)
    settle(world, cluster)


def employ(world: World, cluster: Cluster, node: Node) -> None:
    """`follow` where nothing but a node has come: no other number of nodes is sought.

    A node that is ready is usable for the job that it was brought up for, from before its first
    mini-batch there.
    """
    if node.state is _IDLE:
        job = world.jobs.get(node.account)
        if isinstance(job, BatchJob) and batch.may_have_more(job):
            batch.adopt(world, job, node)
    _assign(world, cluster)
    settle(world, cluster)


def settle(world: World, cluster: Cluster) -> None:
    """Start the timers of nodes that stay idle, and keep the allocation state."""
    if cluster.shelves[_IDLE]:
        _arm(world, cluster)
    resizing = is_resizing(world, cluster)
    if resizing is not cluster.resizing:
        cluster.resizing = resizing
        cluster.steady_since = world.now


def is_resizing(world: World, cluster: Cluster) -> bool:
    """`allocationState`: nodes are coming, going or to be replaced, or cannot."""
    allocating, _, _, _, _, leaving, preempted = cluster.shelves
    if allocating or leaving or preempted:
        return True
    return cluster.locked and target(world, cluster) > have(cluster)


def target(world: World, cluster: Cluster) -> int:
    """R2, R14: the nodes that the jobs seek, within the cluster's bounds."""
    spec, seek = cluster.spec, 0
    for name in cluster.jobs:
        job = world.jobs[name]
        if isinstance(job, BatchJob):
            seek += batch.wanted(job)
        elif isinstance(job, TrainingJob):
            seek += job.spec.instance_count
    return max(spec.min_instances, min(seek, spec.max_instances))


def have(cluster: Cluster) -> int:
    """The nodes that are there or coming back; neither going nor of no use."""
    shelves = cluster.shelves
    return len(cluster.nodes) - len(shelves[_LEAVING]) - len(shelves[_UNUSABLE])


def _assign(world: World, cluster: Cluster) -> None:
    """Give idle nodes to jobs, first come, first served."""
    idle = cluster.shelves[_IDLE]
    reserved = False  # by a job that waits for several nodes at once; those behind it wait too
    for name in cluster.jobs:
        job = world.jobs[name]
        if isinstance(job, BatchJob):
            if job.spare:
                batch.refill(world, job)
            if idle and not reserved and batch.is_hungry(job):
                _give_idle(world, cluster, job)
        elif isinstance(job, TrainingJob) and not (job.nodes or reserved):
            reserved = not _start(world, cluster, job)


def _start(world: World, cluster: Cluster, job: TrainingJob) -> bool:
    """Start a training job, if all the nodes that it needs are idle."""
    idle = cluster.shelves[_IDLE]
    need = training.wanted(job, cluster.spec.max_instances)
    if len(idle) < need:
        return False
    taken = [idle[number] for number in sorted(idle)[:need]]
    for node in taken:
        _take(world, cluster, node, job.name)
    training.start(world, job, taken)
    return True


def _give_idle(world: World, cluster: Cluster, job: BatchJob) -> None:
    """Let idle nodes work for a job, by their numbers, as long as it is hungry."""
    idle = cluster.shelves[_IDLE]
    for number in sorted(idle):
        if batch.is_hungry(job):
            node = idle[number]
            _take(world, cluster, node, job.name)
            batch.join(world, job, node)


def _take(world: World, cluster: Cluster, node: Node, job: str) -> None:
    """An idle node changes hands and begins to run."""
    if node.job not in ("", job):
        owner = world.jobs[node.job]
        if isinstance(owner, BatchJob):
            owner.members -= 1
    billing.pay(world, cluster, node, job)
    nodes.work(world, cluster, node, job)


def _fit(world: World, cluster: Cluster) -> None:
    """Ask for the nodes that are missing, and for lost ones again; let go of what is too much."""
    wanted, there = target(world, cluster), have(cluster)
    if there > wanted:
        there -= _let_go(world, cluster, there - wanted)
    if cluster.to_seek and world.settings.replace:
        _seek(world, cluster)
    if there < wanted:
        room = cluster.spec.max_instances - len(cluster.nodes)
        payer = cluster.jobs[-1] if cluster.jobs else ""
        for _ in range(min(wanted - there, room)):
            nodes.add(world, cluster, payer)


def _seek(world: World, cluster: Cluster) -> None:
    """R4: ask for capacity for the nodes that were lost, and after a lock for those to come."""
    place = world.markets[cluster.market]
    for number in cluster.to_seek:
        node = cluster.nodes.get(number)
        if node is not None and node.state in (_PREEMPTED, _ALLOCATING) and not node.holds:
            capacity.request(world, place, cluster, node)
    cluster.to_seek.clear()


def _let_go(world: World, cluster: Cluster, excess: int) -> int:
    """NOT_WANTED: lost nodes, then those still to come, then those idle for long; how many."""
    gone = 0
    for state in (_PREEMPTED, _ALLOCATING):
        if cluster.shelves[state]:
            newest_first = reversed(cluster.shelves[state].values())
            for node in list(islice(newest_first, excess - gone)):
                nodes.remove(world, cluster, node, "NOT_WANTED")
                gone += 1
    idle = cluster.shelves[_IDLE]
    while gone < excess and idle:
        node = next(iter(idle.values()))
        if node.since + cluster.spec.idle_s >= world.now:
            break  # its time is not over, or its time-out is about to say so
        retire(world, cluster, node)
        gone += 1
    return gone


def shrink(world: World, cluster: Cluster) -> None:
    """Bring a cluster within a new maximum at once: what is of least use goes first."""
    for state in _LEAST_USED:
        last_first = sorted(cluster.shelves[state].values(), key=lambda node: -node.number)
        for node in last_first[: max(len(cluster.nodes) - cluster.spec.max_instances, 0)]:
            preemption.take_from_job(world, cluster, node)
            nodes.remove(world, cluster, node, "LEFT")


def close(world: World, cluster: Cluster) -> None:
    """Give every node back; the cluster is no more, its bill stays."""
    for number in sorted(cluster.nodes):
        nodes.remove(world, cluster, cluster.nodes[number], "LEFT")
    spec = cluster.spec
    world.bills.append(Bill("cluster", spec.name, spec.tier, cluster.billed_s, spec.price))
    del world.clusters[spec.name]


def time_out(world: World, cluster: Cluster, node: Node) -> None:
    """IDLE_TIMEOUT: the node goes, or is kept for the cluster's sake; then no job pays for it."""
    if node.since + cluster.spec.idle_s > world.now:
        return  # a timer from before the cluster's idle time was changed
    if have(cluster) > target(world, cluster) and not cluster.locked:
        retire(world, cluster, node)
    else:
        billing.pay(world, cluster, node, "")


def retire(world: World, cluster: Cluster, node: Node) -> None:
    """Give back a node that nothing runs on."""
    preemption.take_from_job(world, cluster, node)
    nodes.leave(world, cluster, node)


def _arm(world: World, cluster: Cluster) -> None:
    """Start the idle timers of the nodes that have just become idle."""
    for node in reversed(cluster.shelves[_IDLE].values()):
        if node.armed == node.epoch:
            break
        node.armed = node.epoch
        at = max(world.now, node.since + cluster.spec.idle_s)
        schedule(world, at, Kind.IDLE_TIMEOUT, cluster.spec.name, node.number, node.epoch)
