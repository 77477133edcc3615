"""The ARM verbs on a store: judge, respell, write; the clock ends what was begun."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from sqlite3 import Connection

from mlctl.kinds import children
from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.registry import ALL
from mlctl.kinds.values import claims, effective_in_body
from mlctl.pointer import Data
from mlctl.simulator.control_plane import command_log, faults, locks
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.resources import (
    batch_pools,
    operations,
    references,
)
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of
from mlctl.simulator.control_plane.resources.checks import (
    excess_of,
    refuse_busy,
    refuse_taken,
    refuse_used,
)
from mlctl.simulator.control_plane.resources.operations import (
    LongRunningOperation,
    NewOperation,
    OperationFailure,
    OperationKind,
)
from mlctl.simulator.control_plane.state import quota_usage, rows
from mlctl.simulator.control_plane.state.context import RequestContext, StoredResource
from mlctl.simulator.control_plane.state.errors import bad, missing
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.settings import ImmutablePolicy
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


def read(place: WorkspaceHandle, addresses: Collection[Address]) -> dict[Address, StoredResource]:
    """The resources that exist, by the address as asked.

    Raises:
        ServiceError: a fault was set for the call.
    """
    if not addresses:
        return {}
    struck = _struck(place, "get", addresses)
    with place.store.look() as db:
        world = rows.workspace_state(db, place.scope, place.location)
        found = rows.find_all(db, world.workspace, addresses)
        show_nodes(place, db, world.workspace, found.values())
    _lose(struck)
    return found


def list_resources(place: WorkspaceHandle, kind: str, parent: str | None) -> list[StoredResource]:
    """All of a kind (of one parent), by name, oldest version first.

    Raises:
        ServiceError: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(place, kind, parent, lambda db, at: rows.list_resources(db, at, kind, parent))


