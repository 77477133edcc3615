"""Carries out commands about clusters and jobs, after `validation.check_command` accepted them."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import (
    admin_commands,
    autoscaling,
    commands,
    groups,
    preemption,
    submission,
)
from mlctl.simulator.engine.group_validation import check_group
from mlctl.simulator.engine.jobs import ClusterJob, JobStatus
from mlctl.simulator.engine.state import Cluster, NodeState, World, log_event
from mlctl.simulator.engine.validation import check_command

_ABANDONED = "the compute cluster was deleted"
_BY_USER = "cancelled by the user"


def carry_out(world: World, command: commands.Command) -> None:
    """Carry out a command without logging it.

    Raises:
        EngineError: the command is not valid now; nothing has changed.
    """
    if isinstance(command, commands.SubmitGroup):
        check_group(world, command.spec)
    else:
        check_command(world, command)
    match command:
        case commands.AddCluster(spec):
            autoscaling.reconcile(world, submission.create_cluster(world, spec))
        case commands.ResizeCluster():
            _resize(world, command)
        case commands.DeleteCluster(name):
            _delete_cluster(world, world.clusters[name])
        case commands.SetLock(name, locked):
            _lock(world, world.clusters[name], locked=locked)
        case commands.SubmitBatch(spec) | commands.SubmitTraining(spec):
            submission.begin(world, submission.add(world, spec))
        case commands.SubmitGroup(spec):
            groups.submit(world, spec)
        case commands.CancelJob(name):
            job = world.jobs[name]
            groups.end_job(world, job, JobStatus.CANCELED, _BY_USER)
            if isinstance(job, ClusterJob) and job.cluster_name in world.clusters:
                autoscaling.reconcile(world, world.clusters[job.cluster_name])
        case commands.Preempt(name, numbers):
            _preempt(world, world.clusters[name], numbers)
        case _:
            admin_commands.carry_out(world, command)
    groups.settle(world)


def _resize(world: World, command: commands.ResizeCluster) -> None:
    cluster = world.clusters[command.name]
    old, least, greatest = cluster.spec, command.min_instances, command.max_instances
    idle = command.idle_s
    new = cluster.spec = replace(
        old,
        min_instances=old.min_instances if least is None else least,
        max_instances=old.max_instances if greatest is None else greatest,
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
        groups.end_job(world, world.jobs[name], JobStatus.FAILED, _ABANDONED)
    autoscaling.delete_cluster(world, cluster)


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


def _preempt(world: World, cluster: Cluster, numbers: tuple[int, ...] | None) -> None:
    for number in sorted(cluster.nodes if numbers is None else set(numbers)):
        preemption.preempt(world, cluster, cluster.nodes[number])
    autoscaling.reconcile(world, cluster)
