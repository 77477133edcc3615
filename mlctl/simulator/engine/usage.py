"""Node-seconds and costs per cluster, pool and job, up to now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from mlctl.dataclasses import dataclass
from mlctl.simulator.engine import ended_jobs
from mlctl.simulator.engine.jobs import AnyJob, ClusterJob, GroupJob
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.state import Cluster, World

JOB = "job"


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """Node-seconds used so far by a cluster, job or pool; a job's are part of its cluster's.

    `cost` is None if the price is unknown. `gone` means deleted, or for a job ended.
    """

    kind: str
    name: str
    tier: Tier
    node_s: float
    cost: float | None
    gone: bool


def usage(world: World) -> Iterator[NodeUsage]:
    """The usage of deleted clusters and pools, then of existing clusters, pools and jobs."""
    for bill in world.bills:
        due = cost(bill.node_s, bill.price)
        yield NodeUsage(bill.kind, bill.name, bill.tier, bill.node_s, due, gone=True)
    unbilled = {name: _unbilled_s(world, cluster) for name, cluster in world.clusters.items()}
    for cluster_name, cluster in world.clusters.items():
        spec, used = cluster.spec, cluster.billed_s + sum(unbilled[cluster_name].values())
        yield NodeUsage("cluster", spec.name, spec.tier, used, cost(used, spec.price), gone=False)
    for pool in world.pools.values():
        up = (world.now - vm.billed_from for vm in pool.vms.values() if vm.billed_until is not None)
        used = pool.billed_s + sum(up)
        due = cost(used, pool.spec.price)
        yield NodeUsage("pool", pool.spec.name, Tier.DEDICATED, used, due, gone=False)
    for job in ended_jobs.every_job(world):
        if isinstance(job, ClusterJob):
            used = job.billed_node_s + unbilled.get(job.cluster_name, {}).get(job.name, 0.0)
            due = cost(used, job.price)
            yield NodeUsage(JOB, job.name, job.tier, used, due, gone=job.ended is not None)


def job_node_seconds(world: World, job: AnyJob) -> float:
    """The node-seconds of a job: from its first node's allocation to its last node's idle time.

    A node that was allocated for a job, or that ran it last, is billed to it until another job
    takes the node, the node leaves, or its idle time is over.
    """
    cluster = world.clusters.get(job.cluster_name) if isinstance(job, ClusterJob) else None
    unbilled = 0.0
    for node in cluster.nodes.values() if cluster is not None else ():
        if node.payer == job.name and node.billed_until is not None:
            unbilled += world.now - node.billed_until
    return job.billed_node_s + unbilled


def parts(world: World, job: AnyJob) -> Iterator[AnyJob]:
    """Return the job itself, or all members of a group that are not groups, at every depth."""
    if not isinstance(job, GroupJob):
        yield job
        return
    for member in members(world, job):
        yield from parts(world, member)


def members(world: World, group: GroupJob) -> Iterator[AnyJob]:
    """Return the members of a group, in the order of declaration."""
    jobs = (ended_jobs.find(world, member.spec.name) for member in group.spec.members)
    return (member_job for member_job in jobs if member_job is not None)


def job_cost(job: AnyJob, parts: Sequence[AnyJob], node_s: Sequence[float]) -> float | None:
    """Return the cost of a job from its `parts` and node-seconds; None if a price is unknown."""
    used = zip(parts, node_s, strict=True)
    due = [cost(seconds, part.price) for part, seconds in used if seconds or part is job]
    return None if None in due else sum(amount for amount in due if amount is not None)


def cost(node_s: float, price: float | None) -> float | None:
    """Return the cost of node-seconds at a price per node-hour; None without a price."""
    return None if price is None else node_s / HOUR * price


def _unbilled_s(world: World, cluster: Cluster) -> dict[str | None, float]:
    """Return the node-seconds that are not billed yet, by payer (None: the cluster)."""
    seconds: defaultdict[str | None, float] = defaultdict(float)
    for node in cluster.nodes.values():
        if node.billed_until is not None:
            seconds[node.payer] += world.now - node.billed_until
    return seconds
