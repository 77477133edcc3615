"""Carries out commands about clusters and jobs, after `validation.check_command` accepted them."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import (
    admin_commands,
    autoscaling,
    batch_pool,
    capacity,
    preemption,
    retry,
    sampling,
    training,
)
from mlctl.simulator.engine.commands import (
    AddCluster,
    CancelJob,
    Command,
    DeleteCluster,
    Preempt,
    ResizeCluster,
    SetLock,
    SubmitBatch,
    SubmitTraining,
)
from mlctl.simulator.engine.jobs import (
    AnyJob,
    BatchJob,
    JobStatus,
    PoolJob,
    TrainingJob,
)
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, TrainingSpec
from mlctl.simulator.engine.state import Cluster, CoreQuota, NodeState, World, log_event
from mlctl.simulator.engine.validation import check_command

_ABANDONED = "the compute cluster was deleted"
_BY_USER = "cancelled by the user"


def carry_out(world: World, command: Command) -> None:
    """Carry out a command without logging it.

    Raises:
        EngineError: the command is not valid now; nothing has changed.
    """
    check_command(world, command)
    match command:
        case AddCluster(spec):
            autoscaling.reconcile(world, _create_cluster(world, spec))
        case ResizeCluster():
            _resize(world, command)
        case DeleteCluster(name):
            _delete_cluster(world, world.clusters[name])
        case SetLock(name, locked):
            _lock(world, world.clusters[name], locked=locked)
        case SubmitBatch(spec):
            _submit_batch(world, spec)
        case SubmitTraining(spec):
            _submit_training(world, spec)
        case CancelJob(name):
            _cancel(world, world.jobs[name])
        case Preempt(name, numbers):
            _preempt(world, world.clusters[name], numbers)
        case _:
            admin_commands.carry_out(world, command)


def _create_cluster(world: World, spec: ClusterSpec) -> Cluster:
    time = world.name_uses[spec.name] = world.name_uses.get(spec.name, 0) + 1
    tag = spec.name if time == 1 else f"{spec.name}#{time}"
    capacity.region_capacity(world, spec.region, spec.tier)
    for quota, limit in spec.quotas:
        world.quotas.setdefault(quota, CoreQuota(limit))
    regional = capacity.key_of(spec.region, spec.tier)
    cluster = world.clusters[spec.name] = Cluster(spec, tag, regional, world.now)
    log_event(world, "CLUSTER", cluster=spec.name, min=spec.min_instances, max=spec.max_instances)
    return cluster


def _resize(world: World, command: ResizeCluster) -> None:
    cluster = world.clusters[command.name]
    old, least, most = cluster.spec, command.min_instances, command.max_instances
    idle = command.idle_s
    new = cluster.spec = replace(
        old,
        min_instances=old.min_instances if least is None else least,
        max_instances=old.max_instances if most is None else most,
        idle_s=old.idle_s if idle is None else idle,
    )
    log_event(world, "RESIZE", cluster=new.name, min=new.min_instances, max=new.max_instances)
    for node in cluster.nodes_by_state[NodeState.IDLE].values():
        node.timer_epoch = 0  # a new timer, with the new idle time
    if not cluster.locked:
        autoscaling.enforce_maximum(world, cluster)
    autoscaling.reconcile(world, cluster)


def _delete_cluster(world: World, cluster: Cluster) -> None:
    log_event(world, "DELETE", cluster=cluster.spec.name)
    for name in tuple(cluster.jobs):
        _end(world, world.jobs[name], JobStatus.FAILED, _ABANDONED)
    autoscaling.delete_cluster(world, cluster)


def _end(world: World, job: AnyJob, status: JobStatus, reason: str) -> None:
    match job:
        case BatchJob():
            retry.end(world, world.clusters[job.cluster_name], job, status, reason)
        case TrainingJob():
            training.end(world, world.clusters[job.cluster_name], job, status, reason)
        case PoolJob():
            batch_pool.end(world, job, status, reason)


def _lock(world: World, cluster: Cluster, *, locked: bool) -> None:
    """Lock or unlock a cluster.

    While it is locked, nodes that wait for capacity stop waiting; nodes that have capacity still
    come.
    """
    cluster.locked = locked
    log_event(world, "LOCK" if locked else "UNLOCK", cluster=cluster.spec.name)
    regional = world.capacities[cluster.capacity_key]
    if locked:
        for number in sorted(cluster.nodes):
            if (cluster.spec.name, number) in regional.waiting:
                del regional.waiting[cluster.spec.name, number]
                cluster.to_request.append(number)
    autoscaling.reconcile(world, cluster)


def _submit_batch(world: World, spec: BatchSpec) -> None:
    cluster = world.clusters[spec.cluster]
    terms = (cluster.spec.tier, cluster.spec.cores, cluster.spec.price)
    job = BatchJob(spec.name, world.now, *terms, spec=spec, total=sampling.mini_batches(spec))
    world.jobs[spec.name] = job
    cluster.jobs.append(spec.name)
    log_event(world, "SUBMIT", job=spec.name, cluster=spec.cluster, mini_batches=job.total)
    most = cluster.spec.max_instances
    if spec.instance_count > most:
        log_event(world, "WARNING", job=spec.name, instances=spec.instance_count, runs_with=most)
    autoscaling.reconcile(world, cluster)


def _submit_training(world: World, spec: TrainingSpec) -> None:
    own = spec.serverless
    if own is None:
        cluster = world.clusters[spec.cluster]
    else:
        most = spec.instance_count
        bounds = replace(own, min_instances=0, max_instances=most, ephemeral=True)
        cluster = _create_cluster(world, bounds)
    terms = (cluster.spec.tier, cluster.spec.cores, cluster.spec.price)
    world.jobs[spec.name] = TrainingJob(spec.name, world.now, *terms, spec=spec)
    cluster.jobs.append(spec.name)
    log_event(world, "SUBMIT", job=spec.name, cluster=cluster.spec.name, steps=spec.steps)
    autoscaling.reconcile(world, cluster)


def _cancel(world: World, job: AnyJob) -> None:
    _end(world, job, JobStatus.CANCELED, _BY_USER)
    if not isinstance(job, PoolJob):
        autoscaling.reconcile(world, world.clusters[job.cluster_name])


def _preempt(world: World, cluster: Cluster, numbers: tuple[int, ...] | None) -> None:
    for number in sorted(cluster.nodes if numbers is None else set(numbers)):
        preemption.preempt(world, cluster, cluster.nodes[number])
    autoscaling.reconcile(world, cluster)
