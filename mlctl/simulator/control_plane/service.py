"""Reads, writes and deletes of resources, as ARM's GET, PUT and DELETE do them.

A write is checked and normalized by the rules of its resource type, stored, and followed by a
long-running operation, which ends when the clock passes its due time.
"""

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


def read(
    workspace: WorkspaceHandle, addresses: Collection[Address]
) -> dict[Address, StoredResource]:
    """The resources that exist, by requested address.

    Raises:
        ServiceError: a fault was set for the call.
    """
    if not addresses:
        return {}
    matched = _match_faults(workspace, "get", addresses)
    with workspace.store.read() as db:
        state = rows.workspace_state(db, workspace.scope, workspace.location)
        found = rows.find_all(db, state.id, addresses)
        show_nodes(workspace, db, state.id, found.values())
    _lose_answer(matched)
    return found


def list_resources(
    workspace: WorkspaceHandle, kind: str, parent: str | None
) -> list[StoredResource]:
    """All of a kind (of one parent), by name, oldest version first.

    Raises:
        ServiceError: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(
        workspace, kind, parent, lambda db, at: rows.list_resources(db, at, kind, parent)
    )


def list_page(
    workspace: WorkspaceHandle, kind: str, parent: str | None, after: tuple[str, int], limit: int
) -> list[StoredResource]:
    """At most `limit` of a kind (of one parent), by name, after that name and row id.

    Raises:
        ServiceError: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(
        workspace, kind, parent, lambda db, at: rows.list_page(db, at, kind, parent, after, limit)
    )


def _listed(
    workspace: WorkspaceHandle,
    kind: str,
    parent: str | None,
    rows_of: Callable[[Connection, int], Iterable[StoredResource]],
) -> list[StoredResource]:
    above = ALL[kind].parent
    matched = _match_faults(
        workspace, "list", [Address(kind, "*", (parent or "*") if above else None)]
    )
    with workspace.store.read() as db:
        workspace_id = rows.workspace_state(db, workspace.scope, workspace.location).id
        if parent is not None and above:
            holder = Address(above, parent)
            if rows.find(db, workspace_id, holder) is None:
                raise missing(holder)
        found = list(rows_of(db, workspace_id))
        show_nodes(workspace, db, workspace_id, found)
    _lose_answer(matched)
    return found


def put(workspace: WorkspaceHandle, address: Address, body: Mapping[str, Data]) -> int | None:
    """Create or update a resource; the number of the operation, None if nothing had to be done.

    Raises:
        ServiceError: the request is not valid, or a fault was set for the call.
    """
    matched = _match_faults(workspace, "put", [address])
    with workspace.store.write() as db:
        write = _Write(db, _workspace_for_write(db, workspace, matched), matched)
        old = _find_exact(write, address)
        address = old.address if old else address
        locks.check(db, address.id(write.state.scope), locks.LockedAction.WRITE)
        refuse_busy(db, old, write.state.now)
        new = _accepted_body(write, address, body, old)
        number = None
        if old is None or old.state != "Succeeded" or new != old.body or _failure(matched):
            number = _store(write, address, new, old)
    _lose_answer(matched)
    return number


def delete(workspace: WorkspaceHandle, address: Address) -> int | None:
    """Delete a resource and its children; the number of the operation, None if it is done.

    Deleting a resource that is being deleted returns the running operation.

    Raises:
        ServiceError: it does not exist (404), is in use (409), or a fault was set for the call.
    """
    matched = _match_faults(workspace, "delete", [address])
    with workspace.store.write() as db:
        state = rows.workspace_state(db, workspace.scope, workspace.location)
        write = _Write(db, state, matched)
        old = _find_exact(write, address)
        if old is None:
            raise missing(address)
        number = old.operation if old.state == "Deleting" else _begin_delete(write, old)
    _lose_answer(matched)
    return number


def due(workspace: WorkspaceHandle, number: int) -> float | None:
    """The time at which an operation ends; None if there is no such operation."""
    with workspace.store.read() as db:
        running = operations.find(db, number)
    return running.due if running else None


