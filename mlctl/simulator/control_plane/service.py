"""Read, write and delete resources, as ARM's GET, PUT and DELETE do.

A write is checked and normalized by the rules of its resource type, stored, and followed by a
long-running operation, which ends when the clock passes its due time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from sqlite3 import Connection
from typing import NamedTuple

from mlctl.kinds import AT_ENDPOINTS
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.registry import ALL, RECORDS
from mlctl.pointer import Data
from mlctl.simulator.control_plane import activity, command_log, faults, leases, locks, writes
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.resources import arm_body, operations
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of
from mlctl.simulator.control_plane.resources.checks import (
    refuse_busy,
    refuse_busy_endpoint,
)
from mlctl.simulator.control_plane.resources.operations import LongRunningOperation
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import missing
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


def read(
    workspace: WorkspaceHandle, addresses: Collection[Address]
) -> dict[Address, StoredResource]:
    """Return the resources that exist, by requested address."""
    if not addresses:
        return {}
    matched = _match_faults(workspace, "get", addresses)
    with workspace.store.read() as db:
        state = workspace.state(db)
        resources = rows.find_all(db, state.id, addresses)
        if with_own := [address for address in addresses if RECORDS[address.kind].arm.own_names]:
            by_address = _own(state)
            resources |= {
                address: by_address[address] for address in with_own if address in by_address
            }
        show_nodes(workspace, db, state.id, resources.values())
    faults.lose_answer(matched)
    return resources


def require(workspace: WorkspaceHandle, address: Address) -> StoredResource:
    """Return a resource.

    Raises:
        ServiceError: there is none (404).
    """
    resource = read(workspace, [address]).get(address)
    if resource is None:
        raise missing(address)
    return resource


def list_resources(
    workspace: WorkspaceHandle, kind: str, parent: str | None
) -> list[StoredResource]:
    """List all of a kind (of one parent), by name, oldest version first."""
    stored = _list(
        workspace, kind, parent, lambda db, at: rows.list_resources(db, at, kind, parent)
    )
    if RECORDS[kind].arm.own_names:
        stored += _own(workspace.current).values()
    return stored


def list_page(
    workspace: WorkspaceHandle, kind: str, parent: str | None, position: tuple[str, int], limit: int
) -> list[StoredResource]:
    """List at most `limit` of a kind (of one parent), by name, after that name and row id."""
    return _list(
        workspace,
        kind,
        parent,
        lambda db, at: rows.list_page(db, at, kind, parent, position, limit),
    )


def _list(
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
        workspace_id = workspace.state(db).id
        if parent is not None and above:
            holder = Address(above, parent)
            if rows.find(db, workspace_id, holder) is None:
                raise missing(holder)
        resources = list(rows_of(db, workspace_id))
        show_nodes(workspace, db, workspace_id, resources)
    faults.lose_answer(matched)
    return resources


class AcceptedPut(NamedTuple):
    """A PUT that was accepted: the number of its operation (None: all is done)."""

    operation: int | None
    created: bool


def put(
    workspace: WorkspaceHandle,
    address: Address,
    body: Mapping[str, Data],
    api_version: str = writes.API_VERSION,
) -> AcceptedPut:
    """Create or update a resource."""
    matched = _match_faults(workspace, "put", [address])
    with workspace.store.write() as db:
        leases.check(db, workspace)
        state = writes.workspace_for_write(db, workspace, matched)
        write = writes.WriteContext(db, state, matched, api_version)
        old = writes.find_exact(write, address)
        address = old.address if old else address
        covering = locks.check(db, address.id(write.state.scope), locks.LockedAction.WRITE)
        if address.kind in AT_ENDPOINTS:
            refuse_busy_endpoint(db, state, address)
        refuse_busy(db, old, write.state.now)
        new = writes.accepted_body(write, address, body, old)
        number = None
        if (
            old is None
            or old.state != "Succeeded"
            or new != old.body
            or behaviour_of(kind_of(address)).always_operates
            or faults.operation_failure(matched)
        ):
            number = writes.store(write, address, new, old, locked=bool(covering))
            activity.record(db, workspace, state, address, activity.WRITE)
    faults.lose_answer(matched)
    return AcceptedPut(number, created=old is None)


def delete(workspace: WorkspaceHandle, address: Address) -> int | None:
    """Delete a resource and its children; the number of the operation, None if it is done.

    Deleting a resource that is being deleted returns the running operation.

    Raises:
        ServiceError: it does not exist (404), is in use (409), or a fault was set for the call.
    """
    matched = _match_faults(workspace, "delete", [address])
    with workspace.store.write() as db:
        leases.check(db, workspace)
        state = workspace.state(db)
        write = writes.WriteContext(db, state, matched)
        old = writes.find_exact(write, address)
        if old is None:
            arm_body.refuse_own(address)
            raise missing(address)
        number = old.operation
        if old.state != "Deleting":
            number = writes.begin_delete(write, old)
            activity.record(db, workspace, state, old.address, activity.DELETE)
    faults.lose_answer(matched)
    return number


def due(workspace: WorkspaceHandle, number: int) -> float | None:
    """Return the time at which an operation ends; None if there is no such operation."""
    with workspace.store.read() as db:
        return operations.due(db, number)


def finish(workspace: WorkspaceHandle, number: int) -> LongRunningOperation | None:
    """Advance the clock to the end of an operation; None if there is no such operation."""
    with workspace.store.read() as db:
        running = operations.find(db, number)
    if running is None or running.status != operations.RUNNING:
        return running
    start_due(workspace, running.due)
    with workspace.store.write() as db:
        operations.advance(db, running.due)  # the clock never goes back
        return operations.find(db, number)


def advance(workspace: WorkspaceHandle, to: float) -> None:
    """Advance the clock to a time, unless it is later already."""
    start_due(workspace, to)
    with workspace.store.write() as db:
        operations.advance(db, to)


def start_due(workspace: WorkspaceHandle, to: float) -> None:
    """Start the jobs of schedules that are due up to a time, before the clock moves there."""
    with workspace.store.read() as db:
        scheduled = rows.has_schedules(db)
    if scheduled:
        workspace.store.start_due(workspace.store, to)


def show_nodes(
    workspace: WorkspaceHandle,
    db: Connection,
    workspace_id: int,
    resources: Collection[StoredResource],
) -> None:
    """Add the node counts and the allocation state to the bodies of clusters."""
    if any(
        kind_of(resource.address).quota.has_nodes for resource in resources
    ) and command_log.is_active(db):
        # Imports the event engine, which takes longer than most calls: few clusters have nodes.
        from mlctl.simulator.control_plane import nodes  # noqa: PLC0415

        nodes.add_node_counts(workspace.store, workspace_id, resources)


def _own(state: WorkspaceState) -> dict[Address, StoredResource]:
    from mlctl.simulator.control_plane.resources import datastores  # noqa: PLC0415 - few ask for it

    return datastores.own(state)


def _match_faults(
    workspace: WorkspaceHandle, verb: str, addresses: Collection[Address]
) -> tuple[CallFault, ...]:
    """Count the call for the faults that are set, and raise or delay as they say.

    The faults returned are for the caller: those of operations, and of lost answers.
    """
    if workspace.observing and verb in ("get", "list"):
        return ()
    with workspace.store.read() as db:
        if not faults.any_active(db):
            return ()
    with workspace.store.write() as db:
        matched = faults.match_call(db, verb, [str(address) for address in addresses])
        if verb in ("get", "list") and faults.total_delay(matched):
            now = workspace.state(db).now
            operations.advance(db, now + faults.total_delay(matched))
    for fault in matched:
        if fault.kind in (FaultKind.FAIL, FaultKind.THROTTLE):
            raise fault.error()
    return matched
