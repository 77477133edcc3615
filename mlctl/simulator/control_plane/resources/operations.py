"""Long-running operations: a write begins one; it ends when the clock passes its due time."""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from enum import Enum
from sqlite3 import Connection
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.digests import uuid_of
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of
from mlctl.simulator.control_plane.state import clock, rows

RUNNING, SUCCEEDED, FAILED = "InProgress", "Succeeded", "Failed"
_DIGEST = 43  # characters of a digest in base 64
_URL_SAFE, _FROM_URL_SAFE = str.maketrans("+/", "-_"), str.maketrans("-_", "+/")
_OPERATION = "SELECT id, address, verb, started, due, status, code, message FROM operations "


class OperationKind(Enum):
    """What an operation does; the value is the provisioning state of its resources meanwhile."""

    CREATE = "Creating"
    UPDATE = "Updating"
    DELETE = "Deleting"


@dataclass(frozen=True, slots=True)
class OperationFailure:
    """The error with which an operation fails."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class NewOperation:
    """A long-running operation to begin; `failure` is set if it will fail."""

    address: Address
    verb: OperationKind
    started: float
    due: float
    failure: OperationFailure | None = None


@dataclass(frozen=True, slots=True)
class LongRunningOperation:
    """A long-running operation; `status` is InProgress, Succeeded or Failed."""

    number: int
    address: Address
    verb: OperationKind
    started: float
    due: float
    status: str
    failure: OperationFailure | None


def begin(db: Connection, resources: list[int], operation: NewOperation) -> int:
    """Begin an operation on some resources; return its number."""
    failure = operation.failure or OperationFailure("", "")
    number = db.execute(
        "INSERT INTO operations (address, verb, started, due, status, code, message)"
        " VALUES (?, ?, ?, ?, 'InProgress', ?, ?)",
        (
            str(operation.address),
            operation.verb.value,
            operation.started,
            operation.due,
            failure.code,
            failure.message,
        ),
    ).lastrowid
    db.executemany(
        "UPDATE resources SET state = ?, operation = ?, last_operation = ? WHERE id = ?",
        [(operation.verb.value, number, number, resource) for resource in resources],
    )
    return int(number or 0)


def find(db: Connection, number: int) -> LongRunningOperation | None:
    """Return the operation with this number."""
    row = db.execute(_OPERATION + "WHERE id = ?", (number,)).fetchone()
    return _running(row) if row else None


def due(db: Connection, number: int) -> float | None:
    """Return the time at which an operation ends; None if there is no such operation."""
    row = db.execute("SELECT due FROM operations WHERE id = ?", (number,)).fetchone()
    return row[0] if row else None


def pending(db: Connection) -> Iterator[LongRunningOperation]:
    """Return the operations in progress, ordered by due time."""
    query = _OPERATION + "WHERE status = 'InProgress' ORDER BY due, id"
    yield from map(_running, db.execute(query))


def _running(row: tuple[Any, ...]) -> LongRunningOperation:
    number, address, verb, started, due, status, code, message = row
    failure = OperationFailure(code, message) if code else None
    return LongRunningOperation(
        number, Address.parse(address), OperationKind(verb), started, due, status, failure
    )


def token(seed: str, number: int, *, digest: bool = False) -> str:
    """Return the public id of an operation: a UUID (or else a digest) that ends with its number."""
    text = f"{seed}/operation/{number}"
    if digest:
        parts = [uuid_of(f"{text}/{part}").replace("-", "") for part in ("head", "tail")]
        content = bytes.fromhex("".join(parts))[:26] + number.to_bytes(6, "big")
        return b2a_base64(content).decode().rstrip("=\n").translate(_URL_SAFE)
    return f"{uuid_of(text)[:24]}{number:012x}"


def number_of(seed: str, text: str) -> int | None:
    """Return the number in an operation's public id; None if it is not one of this seed."""
    from uuid import UUID  # noqa: PLC0415 - only the emulator has one read

    digest = len(text) == _DIGEST
    try:
        plain = text.translate(_FROM_URL_SAFE)
        content = a2b_base64(f"{plain}=") if digest else UUID(text).bytes
    except ValueError:
        return None
    number = int.from_bytes(content[-6:], "big")
    spelling = text if digest else text.lower()
    return number if token(seed, number, digest=digest) == spelling else None


def advance(db: Connection, to: float) -> None:
    """Advance the clock to `to` (never back) and end the operations that are due."""
    db.execute("UPDATE world SET now = max(now, ?)", (to,))
    due = db.execute(
        "SELECT id, verb, code, address FROM operations WHERE status = 'InProgress' AND due <= ?"
        " ORDER BY due, id",
        (to,),
    )
    for number, verb, code, address in due.fetchall():
        if code:
            _fail(db, number)
            continue
        if verb == OperationKind.DELETE.value:
            db.execute("DELETE FROM resources WHERE operation = ?", (number,))
        else:
            provisioned = behaviour_of(kind_of(Address.parse(address))).provisioned
            if provisioned is not None:
                provisioned(db, number)
            db.execute(
                "UPDATE resources SET state = 'Succeeded', operation = NULL WHERE operation = ?",
                (number,),
            )
        _end(db, number, SUCCEEDED)


def _end(db: Connection, number: int, status: str) -> None:
    db.execute("UPDATE operations SET status = ? WHERE id = ?", (status, number))


def _fail(db: Connection, number: int) -> None:
    """End an operation as failed: bodies stay as they are, and a cluster's shows the error."""
    code, message, due = db.execute(
        "SELECT code, message, due FROM operations WHERE id = ?", (number,)
    ).fetchone()
    resources = db.execute("SELECT id, kind, body FROM resources WHERE operation = ?", (number,))
    for resource, kind, text in resources.fetchall():
        body: dict[str, Data] = json.loads(text)
        failed = behaviour_of(ALL[kind]).failed
        if failed is not None:
            failed(body, {"code": code, "message": message}, clock.iso(due))
        rows.update_resource(db, resource, body, FAILED)
    _end(db, number, FAILED)
