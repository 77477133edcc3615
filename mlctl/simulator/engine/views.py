"""Read-only views of a simulated cloud, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.dataclasses import dataclass, field
from mlctl.simulator.engine import autoscaling, ended_jobs, jobs, training, usage
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.jobs import ClusterJob
from mlctl.simulator.engine.model import PREEMPTION_WARNING, Parameter, Tier
from mlctl.simulator.engine.processes import describe
from mlctl.simulator.engine.state import Cluster, NodeState, World


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as `az ml compute list-nodes` shows it; `serial` is unique, `number` is reused.

    `waiting`: it is allocating or preempted and has no capacity yet.
    """

    number: int
    serial: int
    state: NodeState
    since: float
    job: str | None
    waiting: bool


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """A cluster's `nodeStateCounts`, `currentNodeCount`, `targetNodeCount` and `allocationState`.

    Allocating nodes are in no counter; they are the difference of target and current. A locked
    cluster that should grow is `resizing` with a target that equals current.
    """

    idle: int
    running: int
    preparing: int
    unusable: int
    leaving: int
    preempted: int
    current: int
    target: int
    resizing: bool
    since: float


@dataclass(frozen=True, slots=True)
class MiniBatchCounts:
    """A batch job's mini-batches; `attempts` counts all that were started, including lost ones."""

    total: int
    completed: int
    failed: int
    attempts: int
    failed_files: int


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """A training job's steps: `step` is the last of this run, `saved` that of the last checkpoint.

    `metric_count` counts the logged metrics, repeated steps too; `metrics` are (second, step) in
    the order in which they were logged, by the runs `metric_runs`; `partial_checkpoints` are
    the steps of unfinished checkpoints.
    """

    steps: int
    step: int
    saved: int
    restarts: int
    metric_count: int
    metrics: tuple[tuple[float, int], ...]
    partial_checkpoints: tuple[int, ...]
    metric_runs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is now. `cost` is None if the price is unknown.

    `cost_to_come` is what an ended job will still be billed for idle nodes, None if that or the
    price is unknown; `waits_for` says why a job runs on no node.

    A group is billed for its members; `members` has their names and statuses. `parts` are the job
    and all its members, at every depth, each with its cluster.
    """

    name: str
    status: jobs.JobStatus
    reason: str
    submitted: float
    started: float | None
    ended: float | None
    billed_node_s: float
    cost: float | None
    preempted_nodes: int
    preempted_cores: int
    lost_node_s: float
    cluster: str | None
    mini_batches: MiniBatchCounts | None
    training: TrainingProgress | None
    members: Mapping[str, jobs.JobStatus] | None = None
    parts: Mapping[str, str | None] = field(default_factory=dict)
    waits_for: str | None = None
    cost_to_come: float | None = None

    @property
    def makespan_s(self) -> float | None:
        """The seconds from submission to the end; None before that."""
        return None if self.ended is None else self.ended - self.submitted

    @property
    def warning(self) -> str | None:
        """The preemption warning that the job's page shows; None if no node was preempted."""
        return PREEMPTION_WARNING if self.preempted_nodes else None


@dataclass(frozen=True, slots=True)
class PoolView:
    """A Batch Pool: its VMs, and the waiting jobs."""

    name: str
    vms: int
    provisioned: int
    busy: int
    queue: tuple[str, ...]


def nodes(world: World, cluster: str) -> list[NodeView]:
    """Return the nodes of a cluster by number, including allocating ones, unlike ARM.

    Raises:
        EngineError: there is no such cluster.
    """
    shown_cluster = _cluster(world, cluster)
    queue = world.capacities[shown_cluster.capacity_key].waiting
    return [
        NodeView(
            number=node.number,
            serial=node.serial,
            state=node.state,
            since=node.since,
            job=node.job or None,
            waiting=(cluster, node.number) in queue,
        )
        for node in sorted(shown_cluster.nodes.values(), key=lambda node: node.number)
    ]


def counts(world: World, cluster: str) -> NodeCounts:
    """Return the number of a cluster's nodes in each state.

    Raises:
        EngineError: there is no such cluster.
    """
    shown_cluster = _cluster(world, cluster)
    of = [len(nodes) for nodes in shown_cluster.nodes_by_state]
    current = len(shown_cluster.nodes) - of[NodeState.ALLOCATING]
    target = max(
        autoscaling.target_nodes(world, shown_cluster), autoscaling.current_nodes(shown_cluster)
    )  # excess idle nodes count until they leave
    return NodeCounts(
        idle=of[NodeState.IDLE],
        running=of[NodeState.RUNNING],
        preparing=of[NodeState.PREPARING],
        unusable=of[NodeState.UNUSABLE],
        leaving=of[NodeState.LEAVING],
        preempted=of[NodeState.PREEMPTED],
        current=current,
        target=current if shown_cluster.locked else target,
        resizing=shown_cluster.resizing,
        since=shown_cluster.steady_since,
    )


