"""What a job that has no node waits for, and what an ended one still costs."""

from __future__ import annotations

from mlctl.simulator.engine.jobs import ClusterJob
from mlctl.simulator.engine.model import Parameter, Tier
from mlctl.simulator.engine.processes import describe
from mlctl.simulator.engine.state import Cluster, NodeState, World


def waits_for(world: World, job: ClusterJob) -> str | None:
    """Why a job that has not ended runs on no node; None if it runs."""
    cluster = world.clusters.get(job.cluster_name)
    if job.ended is not None or cluster is None or _runs(cluster, job.name):
        return None
    if cluster.locked:
        return "a resource lock holds the cluster: resizing (0 -> 0)"
    waiting = _waiting(world, cluster)
    if waiting:
        return waiting
    for state in (NodeState.ALLOCATING, NodeState.PREEMPTED, NodeState.PREPARING):
        count = len(cluster.nodes_by_state[state])
        if count:
            return f"nodes: {count} {state.name.lower()}"
    return "nodes that other jobs of the cluster have"


def _runs(cluster: Cluster, name: str) -> bool:
    return any(node.job == name for node in cluster.nodes_by_state[NodeState.RUNNING].values())


def _waiting(world: World, cluster: Cluster) -> str | None:
    """Capacity or a quota, if nodes of the cluster wait for one of them."""
    spec, regional = cluster.spec, world.capacities[cluster.capacity_key]
    count = sum(name == spec.name for name, _ in regional.waiting)
    if not count:
        return None
    if regional.limit is not None and regional.used >= regional.limit:
        tier = "low-priority" if spec.tier is Tier.LOW_PRIORITY else "dedicated"
        use = f"the region has {regional.limit} {tier} nodes, {regional.used} are in use"
        return f"capacity: {use}, {count} more are sought"
    for name, _ in spec.quotas:
        quota = world.quotas[name]
        if quota.used + spec.cores > quota.limit:
            allows = f"{quota.limit} cores, {quota.used} are in use"
            return f"quota: it allows {allows}, a node needs {spec.cores}"
    return None


def seconds_to_come(world: World, job: ClusterJob) -> float | None:
    """The node-seconds that an ended job will still be billed: its nodes idle out.

    None before its end.
    """
    cluster = world.clusters.get(job.cluster_name)
    if job.ended is None:
        return None
    if cluster is None:
        return 0.0
    idle = cluster.nodes_by_state[NodeState.IDLE].values()
    ends = (node.since + cluster.spec.idle_s for node in idle if node.payer == job.name)
    return sum(max(end - world.now, 0.0) for end in ends)


def list_assumptions(world: World) -> list[Parameter]:
    """What takes nodes and how many there are, as it is set now."""
    losses = "; ".join(map(describe, world.preemption)) or "none"
    limits = {
        tier.value: describe(world.capacity[tier]) if tier in world.capacity else "unlimited"
        for tier in Tier
    }
    is_same = len(set(limits.values())) == 1
    capacity = (
        next(iter(limits.values()))
        if is_same
        else "; ".join(f"{tier}: {limit}" for tier, limit in limits.items())
    )
    return [
        Parameter("preemption", losses, "A", "what takes low-priority nodes; none until it is set"),
        Parameter("capacity", capacity, "A", "the nodes of a region and tier, until it is set"),
    ]
