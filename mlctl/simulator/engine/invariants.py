"""What holds after every event, whatever happens: for tests (`World.watch`), as it looks at all."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.simulator.engine import autoscaling, batch, nodes, preemption
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.state import Cluster, Market, NodeState, World

_DUST = 1e-6
_BILLED = (*nodes.UP, NodeState.UNUSABLE, NodeState.LEAVING)


def verify(world: World) -> None:
    """Return where the state is sound.

    Raises:
        AssertionError: it is not; the text says what is wrong, and when.
    """
    for fault in faults(world):
        raise AssertionError(f"at {world.now} s: {fault}")


def faults(world: World) -> Iterator[str]:
    """Everything that is wrong with the state."""
    for cluster in world.clusters.values():
        yield from _cluster_faults(world, cluster)
    for place in world.markets.values():
        yield from _market_faults(world, place)
    for job in world.jobs.values():
        if isinstance(job, BatchJob) and job.ended is None:
            yield from _batch_faults(world, job)


def _cluster_faults(world: World, cluster: Cluster) -> Iterator[str]:
    name, spec = cluster.spec.name, cluster.spec
    shelved = {number: node for shelf in cluster.shelves for number, node in shelf.items()}
    if shelved != cluster.nodes or sum(map(len, cluster.shelves)) != len(cluster.nodes):
        yield f"{name}: the states do not sum to the nodes"
    if any(cluster.shelves[node.state].get(number) is not node for number, node in shelved.items()):
        yield f"{name}: a node is on the wrong shelf"
    if len(cluster.nodes) > spec.max_instances and not cluster.locked:
        yield f"{name}: {len(cluster.nodes)} nodes, more than {spec.max_instances}"
    if {*cluster.nodes, *cluster.free} != set(range(len(cluster.nodes) + len(cluster.free))):
        yield f"{name}: numbers are lost"
    if spec.tier is Tier.DEDICATED and cluster.shelves[NodeState.PREEMPTED]:
        yield f"{name}: a dedicated node is preempted"
    if cluster.resizing != autoscaling.is_resizing(world, cluster):
        yield f"{name}: the allocation state is stale"
    yield from _bill_faults(world, cluster)


def _bill_faults(world: World, cluster: Cluster) -> Iterator[str]:
    settings, owed, lived = world.settings, cluster.billed_s, 0.0
    for node in cluster.nodes.values():
        owed += 0.0 if node.charged is None else world.now - node.charged
        lived += world.now - node.since if node.state in _BILLED else 0.0
    lived += sum(cluster.seconds[state] for state in _BILLED)
    if settings.min_bill_s or settings.bill_allocating:
        return
    if owed > lived + _DUST:
        yield f"{cluster.spec.name}: billed {owed} s, lived {lived} s"


def _market_faults(world: World, place: Market) -> Iterator[str]:
    near = list(preemption.clusters(world, place))
    held = sum(node.holds for cluster in near for node in cluster.nodes.values())
    if held != place.held:
        yield f"{place.region}: {held} nodes hold capacity, {place.held} are counted"
    if place.limit is not None and place.waiting and place.held < place.limit:
        yield f"{place.region}: nodes wait for capacity that is there"
    excess = place.limit is not None and place.held > place.limit
    if excess and place.tier is Tier.LOW_PRIORITY and any(preemption.up(near)):
        yield f"{place.region}: {place.held} nodes are up, there are {place.limit}"


def _batch_faults(world: World, job: BatchJob) -> Iterator[str]:
    cluster = world.clusters[job.spec.cluster]
    working = [attempt[3] for attempt in job.work.values()]
    touched = [*job.head, *job.tail, *working]
    if len(touched) + job.total - job.fresh + job.done + job.failed != job.total:
        yield f"{job.name}: mini-batches are lost"
    if len(set(touched)) != len(touched) or any(each >= job.fresh for each in touched):
        yield f"{job.name}: a mini-batch is in two places"
    usable = [node for node in cluster.nodes.values() if node.job == job.name]
    running = [node.number for node in usable if node.state is NodeState.RUNNING]
    if len(running) != job.running or len(usable) != job.members:
        yield f"{job.name}: its nodes are miscounted"
    slots = job.spec.concurrency
    if {slot // slots for slot in job.work} != set(running):
        yield f"{job.name}: it works where it does not run"
    if len(job.work) > len(running) * slots or len(running) > job.spec.instance_count:
        yield f"{job.name}: it works on more than it has"
    if job.spare and (job.head or job.tail or job.fresh < job.total):
        yield f"{job.name}: a slot is spare while mini-batches wait"
    ahead = [world.jobs[name] for name in cluster.jobs[: cluster.jobs.index(job.name)]]
    reserved = any(isinstance(other, TrainingJob) and not other.nodes for other in ahead)
    if cluster.shelves[NodeState.IDLE] and batch.is_hungry(job) and not reserved:
        yield f"{job.name}: a node is idle while mini-batches wait"
