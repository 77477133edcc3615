"""Resource locks: which writes they forbid, and their effect on clusters.

A lock applies to its scope and everything below it. Scaling a cluster creates and deletes network
resources in the user's resource group, so that a locked cluster cannot scale: it shows "resizing (0
-> 0)".
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from sqlite3 import Connection

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane import command_log
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import conflict

PROVIDER = "/providers/Microsoft.Authorization/locks"


class LockLevel(Enum):
    """What a lock forbids: deletes, or all writes."""

    CAN_NOT_DELETE = "CanNotDelete"
    READ_ONLY = "ReadOnly"


class LockedAction(Enum):
    """The action that a lock forbids, as the error message names it."""

    WRITE = "write"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock on a scope, which is the ARM id of a subscription, resource group or resource."""

    scope: str
    name: str
    level: LockLevel = LockLevel.CAN_NOT_DELETE
    notes: str = ""

    @property
    def id(self) -> str:
        """The lock's ARM id."""
        return f"{self.scope}{PROVIDER}/{self.name}"

    def holds(self, scope: str) -> bool:
        """Whether the lock is on `scope` or above it."""
        return f"{scope.rstrip('/')}/".casefold().startswith(f"{self.scope}/".casefold())


def list_locks(db: Connection) -> list[Lock]:
    """All locks, ordered by id."""
    locks = db.execute("SELECT scope, name, level, notes FROM locks ORDER BY key")
    return [Lock(scope, name, LockLevel(level), notes) for scope, name, level, notes in locks]


def find(db: Connection, scope: str, name: str) -> Lock | None:
    """The lock of that name on exactly that scope."""
    lock_id = Lock(scope, name).id.casefold()
    return next((lock for lock in list_locks(db) if lock.id.casefold() == lock_id), None)


def covering(db: Connection, scope: str) -> list[Lock]:
    """The locks on a scope and above it."""
    return [lock for lock in list_locks(db) if lock.holds(scope)]


def check(db: Connection, scope: str, verb: LockedAction) -> list[Lock]:
    """Check that no lock forbids an action; the message is ARM's. The locks that allow it.

    Raises:
        ServiceError: 409, a lock forbids it.
    """
    locks = covering(db, scope)
    blocking = [
        lock for lock in locks if verb is LockedAction.DELETE or lock.level is LockLevel.READ_ONLY
    ]
    if blocking:
        scopes = ", ".join(sorted({f"'{lock.scope}'" for lock in blocking}))
        text = (
            f"The scope '{scope}' cannot perform {verb.value} operation because following scope(s)"
            f" are locked: {scopes}. Please remove the lock and try again."
        )
        raise conflict(text, "ScopeLocked")
    return locks


def put(db: Connection, lock: Lock) -> Lock:
    """Create or replace a lock; the lock, with the spelling of the first write."""
    old = find(db, lock.scope, lock.name)
    if old is not None:
        lock = Lock(old.scope, old.name, lock.level, lock.notes)
    db.execute(
        "INSERT INTO locks VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " level = excluded.level, notes = excluded.notes",
        (lock.id.casefold(), lock.scope, lock.name, lock.level.value, lock.notes),
    )
    if old is None:
        _update_clusters(db, lock)
    return lock


def drop(db: Connection, lock: Lock) -> None:
    """Delete a lock."""
    db.execute("DELETE FROM locks WHERE key = ?", (lock.id.casefold(),))
    _update_clusters(db, lock)


def _update_clusters(db: Connection, lock: Lock) -> None:
    """Lock or unlock the clusters that a new or deleted lock covers, if no other lock does."""
    (now,) = db.execute("SELECT now FROM world").fetchone()
    for workspace_id, scope, cluster in _clusters(db, lock):
        remaining = [
            other_lock
            for other_lock in covering(db, cluster.address.id(scope))
            if other_lock.id != lock.id
        ]
        if not remaining:
            locked = find(db, lock.scope, lock.name) is not None
            name = command_log.engine_name(workspace_id, cluster.address.name)
            running = operations.find(db, cluster.operation) if cluster.operation else None
            command_log.append(
                db,
                max(now, running.due) if running and cluster.state == "Creating" else now,
                command_log.lock_command(name, locked=locked),
            )


def _clusters(db: Connection, lock: Lock) -> Iterator[tuple[int, Scope, StoredResource]]:
    workspaces = db.execute(
        "SELECT id, subscription, resource_group, name FROM workspaces"
    ).fetchall()
    for number, *parts in workspaces:
        scope = Scope(*parts)
        for cluster in rows.list_resources(db, number, "compute", None):
            if lock.holds(cluster.address.id(scope)):
                yield number, scope, cluster
