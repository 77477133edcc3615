"""Settings of the event engine, preemption, capacity, locks and workloads, as users set them.

Each holds from now on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from mlctl.dataclasses import Field, fields, replace
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import locks, replay
from mlctl.simulator.control_plane.jobs import batch_jobs, records
from mlctl.simulator.control_plane.jobs import workloads as stored_workloads
from mlctl.simulator.control_plane.jobs.records import WorkspaceTransaction
from mlctl.simulator.control_plane.locks import Lock
from mlctl.simulator.control_plane.resources import quota
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.settings import CloudSettings
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import commands, traces, views
from mlctl.simulator.engine.model import Parameter, SimulationSettings, Tier
from mlctl.simulator.engine.nodes import UP_STATES
from mlctl.simulator.engine.processes import (
    CapacityProcess,
    OnOff,
    PreemptionProcess,
    Trace,
    describe,
)
from mlctl.simulator.engine.validation import check_settings
from mlctl.simulator.parameters import assumptions
from mlctl.workload import Workload


def parameters(workspace: WorkspaceHandle) -> list[Parameter]:
    """Return every setting with its value and source: the engine's, then the control plane's."""
    with replay.current(workspace.store) as world:
        engine_parameters = [*assumptions(world.settings), *views.list_assumptions(world)]
    return [*engine_parameters, *_own_parameters(workspace.current.settings)]


def _own_parameters(settings: CloudSettings) -> Iterator[Parameter]:
    """Return the settings of the control plane, which are in a table of their own."""
    return assumptions(settings, Path(__file__).with_suffix(".csv"))


def with_changes(settings: SimulationSettings, changes: Mapping[str, object]) -> SimulationSettings:
    """Return the engine's settings with changes by name; text is converted to the setting's type.

    Raises:
        ServiceError: there is no such setting, or a value is not valid.
    """
    read = _read_changes({slot.name: slot for slot in fields(SimulationSettings)}, changes)
    changed = replace(settings, **read)
    try:
        check_settings(changed)
    except commands.EngineError as error:
        raise bad(f"{error}.") from None
    return changed


def preemption(workspace: WorkspaceHandle) -> list[str]:
    """Describe what takes low-priority nodes now, process by process."""
    with replay.current(workspace.store) as world:
        return [describe(process) for process in world.preemption]


def capacity(workspace: WorkspaceHandle) -> dict[Tier, str]:
    """Describe how many nodes each region has, by tier."""
    with replay.current(workspace.store) as world:
        descriptions = {tier: describe(process) for tier, process in world.capacity.items()}
        return {tier: descriptions.get(tier, "unlimited") for tier in Tier}


def configure(workspace: WorkspaceHandle, changes: Mapping[str, object]) -> None:
    """Change settings by name; text is converted to the setting's type.

    Raises:
        ServiceError: there is no such setting, or a value is not valid.
    """
    own_names = [parameter.name for parameter in _own_parameters(CloudSettings())]
    own_slots = {slot.name: slot for slot in fields(CloudSettings) if slot.name in own_names}
    slots = {slot.name: slot for slot in fields(SimulationSettings)} | own_slots
    read = _read_changes(slots, changes)
    mine = {name: value for name, value in read.items() if name in own_slots}
    engine_changes = {name: value for name, value in changes.items() if name not in own_slots}
    with _engine_transaction(workspace) as transaction:
        if engine_changes:
            changed = with_changes(transaction.world.settings, engine_changes)
            replay.run_command(transaction, commands.Configure(changed))
        rows.save_settings(transaction.db, replace(transaction.state.settings, **mine))


def set_preemption(
    workspace: WorkspaceHandle,
    processes: tuple[PreemptionProcess, ...],
    *,
    start: str | None = None,
) -> None:
    """Set the processes that preempt low-priority nodes; none: no preemption.

    `start` begins traces and outages at a moment that the seed chooses: at `any`, or at one with
    nodes to be had (`available`). Otherwise there are nodes, and a trace begins at its offset.
    """
    with _engine_transaction(workspace) as transaction:
        world = transaction.world
        if start is not None:
            available = start == "available"
            processes = tuple(
                traces.begin(process, world.seed, available=available)
                if isinstance(process, Trace | OnOff)
                else process
                for process in processes
            )
        replay.run_command(transaction, commands.SetPreemption(processes))


def set_capacity(
    workspace: WorkspaceHandle, capacity: CapacityProcess | None, tier: Tier | None
) -> None:
    """Set how many nodes each region has (of a tier, or of each); None: no limit."""
    with _engine_transaction(workspace) as transaction:
        for each_tier in [tier] if tier else list(Tier):
            replay.run_command(transaction, commands.SetCapacity(capacity, each_tier))


def preempt(workspace: WorkspaceHandle, cluster: Address, count: int | None) -> int:
    """Preempt the first `count` nodes of a cluster that are up, or all; return their number.

    Raises:
        ServiceError: there is no such cluster (404), it is dedicated, or has fewer nodes.
    """
    with _engine_transaction(workspace) as transaction:
        resource = transaction.require(cluster)
        batch_jobs.ensure_in_engine(transaction, resource)
        name = transaction.engine_name(resource.address.name)
        nodes = transaction.world.clusters[name].nodes
        up = sorted(number for number, node in nodes.items() if node.state in UP_STATES)
        if count is not None and count > len(up):
            has = f"{len(up)} that could be lost" if up else "none that could be lost"
            raise bad(f"Cluster `{resource.address.name}` has not {count} nodes, but {has}.")
        preempted = tuple(up if count is None else up[:count])
        replay.run_command(transaction, commands.Preempt(name, preempted))
        return len(preempted)


def lock(workspace: WorkspaceHandle, names: Sequence[Address], *, locked: bool) -> list[Address]:
    """Lock or unlock clusters (by default all of the workspace); return those locked now.

    If none is named, unlocking also deletes the locks above the clusters.
    """
    with workspace.store.write() as db:
        state = workspace.state(db)
        every = rows.list_resources(db, state.id, "compute", None)
        chosen = [records.require_resource(db, state, name) for name in names] or list(every)
        for found_cluster in chosen:
            scope = found_cluster.address.id(state.scope)
            if locked:
                locks.put(db, Lock(scope, _LOCAL))
                continue
            for existing in locks.covering(db, scope):
                if not names or existing.scope.casefold() == scope.casefold():
                    locks.drop(db, existing)
        return [
            found_cluster.address
            for found_cluster in chosen
            if bool(locks.covering(db, found_cluster.address.id(state.scope))) is locked
        ]


_LOCAL = "local"  # the name of locks that this module creates


def workloads(workspace: WorkspaceHandle) -> dict[str, Workload]:
    """Return every workload by name."""
    with workspace.store.read() as db:
        return {name: stored_workloads.get(db, name) for name in stored_workloads.names(db)}


def set_workload(workspace: WorkspaceHandle, name: str, figures: Workload) -> Workload:
    """Set figures of a workload; what is not given stays. The whole workload."""
    stored_workloads.check(figures)
    with workspace.store.write() as db:
        stored_workloads.save(db, name, figures.over(stored_workloads.find_stored(db, name)))
        return stored_workloads.get(db, name)


@contextmanager
def _engine_transaction(workspace: WorkspaceHandle) -> Iterator[WorkspaceTransaction]:
    with (
        records.transaction(workspace) as transaction,
        records.translate_refusals(transaction.state.id),
    ):
        yield transaction


def _whole(text: str) -> int:
    """Convert to a whole number of cores, at least 0."""
    if not (text.isascii() and text.isdecimal() and int(text) <= quota.MOST):
        raise ValueError(text)
    return int(text)


_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def _read_changes(slots: Mapping[str, Field[Any]], changes: Mapping[str, object]) -> dict[str, Any]:
    for name in changes:
        if name not in slots:
            raise bad(f"There is no setting `{name}`; there is: {', '.join(slots)}.")
    return {name: _read(slots[name], value) for name, value in changes.items()}


def _read(slot: Field[Any], value: object) -> object:
    """Convert a text to the type of the setting's default."""
    text = str(value).casefold()
    try:
        match slot.default:
            case bool():
                return _BOOLEANS[text]
            case Enum() as usual:
                return type(usual)(text)
            case None if text in ("none", "null"):
                return None
            case int():
                return _whole(text)
            case _:
                return float(text)
    except (ValueError, KeyError):
        raise bad(f"`{value}` is no value for `{slot.name}`, which is {slot.default}.") from None
