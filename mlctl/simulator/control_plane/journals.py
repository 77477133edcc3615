"""Journals of long jobs: records under a name, written under the lease of whoever carries it on."""

from __future__ import annotations

from mlctl.simulator.control_plane import leases
from mlctl.simulator.control_plane.state.rows import fold_case
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


def append(workspace: WorkspaceHandle, name: str, record: str) -> None:
    """Add a record."""
    with workspace.store.write() as db:
        leases.check(db, workspace)
        row = (_key(workspace), name, record)
        db.execute("INSERT INTO journals (workspace, name, record) VALUES (?, ?, ?)", row)


def read(workspace: WorkspaceHandle, name: str) -> list[str]:
    """The records of a journal, in their order."""
    query = "SELECT record FROM journals WHERE workspace = ? AND name = ? ORDER BY id"
    with workspace.store.read() as db:
        return [record for (record,) in db.execute(query, (_key(workspace), name))]


def names(workspace: WorkspaceHandle) -> list[str]:
    """The names of the journals, the oldest first."""
    query = "SELECT name FROM journals WHERE workspace = ? GROUP BY name ORDER BY min(id)"
    with workspace.store.read() as db:
        return [name for (name,) in db.execute(query, (_key(workspace),))]


def _key(workspace: WorkspaceHandle) -> str:
    return fold_case(str(workspace.scope))
