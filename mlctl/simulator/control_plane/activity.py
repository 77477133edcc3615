"""The activity log: who wrote or deleted which resource, and when; without bodies, as in Azure."""

from __future__ import annotations

from collections.abc import Iterator
from sqlite3 import Connection

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

KEPT_S = 90 * 86_400.0  # Azure keeps its activity log for 90 days
WRITE, DELETE = "write", "delete"


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One write or delete of a resource, by its ARM id; `at` is of the virtual clock."""

    number: int
    resource: str
    at: float
    verb: str
    caller: str


def record(
    db: Connection, workspace: WorkspaceHandle, state: WorkspaceState, address: Address, verb: str
) -> None:
    """Record what the caller did, and drop entries that are too old."""
    db.execute("DELETE FROM activity WHERE at < ?", (state.now - KEPT_S,))
    resource = address.id(state.scope)
    values = (resource.casefold(), resource, state.now, verb, workspace.caller)
    db.execute(
        "INSERT INTO activity (key, resource, at, verb, caller) VALUES (?, ?, ?, ?, ?)", values
    )


def list_of_resource(workspace: WorkspaceHandle, resource: str) -> list[ActivityEntry]:
    """List what was done to a resource, by its ARM id, newest first."""
    with workspace.store.read() as db:
        entries = db.execute(
            "SELECT id, resource, at, verb, caller FROM activity WHERE key = ? ORDER BY id DESC",
            (resource.casefold(),),
        )
        return [ActivityEntry(*row) for row in entries]


def list_beneath(workspace: WorkspaceHandle, scope: str) -> Iterator[ActivityEntry]:
    """List what was done to all that a scope contains (a resource group, a subscription)."""
    with workspace.store.read() as db:
        entries = db.execute(
            "SELECT id, resource, at, verb, caller FROM activity ORDER BY id DESC"
        ).fetchall()
    start = f"{scope.casefold().rstrip('/')}/"
    return (ActivityEntry(*row) for row in entries if row[1].casefold().startswith(start))
