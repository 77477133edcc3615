"""Checks of jobs that are made of others, before anything changes."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from mlctl.simulator.engine import ended_jobs, validation
from mlctl.simulator.engine.commands import EngineError, SubmitBatch, SubmitTraining
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, GroupSpec, MemberSpec, TrainingSpec
from mlctl.simulator.engine.state import World


def check_group(world: World, spec: GroupSpec) -> None:
    """Check a group and all its members, at every depth.

    Raises:
        EngineError: a name is taken, a member is not valid, or waits for what there is not.
    """
    names = list(_names(spec))
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise EngineError(f"there are two jobs `{twice}`")
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
                raise EngineError(f"job `{name}` waits for `{needed_name}`, which is not there")
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
        raise EngineError(f"job `{spec.name}` does not run on the cluster of its own")


def _names(spec: GroupSpec) -> Iterator[str]:
    yield spec.name
    for member in spec.members:
        if isinstance(member.spec, GroupSpec):
            yield from _names(member.spec)
        else:
            yield member.spec.name
