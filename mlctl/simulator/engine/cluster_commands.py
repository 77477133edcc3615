"""Carry out commands about clusters and jobs, once `validation.check_command` accepts them."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from mlctl.dataclasses import replace
from mlctl.simulator.engine import (
    admin_commands,
    autoscaling,
    commands,
    ended_jobs,
    groups,
    preemption,
    validation,
)
from mlctl.simulator.engine.commands import EngineError, SubmitBatch, SubmitTraining
from mlctl.simulator.engine.jobs import ClusterJob, JobStatus
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, GroupSpec, MemberSpec, TrainingSpec
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
            autoscaling.reconcile(world, groups.create_cluster(world, spec))
        case commands.ResizeCluster():
            _resize(world, command)
        case commands.DeleteCluster(name):
            _delete_cluster(world, world.clusters[name])
        case commands.SetLock(name, locked):
            _lock(world, world.clusters[name], locked=locked)
        case commands.SubmitBatch(spec) | commands.SubmitTraining(spec):
            groups.begin(world, groups.add(world, spec))
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


def check_group(world: World, spec: GroupSpec) -> None:
    """Check a group and all its members, at every depth.

    Raises:
        EngineError: a name is taken, or a member is invalid or waits for an unknown one.
    """
    names = list(_names(spec))
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise EngineError(f"two jobs have the name `{twice}`")
    for name in names:
        ended_jobs.check_new_name(world, name)
    _check_members(world, spec)


def _check_members(world: World, spec: GroupSpec) -> None:
    if not spec.members:
        raise EngineError(f"job `{spec.name}` has nothing to run")
    if spec.at_once is not None and spec.at_once < 1:
        raise EngineError(f"job `{spec.name}` must run at least 1 at a time, not {spec.at_once}")
    needs = {member_spec.spec.name: member_spec.after for member_spec in spec.members}
    for name, needed in needs.items():
        for needed_name in needed:
            if needed_name not in needs:
                raise EngineError(f"job `{name}` waits for `{needed_name}`, which does not exist")
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = " -> ".join(f"`{name}`" for name in reversed(error.args[1]))
        raise EngineError(f"the jobs wait for each other: {circle}") from None
    for member in spec.members:
        _check_member(world, member)


def _check_member(world: World, member: MemberSpec) -> None:
    match member.spec:
        case GroupSpec() as inner:
            _check_members(world, inner)
        case TrainingSpec() as spec:
            validation.check_command(world, SubmitTraining(spec))
        case BatchSpec() as spec:
            _check_batch(world, spec, member.own)


def _check_batch(world: World, spec: BatchSpec, own_cluster: ClusterSpec | None) -> None:
    if own_cluster is None:
        validation.check_command(world, SubmitBatch(spec))
        return
    validation.check_batch_figures(spec)
    if spec.cluster != own_cluster.name or own_cluster.name in world.clusters:
        raise EngineError(f"job `{spec.name}` does not run on its own cluster")


def _names(spec: GroupSpec) -> Iterator[str]:
    yield spec.name
    for member in spec.members:
        if isinstance(member.spec, GroupSpec):
            yield from _names(member.spec)
        else:
            yield member.spec.name
