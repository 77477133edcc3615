"""Invariants that hold after every event; tests set `verify` as `World.observer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mlctl.simulator.engine import autoscaling, batch, nodes, preemption
from mlctl.simulator.engine.jobs import BatchJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import ClusterSpec, Tier
from mlctl.simulator.engine.state import Cluster, NodeState, RegionCapacity, World

_TOLERANCE_S = 1e-6
_BILLED = (*nodes.UP_STATES, NodeState.UNUSABLE, NodeState.LEAVING)


def verify(world: World) -> None:
    """Check all invariants.

    Raises:
        AssertionError: one is violated; the text says which, and when.
    """
    for fault in violations(world):
        raise AssertionError(f"at {world.now} s: {fault}")


def violations(world: World) -> Iterator[str]:
    """Every violated invariant, as a sentence."""
    for cluster in world.clusters.values():
        yield from _cluster_violations(world, cluster)
    for regional in world.capacities.values():
        yield from _capacity_violations(world, regional)
    yield from _quota_violations(world)
    for job in world.jobs.values():
        begun = job.status is not JobStatus.NOT_STARTED
        if isinstance(job, BatchJob) and begun and job.ended is None:
            yield from _batch_violations(world, job)


def _cluster_violations(world: World, cluster: Cluster) -> Iterator[str]:
    name, spec = cluster.spec.name, cluster.spec
    listed = {
        number: node
        for nodes_there in cluster.nodes_by_state
        for number, node in nodes_there.items()
    }
    if listed != cluster.nodes or sum(map(len, cluster.nodes_by_state)) != len(cluster.nodes):
        yield f"{name}: the states do not sum to the nodes"
    if any(
        cluster.nodes_by_state[node.state].get(number) is not node
        for number, node in listed.items()
    ):
        yield f"{name}: a node is listed under the wrong state"
    if len(cluster.nodes) > spec.max_instances and not cluster.locked:
        yield f"{name}: {len(cluster.nodes)} nodes, more than {spec.max_instances}"
    if {*cluster.nodes, *cluster.free_numbers} != set(
        range(len(cluster.nodes) + len(cluster.free_numbers))
    ):
        yield f"{name}: numbers are lost"
    if spec.tier is Tier.DEDICATED and cluster.nodes_by_state[NodeState.PREEMPTED]:
        yield f"{name}: a dedicated node is preempted"
    if cluster.resizing != autoscaling.is_resizing(world, cluster):
        yield f"{name}: the allocation state is stale"
    yield from _billing_violations(world, cluster)


def _billing_violations(world: World, cluster: Cluster) -> Iterator[str]:
    settings, owed, lived = world.settings, cluster.billed_s, 0.0
    for node in cluster.nodes.values():
        owed += 0.0 if node.billed_until is None else world.now - node.billed_until
        lived += world.now - node.since if node.state in _BILLED else 0.0
    lived += sum(cluster.state_seconds[state] for state in _BILLED)
    if settings.min_bill_s or settings.bill_allocating:
        return
    if owed > lived + _TOLERANCE_S:
        yield f"{cluster.spec.name}: billed {owed} s, lived {lived} s"


def _capacity_violations(world: World, regional: RegionCapacity) -> Iterator[str]:
    affected = list(preemption.clusters_of(world, regional))
    held = sum(node.has_capacity for cluster in affected for node in cluster.nodes.values())
    if held != regional.used:
        yield f"{regional.region}: {held} nodes hold capacity, {regional.used} are counted"
    if regional.limit is None or regional.used < regional.limit:
        waiting = {world.clusters[name].spec.name for name, _ in regional.waiting}
        if any(_has_room(world, world.clusters[name].spec) for name in waiting):
            yield f"{regional.region}: nodes wait for capacity that is there"
    excess = regional.limit is not None and regional.used > regional.limit
    if excess and regional.tier is Tier.LOW_PRIORITY and any(preemption.up_nodes(affected)):
        yield f"{regional.region}: {regional.used} nodes are up, there are {regional.limit}"


def _has_room(world: World, spec: ClusterSpec) -> bool:
    quotas = [world.quotas[name] for name, _ in spec.quotas]
    return all(quota.used + spec.cores <= quota.limit for quota in quotas)


def _quota_violations(world: World) -> Iterator[str]:
    held: Counter[str] = Counter()
    for cluster in world.clusters.values():
        cores = cluster.spec.cores * sum(node.has_capacity for node in cluster.nodes.values())
        for name, _ in cluster.spec.quotas:
            held[name] += cores
    for name, quota in world.quotas.items():
        if held[name] != quota.used:
            yield f"{name}: nodes have {held[name]} cores, {quota.used} are counted"


def _batch_violations(world: World, job: BatchJob) -> Iterator[str]:
    cluster = world.clusters[job.spec.cluster]
    working = [attempt[3] for attempt in job.attempts_by_end]
    touched = [*job.head, *job.tail, *working]
    if len(touched) + job.total - job.next_new + job.done + job.failed != job.total:
        yield f"{job.name}: mini-batches are lost"
    if len(set(touched)) != len(touched) or any(each >= job.next_new for each in touched):
        yield f"{job.name}: a mini-batch is in two places"
    usable = [node for node in cluster.nodes.values() if node.job == job.name]
    running = [node.number for node in usable if node.state is NodeState.RUNNING]
    if len(running) != job.running_nodes or len(usable) != job.usable_nodes:
        yield f"{job.name}: its nodes are miscounted"
    slots = job.spec.concurrency
    if {attempt[4] // slots for attempt in job.attempts_by_end} | {*job.starting} != set(running):
        yield f"{job.name}: it works where it does not run"
    if len(job.attempts_by_end) > len(running) * slots or len(running) > job.spec.instance_count:
        yield f"{job.name}: it works on more than it has"
    if job.idle_slots and (job.head or job.tail or job.next_new < job.total):
        yield f"{job.name}: a slot is spare while mini-batches wait"
    ahead = [world.jobs[name] for name in cluster.jobs[: cluster.jobs.index(job.name)]]
    reserved = any(isinstance(other, TrainingJob) and not other.nodes for other in ahead)
    idle = cluster.nodes_by_state[NodeState.IDLE].values()
    takes = any(autoscaling.may_take(world, job, node) for node in idle)
    if takes and batch.can_use_idle_node(job) and not reserved:
        yield f"{job.name}: a node is idle while mini-batches wait"