def job(world: World, name: str) -> JobView:
    """Return a job as it is now.

    Raises:
        EngineError: there is no such job.
    """
    shown_job = ended_jobs.find(world, name)
    if shown_job is None:
        raise EngineError(f"there is no job `{name}`")
    parts = list(usage.parts(world, shown_job))
    used = [usage.job_node_seconds(world, part) for part in parts]
    seconds = seconds_to_come(world, shown_job) if isinstance(shown_job, jobs.ClusterJob) else None
    return JobView(
        name=shown_job.name,
        status=shown_job.status,
        reason=shown_job.reason,
        submitted=shown_job.submitted,
        started=shown_job.started,
        ended=shown_job.ended,
        billed_node_s=sum(used),
        cost=usage.job_cost(shown_job, parts, used),
        preempted_nodes=sum(part.preempted_nodes for part in parts),
        preempted_cores=sum(part.preempted_nodes * part.cores for part in parts),
        lost_node_s=sum(part.lost_node_s for part in parts),
        cluster=_cluster_of(shown_job),
        parts={part.name: _cluster_of(part) for part in (shown_job, *parts)},
        members=_members(world, shown_job) if isinstance(shown_job, jobs.GroupJob) else None,
        mini_batches=_mini_batches(shown_job) if isinstance(shown_job, jobs.BatchJob) else None,
        training=_training(shown_job, world.now)
        if isinstance(shown_job, jobs.TrainingJob)
        else None,
        waits_for=waits_for(world, shown_job) if isinstance(shown_job, jobs.ClusterJob) else None,
        cost_to_come=None if seconds is None else usage.cost(seconds, shown_job.price),
    )


def pool(world: World, name: str) -> PoolView:
    """Return a Batch Pool as it is now.

    Raises:
        EngineError: there is no such pool.
    """
    if name not in world.pools:
        raise EngineError(f"there is no pool `{name}`")
    vms = world.pools[name].vms.values()
    up, busy = sum(vm.billed_until is not None for vm in vms), sum(bool(vm.job) for vm in vms)
    return PoolView(name, len(vms), up, busy, tuple(world.pools[name].queue))


def _cluster(world: World, name: str) -> Cluster:
    if name not in world.clusters:
        raise EngineError(f"there is no cluster `{name}`")
    return world.clusters[name]


def _cluster_of(job: jobs.AnyJob) -> str | None:
    return job.cluster_name if isinstance(job, jobs.ClusterJob) else None


def _members(world: World, group: jobs.GroupJob) -> Mapping[str, jobs.JobStatus]:
    return {member.name: member.status for member in usage.members(world, group)}


def _mini_batches(job: jobs.BatchJob) -> MiniBatchCounts:
    return MiniBatchCounts(job.total, job.done, job.failed, job.attempts, job.failed_files)


def _training(job: jobs.TrainingJob, now: float) -> TrainingProgress:
    step = training.step_at(job, now)
    unlogged = (
        [jobs.StepRange(job.step + 1, step, job.phase_began, job.runs)] if step > job.step else []
    )
    return TrainingProgress(
        steps=job.spec.steps,
        step=step,
        saved=job.saved,
        restarts=max(job.runs - 1, 0),
        metric_count=job.metric_count + step - job.step,
        metrics=tuple(training.logged_steps(job.spec, [*job.metrics, *unlogged])),
        partial_checkpoints=tuple(job.partial_checkpoints),
        metric_runs=tuple(training.logged_runs([*job.metrics, *unlogged])),
    )


def waits_for(world: World, job: ClusterJob) -> str | None:
    """Return why a job that has not ended runs on no node; None if it runs."""
    cluster = world.clusters.get(job.cluster_name)
    if job.ended is not None or cluster is None or _runs(cluster, job.name):
        return None
    if cluster.locked:
        return "a resource lock blocks the cluster: resizing (0 -> 0)"
    waiting = _waiting(world, cluster)
    if waiting:
        return waiting
    for state in (NodeState.ALLOCATING, NodeState.PREEMPTED, NodeState.PREPARING):
        count = len(cluster.nodes_by_state[state])
        if count:
            return f"nodes: {count} {state.name.lower()}"
    return "nodes in use by other jobs of the cluster"


def _runs(cluster: Cluster, name: str) -> bool:
    return any(node.job == name for node in cluster.nodes_by_state[NodeState.RUNNING].values())


def _waiting(world: World, cluster: Cluster) -> str | None:
    """Return the capacity or quota that nodes of the cluster wait for, if any."""
    spec, regional = cluster.spec, world.capacities[cluster.capacity_key]
    count = sum(name == spec.name for name, _ in regional.waiting)
    if not count:
        return None
    if regional.limit is not None and regional.used >= regional.limit:
        tier = "low-priority" if spec.tier is Tier.LOW_PRIORITY else "dedicated"
        use = f"the region has {regional.limit} {tier} nodes, {regional.used} are in use"
        return f"capacity: {use}, {count} more are needed"
    for name, _ in spec.quotas:
        quota = world.quotas[name]
        if quota.used + spec.cores > quota.limit:
            allows = f"{quota.limit} cores, {quota.used} are in use"
            return f"quota: it allows {allows}, a node needs {spec.cores}"
    return None


def seconds_to_come(world: World, job: ClusterJob) -> float | None:
    """Return the node-seconds that an ended job will still be billed while its nodes idle.

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
    """Return the current settings of what takes nodes and how many exist."""
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
