"""Whether a state file can be read: asked after something unforeseen, as the file may be the cause.

Files are damaged by disks, by other programs and by hand. To check every row before each command
would cost more than the command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from sqlite3 import Connection
from typing import TypeAlias

from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.values import decode, form_of_body
from mlctl.pointer import get
from mlctl.simulator.control_plane import faults, locks
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state import clock, rows, settings
from mlctl.simulator.control_plane.state.store import START_AGAIN, LocalStateError, Store

_TYPES = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real', 'integer'", "BLOB": "'blob'"}
_ANYWHERE = Scope("s", "g", "w")

Check: TypeAlias = Callable[[Connection], object]


def check(store: Store) -> None:
    """Read every row.

    Raises:
        LocalStateError: the file is damaged; says where, and what to do.
    """
    with store.read() as db:
        damage = next(_damage(db), None)
    if damage is not None:
        text = f"the local state `{store.path}` is damaged ({damage}): {START_AGAIN}."
        raise LocalStateError(text)


def _damage(db: Connection) -> Iterator[str]:
    """Describe what is wrong, in a few words each."""
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        yield str(verdict).replace("\n", " ")
        return
    for table, name, declared, is_required in _columns(db):
        allowed = _TYPES[declared] + ("" if is_required else ", 'null'")
        query = f'SELECT count(*) FROM "{table}" WHERE typeof("{name}") NOT IN ({allowed})'  # noqa: S608
        if db.execute(query).fetchone()[0]:
            yield f"a {name} in table {table} is of another type"
    for table, read in _CHECKS.items():
        try:
            read(db)
        except Exception as error:  # noqa: BLE001 - whatever it is, the row is its cause
            yield f"a row of table {table} does not fit: {type(error).__name__}: {error}"


def _columns(db: Connection) -> Iterator[tuple[str, str, str, bool]]:
    """Return table, name and type of each column with a known type, and whether it is required."""
    query = (
        "SELECT m.name, c.name, c.type, c.[notnull] FROM sqlite_master m, pragma_table_info(m.name)"
        " c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
    )
    for table, name, declared, is_required in db.execute(query).fetchall():
        if declared in _TYPES:
            yield table, name, declared, bool(is_required)


def _world(db: Connection) -> None:
    now, text = db.execute("SELECT now, settings FROM world").fetchone()
    if not 0 <= now <= clock.END:
        raise ValueError(f"the clock is at {now} s")
    delays = settings.load(text).delays
    for verb in ("create", "update", "delete"):
        float(delays.of("compute", verb))


def _resources(db: Connection) -> None:
    resources = db.execute("SELECT key, kind, name, parent, version, body FROM resources")
    for key, *parts, text in resources.fetchall():
        address, body = Address(*parts), json.loads(text)
        kind = kind_of(address)
        if key != rows.key(address):
            raise ValueError(f"{address} has the key {key}")
        decode(body, form_of_body(kind, body, _ANYWHERE), _ANYWHERE)
        for at in (
            ("properties",),
            *([("properties", "properties")] if kind.quota.has_nodes else []),
        ):
            if not isinstance(get(body, at), dict):
                raise TypeError(f"{address} has no {'.'.join(at)}")


def _operations(db: Connection) -> None:
    for operation in operations.pending(db):
        kind_of(operation.address)


def _engine(db: Connection) -> None:
    from mlctl.simulator.engine import snapshot  # noqa: PLC0415 - slow to import, and rarely needed

    (state,) = db.execute("SELECT state FROM engine").fetchone()
    if state:
        snapshot.load(json.loads(state))
    for (text,) in db.execute("SELECT command FROM commands").fetchall():
        snapshot.load_command(json.loads(text))


def _ended_jobs(db: Connection) -> None:
    from mlctl.simulator.engine import snapshot  # noqa: PLC0415 - as above

    for (text,) in db.execute("SELECT state FROM ended_jobs").fetchall():
        snapshot.load_job(json.loads(text))


def _objects(query: str) -> Check:
    def read(db: Connection) -> None:
        for (text,) in db.execute(query).fetchall():
            dict(json.loads(text))

    return read


_CHECKS: dict[str, Check] = {
    "world": _world,
    "resources": _resources,
    "operations": _operations,
    "faults": faults.active_faults,
    "leases": _objects("SELECT holder FROM leases"),
    "locks": locks.list_locks,
    "engine": _engine,
    "ended_jobs": _ended_jobs,
    "jobs": _objects("SELECT note FROM jobs"),
    "workloads": _objects("SELECT spec FROM workloads"),
}
