"""Long-running operations: begun by a write, ended by the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from sqlite3 import Connection

from mlctl.cloud import clock
from mlctl.kinds.address import Address
from mlctl.pointer import Data

_COLUMNS = "id, resource, address, verb, started, due, status, code, message"
_DONE = "SELECT id FROM operations WHERE status = 'InProgress' AND due <= ?"


@dataclass(frozen=True, slots=True)
class Running:
    """A long-running operation: of what, which `verb` (Creating, Updating, Deleting), when, and how it ended.

    `status` is InProgress, Succeeded or Failed; `code` and `message` say why it failed, or will fail.
    """

    id: int
    resource: int
    address: Address
    verb: str
    started: float
    due: float
    status: str
    code: str | None
    message: str | None


def begin(db: Connection, workspace: int, resource: int, address: Address, verb: str, started: float,
          due: float, failure: tuple[str, str] | None, before: str | None) -> int:
    """Write down a new operation; `before` is the body to go back to when it fails."""
    code, message = failure or (None, None)
    rowid = db.execute(
        "INSERT INTO operations (resource, address, workspace, verb, started, due, status, code, message, "
        "before) VALUES (?, ?, ?, ?, ?, ?, 'InProgress', ?, ?, ?)",
        (resource, str(address), workspace, verb, started, due, code, message, before)).lastrowid
    assert rowid is not None
    return rowid


def find(db: Connection, number: int) -> Running | None:
    """The operation with this row id."""
    row = db.execute(f"SELECT {_COLUMNS} FROM operations WHERE id = ?", (number,)).fetchone()
    return _running(row) if row else None


def running(db: Connection) -> Iterator[Running]:
    """The operations that have not ended, by the time when they will."""
    for row in db.execute(f"SELECT {_COLUMNS} FROM operations WHERE status = 'InProgress' ORDER BY due, id"):
        yield _running(row)


def _running(row: tuple[int, int, str, str, float, float, str, str | None, str | None]) -> Running:
    number, resource, address, *rest = row
    return Running(number, resource, Address.parse(address), *rest)


def advance(db: Connection, to: float) -> None:
    """Move the clock on to `to` (never back) and end what is due by then."""
    db.execute("UPDATE world SET now = ? WHERE now < ?", (to, to))
    failed = db.execute(f"{_DONE} AND code IS NOT NULL ORDER BY due, id", (to,)).fetchall()
    for (number,) in failed:
        _fail(db, number)
    db.execute(f"DELETE FROM resources WHERE state = 'Deleting' AND operation IN ({_DONE})", (to,))
    db.execute(f"UPDATE resources SET state = 'Succeeded', operation = NULL WHERE operation IN ({_DONE})", (to,))
    db.execute("UPDATE operations SET status = 'Succeeded', before = NULL "
               "WHERE status = 'InProgress' AND due <= ?", (to,))


def _fail(db: Connection, number: int) -> None:
    """The resource goes back to the body it had, and says what went wrong."""
    code, message, before, due = db.execute(
        "SELECT code, message, before, due FROM operations WHERE id = ?", (number,)).fetchone()
    rows = db.execute("SELECT id, kind, body FROM resources WHERE operation = ?", (number,)).fetchall()
    for resource, kind, text in rows:
        body: dict[str, Data] = json.loads(before or text)
        if kind == "compute":
            error = {"code": code, "message": message}
            body["properties"]["provisioningErrors"] = [{"error": error}]
            body["properties"]["modifiedOn"] = clock.iso(due)
        db.execute("UPDATE resources SET state = 'Failed', operation = NULL, body = ? WHERE id = ?",
                   (json.dumps(body, separators=(",", ":"), ensure_ascii=False), resource))
    db.execute("UPDATE operations SET status = 'Failed', before = NULL WHERE id = ?", (number,))
