"""What a write changes: the resource, its operation, and the commands to the event engine."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

from mlctl.dataclasses import dataclass, replace
from mlctl.kinds import AT_ENDPOINTS, children
from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.facts import Claims
from mlctl.pointer import Data
from mlctl.simulator.control_plane import command_log, faults, locks
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.resources import batch_pools, checks, operations, references
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of
from mlctl.simulator.control_plane.resources.operations import (
    NewOperation,
    OperationFailure,
    OperationKind,
)
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import PutRequest, StoredResource
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.settings import ImmutablePolicy
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle, ensure_workspace

API_VERSION = "2024-04-01"  # of requests that name none, as those of the local backend


@dataclass(frozen=True, slots=True)
class WriteContext:
    """One write: its transaction, the workspace, the faults that match the call; api-version."""

    db: Connection
    state: WorkspaceState
    matched: tuple[CallFault, ...]
    api_version: str = API_VERSION


def workspace_for_write(
    db: Connection, workspace: WorkspaceHandle, matched: tuple[CallFault, ...]
) -> WorkspaceState:
    """Return the workspace's state (created if needed), with settings from matching faults."""
    state = ensure_workspace(db, workspace)
    if any(fault.kind is FaultKind.IGNORE for fault in matched):
        return replace(state, settings=replace(state.settings, immutable=ImmutablePolicy.IGNORE))
    return state


def find_exact(write: WriteContext, address: Address) -> StoredResource | None:
    """Return the resource with exactly this address: a write never means the newest version."""
    if address.is_newest:
        return None
    return rows.find(write.db, write.state.id, address)


def accepted_body(
    write: WriteContext, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """Return the body to store, checked and normalized by the rules of the resource type."""
    state = write.state

    def find(target: Address, scope: Scope | None) -> StoredResource | None:
        workspace_id = rows.workspace_state(write.db, scope, "").id if scope else state.id
        return rows.find(write.db, workspace_id, target)

    request = PutRequest(
        address=address,
        body=body,
        old=old,
        scope=state.scope,
        location=state.location,
        now=state.now,
        seed=state.seed,
        settings=state.settings,
        find=find,
        api_version=write.api_version,
    )
    return behaviour_of(kind_of(address)).accept(request)


def store(
    write: WriteContext,
    address: Address,
    new: Mapping[str, Data],
    old: StoredResource | None,
    *,
    locked: bool,
) -> int | None:
    """Store an accepted body and begin an operation; return its number, None for none.

    A `locked` cluster cannot be scaled. One that exceeds a quota is accepted, and its operation
    fails: it is left behind `Failed`.

    Raises:
        ServiceError: the name is taken, or a quota or limit is exceeded.
    """
    db, state = write.db, write.state
    if old is None:
        checks.refuse_taken(db, state, address, str(new.get("location", state.location)))
    kind = kind_of(address)
    claims = checks.claims_of(state, address, new)
    had_claims = old is not None and rows.has_claims(db, old.id)
    old_claims = checks.claims_of(state, address, old.body) if old and had_claims else {}
    excess = checks.excess_of(db, state, claims, old_claims)
    failure = faults.operation_failure(write.matched)
    if excess:
        refusal = excess.error()
        if behaviour_of(kind).failed is None:
            raise refusal
        failure = OperationFailure(refusal.code, refusal.message)
    batch_pools.refuse_too_many_vms(db, state, address, new, old)
    verb = OperationKind.UPDATE if old else OperationKind.CREATE
    begun = NewOperation(address, verb, state.now, _due(write, address, verb), failure)
    if old is not None and failure:  # the body is not changed
        return operations.begin(db, [old.id], begun)
    if old is None:
        resource = rows.add_resource(db, state.id, address, new)
    else:
        resource = old.id
        rows.update_resource(db, resource, new, "Succeeded")
        rows.drop_references_and_claims(db, resource)
    if not excess:
        rows.add_claims(db, resource, state.scope.subscription, claims)
    rows.add_references(db, resource, references.references_of(state.scope, kind, new))
    if not kind.takes_time:
        return None
    if not failure:
        _log_command(write, begun, new, claims, old, locked=locked)
    return operations.begin(db, [resource], begun)


def _log_command(
    write: WriteContext,
    begun: NewOperation,
    new: Mapping[str, Data],
    claims: Claims,
    old: StoredResource | None,
    *,
    locked: bool,
) -> None:
    """Append the command that makes the engine follow the write, if it is about nodes."""
    db, state, address = write.db, write.state, begun.address
    command = command_log.create_command(db, state, address, new, claims)
    old_command = command_log.create_command(db, state, address, old.body) if old else None
    if command is None:
        return
    if command != old_command or (old is not None and old.state != "Succeeded"):
        at = state.now if command_log.is_shrinking(command, old_command) else begun.due
        if old is None and locked:
            for locked_command in command_log.create_locked_commands(command):
                command_log.append(write.db, at, locked_command)
        command_log.append(write.db, at, command, quiet=command_log.needs_no_node(command))


def begin_delete(write: WriteContext, old: StoredResource) -> int | None:
    """Delete a resource and its children; the number of the operation, None if it is done."""
    db, state = write.db, write.state
    deleted = [old]
    for child in children(old.address.kind):
        beneath = rows.list_resources(db, state.id, child.name, old.address.name)
        deleted += [resource for resource in beneath if resource.state != "Deleting"]
    locks.check(db, old.address.id(state.scope), locks.LockedAction.DELETE)
    if old.address.kind in AT_ENDPOINTS:
        checks.refuse_busy_endpoint(db, state, old.address)
    for resource in deleted:
        checks.refuse_busy(db, resource, state.now)
    checks.refuse_used(db, state, old)
    if not kind_of(old.address).takes_time:
        db.execute("DELETE FROM resources WHERE id = ?", (old.id,))
        return None
    command = command_log.delete_command(state.id, old.address)
    if command is not None and not faults.operation_failure(write.matched):
        command_log.append(db, state.now, command, quiet=True)
    verb, failure = OperationKind.DELETE, faults.operation_failure(write.matched)
    begun = NewOperation(old.address, verb, state.now, _due(write, old.address, verb), failure)
    return operations.begin(db, [resource.id for resource in deleted], begun)


def _due(write: WriteContext, address: Address, verb: OperationKind) -> float:
    """Return when an operation will have ended."""
    usual = write.state.settings.delays.of(kind_of(address).arm.delay, verb.name.lower())
    return write.state.now + usual + faults.total_delay(write.matched)
