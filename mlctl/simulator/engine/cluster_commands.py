"""Carrying out commands about clusters and jobs; `refuse` has let them pass."""

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
    Lock,
    Preempt,
    ResizeCluster,
    SubmitBatch,
    SubmitTraining,
)
from mlctl.simulator.engine.jobs import (
    AnyJob,
    BatchJob,
    PoolJob,
    Status,
    TrainingJob,
)
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, TrainingSpec
from mlctl.simulator.engine.state import Cluster, NodeState, World, tell
from mlctl.simulator.engine.validation import refuse

_ABANDONED = "the compute cluster was deleted"
_BY_USER = "cancelled by the user"


def carry_out(world: World, command: Command) -> None:
    """Do what the command asks.

    Raises:
        Refused: the cloud does not take it; nothing has changed.
    """
    refuse(world, command)
    match command:
        case AddCluster(spec):
            autoscaling.follow(world, _open_cluster(world, spec))
        case ResizeCluster():
            _resize(world, command)
        case DeleteCluster(name):
            _delete_cluster(world, world.clusters[name])
        case Lock(name, locked):
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


def _open_cluster(world: World, spec: ClusterSpec) -> Cluster:
    time = world.names[spec.name] = world.names.get(spec.name, 0) + 1
    tag = spec.name if time == 1 else f"{spec.name}#{time}"
    capacity.of(world, spec.region, spec.tier)
    place = capacity.name_of(spec.region, spec.tier)
    cluster = world.clusters[spec.name] = Cluster(spec, tag, place, world.now)
    tell(world, "CLUSTER", cluster=spec.name, min=spec.min_instances, max=spec.max_instances)
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
    tell(world, "RESIZE", cluster=new.name, min=new.min_instances, max=new.max_instances)
    for node in cluster.shelves[NodeState.IDLE].values():
        node.armed = 0  # another idle time, another timer
    if not cluster.locked:
        autoscaling.shrink(world, cluster)
    autoscaling.follow(world, cluster)


def _delete_cluster(world: World, cluster: Cluster) -> None:
    tell(world, "DELETE", cluster=cluster.spec.name)
    for name in tuple(cluster.jobs):
        _end(world, world.jobs[name], Status.FAILED, _ABANDONED)
    autoscaling.close(world, cluster)


def _end(world: World, job: AnyJob, status: Status, reason: str) -> None:
    match job:
        case BatchJob():
            retry.end(world, world.clusters[job.cluster_name], job, status, reason)
        case TrainingJob():
            training.end(world, world.clusters[job.cluster_name], job, status, reason)
        case PoolJob():
            batch_pool.end(world, job, status, reason)


def _lock(world: World, cluster: Cluster, *, locked: bool) -> None:
    """Who waits for capacity no longer does, or does again; what has it comes."""
    cluster.locked = locked
    tell(world, "LOCK" if locked else "UNLOCK", cluster=cluster.spec.name)
    place = world.markets[cluster.market]
    if locked:
        for number in sorted(cluster.nodes):
            if (cluster.spec.name, number) in place.waiting:
                del place.waiting[cluster.spec.name, number]
                cluster.to_seek.append(number)
    autoscaling.follow(world, cluster)


def _submit_batch(world: World, spec: BatchSpec) -> None:
    cluster = world.clusters[spec.cluster]
    terms = (cluster.spec.tier, cluster.spec.cores, cluster.spec.price)
    job = BatchJob(spec.name, world.now, *terms, spec=spec, total=sampling.mini_batches(spec))
    world.jobs[spec.name] = job
    cluster.jobs.append(spec.name)
    tell(world, "SUBMIT", job=spec.name, cluster=spec.cluster, mini_batches=job.total)
    most = cluster.spec.max_instances
    if spec.instance_count > most:
        tell(world, "WARNING", job=spec.name, instances=spec.instance_count, runs_with=most)
    autoscaling.follow(world, cluster)


def _submit_training(world: World, spec: TrainingSpec) -> None:
    own = spec.serverless
    if own is None:
        cluster = world.clusters[spec.cluster]
    else:
        most = spec.instance_count
        bounds = replace(own, min_instances=0, max_instances=most, ephemeral=True)
        cluster = _open_cluster(world, bounds)
    terms = (cluster.spec.tier, cluster.spec.cores, cluster.spec.price)
    world.jobs[spec.name] = TrainingJob(spec.name, world.now, *terms, spec=spec)
    cluster.jobs.append(spec.name)
    tell(world, "SUBMIT", job=spec.name, cluster=cluster.spec.name, steps=spec.steps)
    autoscaling.follow(world, cluster)


def _cancel(world: World, job: AnyJob) -> None:
    _end(world, job, Status.CANCELED, _BY_USER)
    if not isinstance(job, PoolJob):
        autoscaling.follow(world, world.clusters[job.cluster_name])


def _preempt(world: World, cluster: Cluster, numbers: tuple[int, ...] | None) -> None:
    for number in sorted(cluster.nodes if numbers is None else set(numbers)):
        preemption.preempt(world, cluster, cluster.nodes[number])
    autoscaling.follow(world, cluster)
