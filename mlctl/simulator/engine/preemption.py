"""Preemption: who is hit, and what that does to the job that ran there.

Only low-priority nodes that are up (preparing, idle or running) can be hit: "Dedicated machines ...
Jobs will not be interrupted".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl.simulator.engine import capacity, nodes, retry, rng, training
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import ALL, Script, Shock
from mlctl.simulator.engine.state import (
    Cluster,
    Market,
    Node,
    NodeState,
    World,
    tell,
)


def preempt(world: World, cluster: Cluster, node: Node) -> bool:
    """Take a node away, where it can be taken."""
    if cluster.spec.tier is not Tier.LOW_PRIORITY or node.state not in nodes.UP:
        return False
    nodes.told(world, "PREEMPT", cluster, node)
    payer = world.jobs.get(node.account)
    if payer is not None and payer.ended is None:
        payer.preempted_nodes += 1
    nodes.lose(world, cluster, node)
    job = take_from_job(world, cluster, node)
    match job:
        case BatchJob():
            retry.preempted(world, cluster, job)
        case TrainingJob():
            training.preempted(world, cluster, job)
        case _:
            pass
    return True


def take_from_job(world: World, cluster: Cluster, node: Node) -> BatchJob | TrainingJob | None:
    """A node is no longer its job's; what ran there is lost. The job, where there was one."""
    job = world.jobs.get(node.job)
    node.job = ""
    match job:
        case BatchJob():
            retry.lost(world, cluster, job, node)
            return job
        case TrainingJob():
            training.lost(world, cluster, job, node)
            return job
        case _:
            return None


def strike(world: World, place: Market, index: int) -> list[Cluster]:
    """A source of a market has its turn; the clusters that may have changed."""
    source = place.sources[index]
    near, name = list(clusters(world, place)), capacity.name_of(place.region, place.tier)
    match source.process:
        case Script(losses):
            _, which = losses[source.tick]
            for cluster, node in list(up(near)):
                if which in (ALL, node.number):
                    preempt(world, cluster, node)
            capacity.turn(world, place, source)
        case Shock(_, fraction):
            tell(world, "SHOCK", region=place.region, tier=place.tier.value)
            key = f"{world.seed}/shock/{name}/{source.serial}/{source.tick}"
            chance = rng.stream(key).random
            for cluster, node in list(up(near)):
                if chance() < fraction:
                    preempt(world, cluster, node)
            capacity.turn(world, place, source)
        case _:
            capacity.turn(world, place, source)
            capacity.relimit(world, place)
            facts = {"region": place.region, "tier": place.tier.value, "nodes": place.limit}
            tell(world, "CAPACITY", **facts)
            if place.tier is Tier.LOW_PRIORITY:
                enforce(world, place, near)
    capacity.plan(world, place, index)
    return near


def enforce(world: World, place: Market, near: list[Cluster]) -> None:
    """Take away what is above the limit: shares of nodes to come first, then nodes at random."""
    if place.limit is None or place.held <= place.limit:
        return
    for cluster in near:
        for state in (NodeState.ALLOCATING, NodeState.PREEMPTED):
            for node in reversed(list(cluster.shelves[state].values())):
                if node.holds and place.held > place.limit:
                    capacity.revoke(world, place, cluster, node)
    excess = place.held - place.limit
    there = list(up(near))
    if excess > 0 and there:
        place.victims += 1
        name = capacity.name_of(place.region, place.tier)
        choose = rng.stream(f"{world.seed}/victims/{name}/{place.victims}").sample
        hit = sorted(choose(range(len(there)), min(excess, len(there))))
        for cluster, node in [there[each] for each in hit]:
            preempt(world, cluster, node)


def clusters(world: World, place: Market) -> Iterator[Cluster]:
    """The clusters that share a market."""
    name = capacity.name_of(place.region, place.tier)
    return (cluster for cluster in world.clusters.values() if cluster.market == name)


def up(near: Iterable[Cluster]) -> Iterator[tuple[Cluster, Node]]:
    """The nodes that are up, by cluster and number."""
    for cluster in near:
        for number in sorted(cluster.nodes):
            if cluster.nodes[number].state in nodes.UP:
                yield cluster, cluster.nodes[number]