def finish(workspace: WorkspaceHandle, number: int) -> LongRunningOperation | None:
    """Advance the clock to the end of an operation; None if there is no such operation."""
    with workspace.store.read() as db:
        running = operations.find(db, number)
    if running is None or running.status != operations.RUNNING:
        return running
    with workspace.store.write() as db:
        operations.advance(db, running.due)  # the clock never goes back
        return operations.find(db, number)


def show_nodes(
    workspace: WorkspaceHandle, db: Connection, workspace_id: int, found: Collection[StoredResource]
) -> None:
    """Add the node counts and the allocation state to the bodies of clusters."""
    if any(kind_of(each.address).has_nodes for each in found) and command_log.is_active(db):
        # Imports the event engine, which takes longer than most calls: few clusters have nodes.
        from mlctl.simulator.control_plane import nodes  # noqa: PLC0415

        nodes.add_node_counts(workspace.store, workspace_id, found)


def ensure_workspace(db: Connection, workspace: WorkspaceHandle) -> WorkspaceState:
    """The state of the workspace, which is created if it does not exist.

    Raises:
        ServiceError: the scope has an invalid name.
    """
    state = rows.workspace_state(db, workspace.scope, workspace.location)
    if state.id != rows.NO_WORKSPACE:
        return state
    _check_scope(workspace.scope)
    made = rows.add_workspace(db, workspace.scope, workspace.location)
    return replace(state, id=made)


def _match_faults(
    workspace: WorkspaceHandle, verb: str, addresses: Collection[Address]
) -> tuple[CallFault, ...]:
    """Count the call for the faults that are set, and raise or delay as they say.

    The faults returned are for the caller: those of operations, and of lost answers.
    """
    with workspace.store.read() as db:
        if not faults.any_active(db):
            return ()
    with workspace.store.write() as db:
        matched = faults.match_call(db, verb, [str(each) for each in addresses])
        if verb in ("get", "list") and _delay(matched):
            now = rows.workspace_state(db, workspace.scope, workspace.location).now
            operations.advance(db, now + _delay(matched))
    for each in matched:
        if each.kind in (FaultKind.FAIL, FaultKind.THROTTLE):
            raise each.error()
    return matched


def _delay(matched: tuple[CallFault, ...]) -> float:
    return sum(each.seconds for each in matched if each.kind is FaultKind.DELAY)


def _failure(matched: tuple[CallFault, ...]) -> OperationFailure | None:
    """How the operation will fail; None unless a fault was set for it."""
    for each in matched:
        if each.kind is FaultKind.FAIL_OPERATION:
            return each.failure()
    return None


def _lose_answer(matched: tuple[CallFault, ...]) -> None:
    """Raise if a fault loses the answer of the call, which has been carried out."""
    for each in matched:
        if each.kind is FaultKind.DROP:
            raise each.error()


@dataclass(frozen=True, slots=True)
class _Write:
    """One write: its transaction, the workspace, and the faults that match the call."""

    db: Connection
    state: WorkspaceState
    matched: tuple[CallFault, ...]


def _workspace_for_write(
    db: Connection, workspace: WorkspaceHandle, matched: tuple[CallFault, ...]
) -> WorkspaceState:
    """The state of the workspace (created if needed), with settings as the matching faults say."""
    state = ensure_workspace(db, workspace)
    if any(each.kind is FaultKind.IGNORE for each in matched):
        return replace(state, settings=replace(state.settings, immutable=ImmutablePolicy.IGNORE))
    return state


_PART = re.compile(r"\w[\w.()-]{0,89}")  # ARM's names of resource groups, the widest of the three


def _check_scope(scope: Scope) -> None:
    for part in (scope.subscription, scope.resource_group, scope.workspace):
        if not _PART.fullmatch(part):
            text = f"`{part}` is no name of a subscription, resource group or workspace."
            raise bad(text, "InvalidResourceName")


def _find_exact(write: _Write, address: Address) -> StoredResource | None:
    """The resource with exactly this address: a write never means the newest version."""
    if address.is_newest:
        return None
    return rows.find(write.db, write.state.id, address)


