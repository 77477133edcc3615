"""Preemption: who is hit, and what that does to the job that ran there.

Only low-priority nodes that are up (preparing, idle or running) can be hit: "Dedicated machines ...
Jobs will not be interrupted".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl.simulator.engine import capacity, nodes, retry, rng, training
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import ALL, LossScript, Shock
from mlctl.simulator.engine.state import (
    Cluster,
    Node,
    NodeState,
    RegionCapacity,
    World,
    log_event,
)


def preempt(world: World, cluster: Cluster, node: Node) -> bool:
    """Take a node away, where it can be taken."""
    if cluster.spec.tier is not Tier.LOW_PRIORITY or node.state not in nodes.UP_STATES:
        return False
    nodes.log_node_event(world, "PREEMPT", cluster, node)
    payer = world.jobs.get(node.payer)
    if payer is not None and payer.ended is None:
        payer.preempted_nodes += 1
    nodes.preempt(world, cluster, node)
    job = detach_from_job(world, cluster, node)
    match job:
        case BatchJob():
            retry.node_preempted(world, cluster, job)
        case TrainingJob():
            training.node_preempted(world, cluster, job)
        case _:
            pass
    return True


def detach_from_job(world: World, cluster: Cluster, node: Node) -> BatchJob | TrainingJob | None:
    """A node is no longer its job's; what ran there is lost. The job, where there was one."""
    job = world.jobs.get(node.job)
    node.job = ""
    match job:
        case BatchJob():
            retry.node_lost(world, cluster, job, node)
            return job
        case TrainingJob():
            training.node_lost(world, cluster, job, node)
            return job
        case _:
            return None


def process_due(world: World, place: RegionCapacity, index: int) -> list[Cluster]:
    """A source of a market has its turn; the clusters that may have changed."""
    source = place.processes[index]
    near, name = list(clusters(world, place)), capacity.key_of(place.region, place.tier)
    match source.process:
        case LossScript(losses):
            _, which = losses[source.tick]
            for cluster, node in list(up(near)):
                if which in (ALL, node.number):
                    preempt(world, cluster, node)
            capacity.advance_process(world, place, source)
        case Shock(_, fraction):
            log_event(world, "SHOCK", region=place.region, tier=place.tier.value)
            key = f"{world.seed}/shock/{name}/{source.serial}/{source.tick}"
            chance = rng.generator(key).random
            for cluster, node in list(up(near)):
                if chance() < fraction:
                    preempt(world, cluster, node)
            capacity.advance_process(world, place, source)
        case _:
            capacity.advance_process(world, place, source)
            capacity.update_limit(world, place)
            facts = {"region": place.region, "tier": place.tier.value, "nodes": place.limit}
            log_event(world, "CAPACITY", **facts)
            if place.tier is Tier.LOW_PRIORITY:
                enforce(world, place, near)
    capacity.schedule_process(world, place, index)
    return near


def enforce(world: World, place: RegionCapacity, near: list[Cluster]) -> None:
    """Take away what is above the limit: shares of nodes to come first, then nodes at random."""
    if place.limit is None or place.used <= place.limit:
        return
    for cluster in near:
        for state in (NodeState.ALLOCATING, NodeState.PREEMPTED):
            for node in reversed(list(cluster.nodes_by_state[state].values())):
                if node.has_capacity and place.used > place.limit:
                    capacity.revoke(world, place, cluster, node)
    excess = place.used - place.limit
    there = list(up(near))
    if excess > 0 and there:
        place.preempt_count += 1
        name = capacity.key_of(place.region, place.tier)
        choose = rng.generator(f"{world.seed}/victims/{name}/{place.preempt_count}").sample
        hit = sorted(choose(range(len(there)), min(excess, len(there))))
        for cluster, node in [there[each] for each in hit]:
            preempt(world, cluster, node)


def clusters(world: World, place: RegionCapacity) -> Iterator[Cluster]:
    """The clusters that share a market."""
    name = capacity.key_of(place.region, place.tier)
    return (cluster for cluster in world.clusters.values() if cluster.capacity_key == name)


def up(near: Iterable[Cluster]) -> Iterator[tuple[Cluster, Node]]:
    """The nodes that are up, by cluster and number."""
    for cluster in near:
        for number in sorted(cluster.nodes):
            if cluster.nodes[number].state in nodes.UP_STATES:
                yield cluster, cluster.nodes[number]
