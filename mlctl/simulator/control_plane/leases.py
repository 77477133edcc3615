"""Leases of projects: who may apply one to a workspace, and the fence before its writes.

They last by the wall clock, which is passed in: their holders are processes, and while one of them
sleeps the virtual clock may not move at all, or by hours. A row stays once its lease is over, so
that the fencing token grows with every acquisition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.service_errors import CONFLICT, Permanent
from mlctl.simulator.control_plane.state.rows import fold_case
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

LOST = "LeaseLost"  # the code of a refused write or renewal
_SELECT = "SELECT project, token, id, holder, since, renewed, duration FROM leases "


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A stored lease; the moments are Unix seconds, an `id` of "" means that it has ended."""

    project: str
    token: int
    id: str
    holder: Mapping[str, Data]
    since: float
    renewed: float
    duration: float

    def is_held(self, now: float) -> bool:
        """Whether it is held at a moment, even if the wall clock was set back a little."""
        return bool(self.id) and abs(now - self.renewed) < self.duration


def acquire(workspace: WorkspaceHandle, request: LeaseRow, now: float) -> tuple[LeaseRow, bool]:
    """Take the lease, with the next token: return it and True, or the current one and False."""
    with workspace.store.write() as db:
        old = find(db, workspace, request.project)
        if old is not None and old.is_held(now):
            return old, False
        token = old.token + 1 if old else 1
        lease = LeaseRow(
            request.project, token, request.id, request.holder, now, now, request.duration
        )
        db.execute(
            "INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " token = excluded.token, id = excluded.id, holder = excluded.holder,"
            " since = excluded.since, renewed = excluded.renewed, duration = excluded.duration",
            (
                _key(workspace),
                lease.project,
                token,
                lease.id,
                json.dumps(lease.holder),
                now,
                now,
                lease.duration,
            ),
        )
        return lease, True


def renew(workspace: WorkspaceHandle, now: float) -> None:
    """Renew the lease of a fenced workspace from now on, even if it has expired."""
    with workspace.store.write() as db:
        check(db, workspace)
        if workspace.fence is not None:
            db.execute(
                "UPDATE leases SET renewed = ? WHERE workspace = ? AND project = ?",
                (now, _key(workspace), workspace.fence.project),
            )


def release(workspace: WorkspaceHandle) -> None:
    """End the lease of a fenced workspace; one that is lost already is left alone."""
    if workspace.fence is not None:
        with workspace.store.write() as db:
            _end(db, workspace, "id", workspace.fence.project, workspace.fence.id)


def break_(workspace: WorkspaceHandle, project: str, token: int) -> bool:
    """End the lease with this token, whoever holds it; whether it was still held."""
    with workspace.store.write() as db:
        return _end(db, workspace, "token", project, token)


def _end(
    db: Connection, workspace: WorkspaceHandle, column: str, project: str, value: str | int
) -> bool:
    query = f"UPDATE leases SET id = '' WHERE workspace = ? AND project = ? AND id <> '' AND {column} = ?"  # noqa: S608, E501 - a name of our own
    return db.execute(query, (_key(workspace), project, value)).rowcount > 0


def list_held(workspace: WorkspaceHandle, now: float) -> list[LeaseRow]:
    """List the leases of the workspace that are held at a moment, by project."""
    with workspace.store.read() as db:
        rows = db.execute(_SELECT + "WHERE workspace = ? ORDER BY project", (_key(workspace),))
        return [lease for lease in map(_row, rows.fetchall()) if lease.is_held(now)]


def check(db: Connection, workspace: WorkspaceHandle) -> None:
    """Check, in the transaction of a write, that the lease under which it is made is current.

    Raises:
        ServiceError: 409, the lease was broken, or another process has taken it.
    """
    if workspace.fence is None:
        return
    lease = find(db, workspace, workspace.fence.project)
    if lease is not None and lease.id == workspace.fence.id:
        return
    is_taken = lease is not None and lease.token > workspace.fence.token
    why = "another process has taken it" if is_taken else "it was broken"
    message = f"the lease of `{workspace.fence.project}` is lost: {why}"
    raise Permanent(LOST, message, status=CONFLICT)


def find(db: Connection, workspace: WorkspaceHandle, project: str) -> LeaseRow | None:
    """Return the lease of a project, held or ended."""
    query = _SELECT + "WHERE workspace = ? AND project = ?"
    row = db.execute(query, (_key(workspace), project)).fetchone()
    return _row(row) if row else None


def _row(row: tuple[Any, ...]) -> LeaseRow:
    project, token, name, holder, *times = row
    return LeaseRow(project, token, name, dict(json.loads(holder)), *times)


def _key(workspace: WorkspaceHandle) -> str:
    return fold_case(str(workspace.scope))


def append_record(workspace: WorkspaceHandle, name: str, record: str) -> None:
    """Add a record to the journal of a long job, under the controller's lease."""
    with workspace.store.write() as db:
        check(db, workspace)
        row = (_key(workspace), name, record)
        db.execute("INSERT INTO journals (workspace, name, record) VALUES (?, ?, ?)", row)


def read_records(workspace: WorkspaceHandle, name: str) -> list[str]:
    """Return the records of a journal, in order."""
    query = "SELECT record FROM journals WHERE workspace = ? AND name = ? ORDER BY id"
    with workspace.store.read() as db:
        return [record for (record,) in db.execute(query, (_key(workspace), name))]


def journal_names(workspace: WorkspaceHandle) -> list[str]:
    """Return the names of the journals, the oldest first."""
    query = "SELECT name FROM journals WHERE workspace = ? GROUP BY name ORDER BY min(id)"
    with workspace.store.read() as db:
        return [name for (name,) in db.execute(query, (_key(workspace),))]