def list_page(
    place: WorkspaceHandle, kind: str, parent: str | None, after: tuple[str, int], limit: int
) -> list[StoredResource]:
    """At most `limit` of a kind (of one parent), by name, after that name and row id.

    Raises:
        ServiceError: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(
        place, kind, parent, lambda db, at: rows.list_page(db, at, kind, parent, after, limit)
    )


def _listed(
    place: WorkspaceHandle,
    kind: str,
    parent: str | None,
    rows_of: Callable[[Connection, int], Iterable[StoredResource]],
) -> list[StoredResource]:
    above = ALL[kind].parent
    struck = _struck(place, "list", [Address(kind, "*", (parent or "*") if above else None)])
    with place.store.look() as db:
        workspace = rows.workspace_state(db, place.scope, place.location).workspace
        if parent is not None and above:
            holder = Address(above, parent)
            if rows.find(db, workspace, holder) is None:
                raise missing(holder)
        found = list(rows_of(db, workspace))
        show_nodes(place, db, workspace, found)
    _lose(struck)
    return found


def put(place: WorkspaceHandle, address: Address, body: Mapping[str, Data]) -> int | None:
    """Create or overwrite; the number of the operation that began, None when all is done.

    Raises:
        ServiceError: the service would not take it, or a fault was set for the call.
    """
    struck = _struck(place, "put", [address])
    with place.store.change() as db:
        turn = _Turn(db, _made(db, place, struck), struck)
        old = _exact(turn, address)
        address = old.address if old else address
        locks.check(db, address.id(turn.world.scope), locks.LockedAction.WRITE)
        refuse_busy(db, old, turn.world.now)
        new = _judged(turn, address, body, old)
        number = None
        if old is None or old.state != "Succeeded" or new != old.body or _failure(struck):
            number = _write(turn, address, new, old)
    _lose(struck)
    return number


def delete(place: WorkspaceHandle, address: Address) -> int | None:
    """Delete, with all that is beneath; the number of the operation, None when all is done.

    Deleting what is being deleted joins the running operation.

    Raises:
        ServiceError: there is nothing (404), others use it (409), or a fault was set for the call.
    """
    struck = _struck(place, "delete", [address])
    with place.store.change() as db:
        world = rows.workspace_state(db, place.scope, place.location)
        turn = _Turn(db, world, struck)
        old = _exact(turn, address)
        if old is None:
            raise missing(address)
        number = old.operation if old.state == "Deleting" else _begin_delete(turn, old)
    _lose(struck)
    return number


def due(place: WorkspaceHandle, number: int) -> float | None:
    """When an operation ends or has ended; None when there is no such operation."""
    with place.store.look() as db:
        running = operations.find(db, number)
    return running.due if running else None


def finish(place: WorkspaceHandle, number: int) -> LongRunningOperation | None:
    """Let time pass until the operation has ended; None when there is no such operation."""
    with place.store.look() as db:
        running = operations.find(db, number)
    if running is None or running.status != operations.RUNNING:
        return running
    with place.store.change() as db:
        operations.advance(db, running.due)  # the clock never goes back
        return operations.find(db, number)


def show_nodes(
    place: WorkspaceHandle, db: Connection, workspace: int, found: Collection[StoredResource]
) -> None:
    """Add the node counts and the allocation state to the bodies of clusters."""
    if any(kind_of(each.address).has_nodes for each in found) and command_log.is_active(db):
        # Imports the event engine, which takes longer than most calls: few clusters have nodes.
        from mlctl.simulator.control_plane import nodes  # noqa: PLC0415

        nodes.add_node_counts(place.store, workspace, found)


def ensure_workspace(db: Connection, place: WorkspaceHandle) -> WorkspaceState:
    """The world, with the workspace made on its first use.

    Raises:
        ServiceError: the scope is none.
    """
    world = rows.workspace_state(db, place.scope, place.location)
    if world.workspace != rows.NO_WORKSPACE:
        return world
    _check_scope(place.scope)
    made = rows.add_workspace(db, place.scope, place.location)
    return replace(world, workspace=made)


def _struck(
    place: WorkspaceHandle, verb: str, addresses: Collection[Address]
) -> tuple[CallFault, ...]:
    """Count the call, carry out what keeps it from being done, and leave the rest to the verb."""
    with place.store.look() as db:
        if not faults.any_active(db):
            return ()
    with place.store.change() as db:
        struck = faults.match_call(db, verb, [str(each) for each in addresses])
        if verb in ("get", "list") and _delay(struck):
            now = rows.workspace_state(db, place.scope, place.location).now
            operations.advance(db, now + _delay(struck))
    for each in struck:
        if each.trouble in (FaultKind.FAIL, FaultKind.THROTTLE):
            raise each.error()
    return struck


def _delay(struck: tuple[CallFault, ...]) -> float:
    return sum(each.seconds for each in struck if each.trouble is FaultKind.DELAY)


def _failure(struck: tuple[CallFault, ...]) -> OperationFailure | None:
    """How the operation will end, where a fault was set for that."""
    for each in struck:
        if each.trouble is FaultKind.FAIL_OPERATION:
            return each.failure()
    return None


def _lose(struck: tuple[CallFault, ...]) -> None:
    for each in struck:
        if each.trouble is FaultKind.DROP:
            raise each.error()


@dataclass(frozen=True, slots=True)
class _Turn:
    """One write: its transaction, the world as it found it, and the faults that strike it."""

    db: Connection
    world: WorkspaceState
    struck: tuple[CallFault, ...]


def _made(db: Connection, place: WorkspaceHandle, struck: tuple[CallFault, ...]) -> WorkspaceState:
    """The world, with the workspace made on its first use, and what faults make of its settings."""
    world = ensure_workspace(db, place)
    if any(each.trouble is FaultKind.IGNORE for each in struck):
        return replace(world, settings=replace(world.settings, immutable=ImmutablePolicy.IGNORE))
    return world


_PART = re.compile(r"\w[\w.()-]{0,89}")  # of what a resource group may be called, ARM's widest


def _check_scope(scope: Scope) -> None:
    for part in (scope.subscription, scope.resource_group, scope.workspace):
        if not _PART.fullmatch(part):
            text = f"`{part}` is no name of a subscription, resource group or workspace."
            raise bad(text, "InvalidResourceName")


def _exact(turn: _Turn, address: Address) -> StoredResource | None:
    """The resource with this very name: writing never means `the newest`."""
    if address.is_newest:
        return None
    return rows.find(turn.db, turn.world.workspace, address)


def _judged(
    turn: _Turn, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """The body as the service would store it."""
    world = turn.world

    def find(wanted: Address, scope: Scope | None) -> StoredResource | None:
        there = rows.workspace_state(turn.db, scope, "").workspace if scope else world.workspace
        return rows.find(turn.db, there, wanted)

    ask = RequestContext(
        *(world.scope, world.location, world.now, world.seed),
        *(world.settings, find),
    )
    return behaviour_of(kind_of(address)).accept(ask, address, body, old)


def _write(
    turn: _Turn, address: Address, new: Mapping[str, Data], old: StoredResource | None
) -> int | None:
    db, world = turn.db, turn.world
    if old is None:
        refuse_taken(db, world, address, str(new.get("location", world.location)))
    kind = kind_of(address)
    value = effective_in_body(kind, new, world.scope)
    wanted = claims(kind, value, str(new.get("location", world.location)))
    held = quota_usage.claims_of(db, old.id) if old else {}
    excess = excess_of(db, world, wanted, held)
    if excess:
        raise excess.error(new)
    batch_pools.refuse_crowded(db, world, address, new, old)
    if old is not None and _failure(turn.struck):
        return _begin(
            turn, [old.id], address, OperationKind.UPDATE
        )  # and nothing will have changed
    if old is None:
        resource = rows.add_resource(db, world.workspace, address, new)
    else:
        resource = old.id
        rows.update_resource(db, resource, new, "Succeeded")
        rows.drop_references(db, resource)
        quota_usage.drop_claims(db, resource)
    quota_usage.add_claims(db, resource, world.scope.subscription, wanted)
    rows.add_references(db, resource, references.references_of(world.scope, kind, new))
    if not kind.takes_time:
        return None
    verb = OperationKind.UPDATE if old else OperationKind.CREATE
    _order(turn, address, new, old, _due(turn, address, verb))
    return _begin(turn, [resource], address, verb)


def _order(
    turn: _Turn, address: Address, new: Mapping[str, Data], old: StoredResource | None, due: float
) -> None:
    """Let nodes follow a write, unless its operation will fail or it is not about nodes."""
    there = turn.world.workspace
    wanted = command_log.create_command(there, address, new)
    had = command_log.create_command(there, address, old.body) if old else None
    if wanted is None or _failure(turn.struck):
        return
    if wanted != had or (old is not None and old.state != "Succeeded"):
        at = turn.world.now if command_log.is_shrinking(wanted, had) else due
        if old is None and locks.covering(turn.db, address.id(turn.world.scope)):
            for each in command_log.create_locked_commands(wanted):
                command_log.append(turn.db, at, each)
        command_log.append(turn.db, at, wanted, quiet=command_log.needs_no_node(wanted))


def _begin_delete(turn: _Turn, old: StoredResource) -> int | None:
    db, world = turn.db, turn.world
    doomed = [old]
    for child in children(old.address.kind):
        beneath = rows.list_resources(db, world.workspace, child.name, old.address.name)
        doomed += [each for each in beneath if each.state != "Deleting"]
    locks.check(db, old.address.id(world.scope), locks.LockedAction.DELETE)
    for each in doomed:
        refuse_busy(db, each, world.now)
    refuse_used(db, world, old)
    if not kind_of(old.address).takes_time:
        db.execute("DELETE FROM resources WHERE id = ?", (old.id,))
        return None
    gone = command_log.delete_command(world.workspace, old.address)
    if gone is not None and not _failure(turn.struck):
        command_log.append(db, world.now, gone, quiet=True)
    return _begin(turn, [each.id for each in doomed], old.address, OperationKind.DELETE)


def _begin(turn: _Turn, resources: list[int], address: Address, verb: OperationKind) -> int:
    due = _due(turn, address, verb)
    begun = NewOperation(address, verb, turn.world.now, due, _failure(turn.struck))
    return operations.begin(turn.db, resources, begun)


def _due(turn: _Turn, address: Address, verb: OperationKind) -> float:
    """When an operation will have ended."""
    usual = turn.world.settings.delays.of(kind_of(address).delay, verb.name.lower())
    return turn.world.now + usual + _delay(turn.struck)