def _accepted_body(
    write: _Write, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """The body to store, checked and normalized by the rules of the resource type."""
    state = write.state

    def find(wanted: Address, scope: Scope | None) -> StoredResource | None:
        there = rows.workspace_state(write.db, scope, "").id if scope else state.id
        return rows.find(write.db, there, wanted)

    context = RequestContext(
        *(state.scope, state.location, state.now, state.seed),
        *(state.settings, find),
    )
    return behaviour_of(kind_of(address)).accept(context, address, body, old)


def _store(
    write: _Write, address: Address, new: Mapping[str, Data], old: StoredResource | None
) -> int | None:
    db, state = write.db, write.state
    if old is None:
        refuse_taken(db, state, address, str(new.get("location", state.location)))
    kind = kind_of(address)
    value = effective_in_body(kind, new, state.scope)
    wanted = claims(kind, value, str(new.get("location", state.location)))
    held = quota_usage.claims_of(db, old.id) if old else {}
    excess = excess_of(db, state, wanted, held)
    if excess:
        raise excess.error(new)
    batch_pools.refuse_crowded(db, state, address, new, old)
    if old is not None and _failure(write.matched):
        return _begin(write, [old.id], address, OperationKind.UPDATE)  # the body is not changed
    if old is None:
        resource = rows.add_resource(db, state.id, address, new)
    else:
        resource = old.id
        rows.update_resource(db, resource, new, "Succeeded")
        rows.drop_references(db, resource)
        quota_usage.drop_claims(db, resource)
    quota_usage.add_claims(db, resource, state.scope.subscription, wanted)
    rows.add_references(db, resource, references.references_of(state.scope, kind, new))
    if not kind.takes_time:
        return None
    verb = OperationKind.UPDATE if old else OperationKind.CREATE
    _log_command(write, address, new, old, _due(write, address, verb))
    return _begin(write, [resource], address, verb)


def _log_command(
    write: _Write, address: Address, new: Mapping[str, Data], old: StoredResource | None, due: float
) -> None:
    """Append the command that makes the engine follow the write, if it is about nodes."""
    there = write.state.id
    wanted = command_log.create_command(there, address, new)
    had = command_log.create_command(there, address, old.body) if old else None
    if wanted is None or _failure(write.matched):
        return
    if wanted != had or (old is not None and old.state != "Succeeded"):
        at = write.state.now if command_log.is_shrinking(wanted, had) else due
        if old is None and locks.covering(write.db, address.id(write.state.scope)):
            for each in command_log.create_locked_commands(wanted):
                command_log.append(write.db, at, each)
        command_log.append(write.db, at, wanted, quiet=command_log.needs_no_node(wanted))


def _begin_delete(write: _Write, old: StoredResource) -> int | None:
    db, state = write.db, write.state
    deleted = [old]
    for child in children(old.address.kind):
        beneath = rows.list_resources(db, state.id, child.name, old.address.name)
        deleted += [each for each in beneath if each.state != "Deleting"]
    locks.check(db, old.address.id(state.scope), locks.LockedAction.DELETE)
    for each in deleted:
        refuse_busy(db, each, state.now)
    refuse_used(db, state, old)
    if not kind_of(old.address).takes_time:
        db.execute("DELETE FROM resources WHERE id = ?", (old.id,))
        return None
    gone = command_log.delete_command(state.id, old.address)
    if gone is not None and not _failure(write.matched):
        command_log.append(db, state.now, gone, quiet=True)
    return _begin(write, [each.id for each in deleted], old.address, OperationKind.DELETE)


def _begin(write: _Write, resources: list[int], address: Address, verb: OperationKind) -> int:
    due = _due(write, address, verb)
    begun = NewOperation(address, verb, write.state.now, due, _failure(write.matched))
    return operations.begin(write.db, resources, begun)


def _due(write: _Write, address: Address, verb: OperationKind) -> float:
    """When an operation will have ended."""
    usual = write.state.settings.delays.of(kind_of(address).delay, verb.name.lower())
    return write.state.now + usual + _delay(write.matched)
