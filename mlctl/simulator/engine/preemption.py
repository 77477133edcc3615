"""Preemption of nodes, and its effect on the job that ran there.

Only low-priority nodes that are preparing, idle or running can be preempted: "Dedicated machines
... Jobs will not be interrupted".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl.simulator.engine import capacity, nodes, retry, rng, training
from mlctl.simulator.engine.jobs import BatchJob, TrainingJob
from mlctl.simulator.engine.model import Tier
from mlctl.simulator.engine.processes import ALL, LossScript, Shock
from mlctl.simulator.engine.state import Cluster, Node, NodeState, RegionCapacity, World, log_event

_LOW_PRIORITY = Tier.LOW_PRIORITY


def preempt(world: World, cluster: Cluster, node: Node) -> bool:
    """Preempt a node if possible; return whether it was."""
    if cluster.spec.tier is not _LOW_PRIORITY or node.state not in nodes.UP_STATES:
        return False
    was_usable = node.state in nodes.USABLE_STATES
    nodes.log_node_event(world, "PREEMPT", cluster, node)
    payer = world.jobs.get(node.payer)
    if payer is not None and payer.ended is None:
        payer.preempted_nodes += 1
    nodes.preempt(world, cluster, node)
    job = detach_from_job(world, cluster, node)
    if isinstance(job, TrainingJob):
        training.node_preempted(world, cluster, job)
    elif was_usable:
        retry.node_preempted(world, cluster, job)
    return True


def detach_from_job(world: World, cluster: Cluster, node: Node) -> BatchJob | TrainingJob | None:
    """Remove a node from its job, losing what ran there; return the job, if any."""
    job = world.jobs.get(node.job)
    node.job = node.entered = ""
    if isinstance(job, BatchJob):
        retry.node_lost(world, cluster, job, node)
        return job
    if isinstance(job, TrainingJob):
        training.node_lost(world, cluster, job, node)
        return job
    return None


def process_due(world: World, regional: RegionCapacity, index: int) -> list[Cluster]:
    """Apply a due process of a region's capacity; return the clusters that may have changed."""
    active = regional.processes[index]
    affected = list(clusters_of(world, regional))
    name = capacity.key_of(regional.region, regional.tier)
    match active.process:
        case LossScript(losses):
            _, victim = losses[active.tick]
            for cluster, node in list(up_nodes(affected)):
                if victim in (ALL, node.number):
                    preempt(world, cluster, node)
            capacity.advance_process(world, regional, active)
        case Shock(_, fraction):
            log_event(world, "SHOCK", region=regional.region, tier=regional.tier.value)
            key = f"{world.seed}/shock/{name}/{active.serial}/{active.tick}"
            random = rng.generator(key).random
            for cluster, node in list(up_nodes(affected)):
                if random() < fraction:
                    preempt(world, cluster, node)
            capacity.advance_process(world, regional, active)
        case _:
            capacity.advance_process(world, regional, active)
            capacity.update_limit(world, regional)
            facts = {
                "region": regional.region,
                "tier": regional.tier.value,
                "nodes": regional.limit,
            }
            log_event(world, "CAPACITY", **facts)
            if regional.tier is Tier.LOW_PRIORITY:
                enforce(world, regional, affected)
    capacity.schedule_process(world, regional, index)
    return affected


def enforce(world: World, regional: RegionCapacity, affected: list[Cluster]) -> None:
    """Reduce use to the limit: first nodes that are not up yet, then random ones."""
    if regional.limit is None or regional.used <= regional.limit:
        return
    for cluster in affected:
        for state in (NodeState.ALLOCATING, NodeState.PREEMPTED):
            for node in reversed(list(cluster.nodes_by_state[state].values())):
                if node.has_capacity and regional.used > regional.limit:
                    capacity.revoke(world, regional, cluster, node)
    excess = regional.used - regional.limit
    up = list(up_nodes(affected))
    if excess > 0 and up:
        regional.preempt_count += 1
        name = capacity.key_of(regional.region, regional.tier)
        choose = rng.generator(f"{world.seed}/victims/{name}/{regional.preempt_count}").sample
        hit = sorted(choose(range(len(up)), min(excess, len(up))))
        for cluster, node in [up[index] for index in hit]:
            preempt(world, cluster, node)


def clusters_of(world: World, regional: RegionCapacity) -> Iterator[Cluster]:
    """The clusters that share a region's capacity."""
    name = capacity.key_of(regional.region, regional.tier)
    return (cluster for cluster in world.clusters.values() if cluster.capacity_key == name)


def up_nodes(affected: Iterable[Cluster]) -> Iterator[tuple[Cluster, Node]]:
    """The nodes that are up, ordered by cluster and number."""
    for cluster in affected:
        for number in sorted(cluster.nodes):
            if cluster.nodes[number].state in nodes.UP_STATES:
                yield cluster, cluster.nodes[number]
