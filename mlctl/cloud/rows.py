"""The statements: rows of the store as values. Every function takes a connection in a transaction or a read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from mlctl.cloud import settings
from mlctl.cloud.ask import Found
from mlctl.cloud.settings import Settings
from mlctl.kinds.address import COLLECTIONS, Address, Scope
from mlctl.pointer import Data

_COLUMNS = "id, kind, name, parent, version, state, operation, body"


@dataclass(frozen=True, slots=True)
class World:
    """What is one for the whole cloud, and the workspace that was asked for (None: not there yet)."""

    now: float
    seed: str
    settings: Settings
    workspace: int | None
    scope: Scope
    location: str


def world(db: Connection, scope: Scope, location: str) -> World:
    """The world as seen from `scope`; `location` is where a workspace would be made."""
    row = db.execute(
        "SELECT w.now, w.seed, w.settings, s.id, s.subscription, s.resource_group, s.name, s.location "
        "FROM world w LEFT JOIN workspaces s ON s.key = ?", (_folded(scope),)).fetchone()
    now, seed, text, workspace, *spelt, there = row
    if workspace is None:
        return World(now, seed, settings.load(text), None, scope, location)
    return World(now, seed, settings.load(text), workspace, Scope(*spelt), there)


def _folded(scope: Scope) -> str:
    return str(scope).casefold()


def make_workspace(db: Connection, scope: Scope, location: str) -> int:
    """A new workspace's row id."""
    return _new_id(db.execute(
        "INSERT INTO workspaces (key, subscription, resource_group, name, location) VALUES (?, ?, ?, ?, ?)",
        (_folded(scope), scope.subscription, scope.resource_group, scope.workspace, location)).lastrowid)


def _new_id(rowid: int | None) -> int:
    assert rowid is not None
    return rowid


def key(address: Address) -> str:
    """What tells resources of one workspace apart: without case, but for versions."""
    return f"{holder(address)}/{address.name.casefold()}:{address.version or ''}"


def holder(address: Address) -> str:
    """What a list of siblings is asked by: the endpoint of a deployment, the kind of the rest."""
    return f"{address.kind}/{(address.parent or '').casefold()}"


def find(db: Connection, workspace: int | None, address: Address) -> Found | None:
    """The resource at `address`; without a version, the newest created one of a versioned kind."""
    if COLLECTIONS[address.kind][2] and address.version is None:
        row = db.execute(
            f"SELECT {_COLUMNS} FROM resources WHERE workspace = ? AND key >= ? AND key < ? "
            "ORDER BY id DESC LIMIT 1",
            (workspace, key(address), key(address)[:-1] + ";")).fetchone()  # `;` follows `:`
    else:
        row = db.execute(f"SELECT {_COLUMNS} FROM resources WHERE key = ? AND workspace = ?",
                         (key(address), workspace)).fetchone()
    return _found(row) if row else None


def _found(row: tuple[Any, ...]) -> Found:
    number, kind, name, parent, version, state, operation, text = row
    return Found(number, Address(kind, name, parent, version), state, operation, json.loads(text))


def find_all(db: Connection, workspace: int | None, addresses: Collection[Address]) -> dict[Address, Found]:
    """The resources that exist, by the address as asked; one query for all exact ones."""
    if len(addresses) == 1:
        (one,) = addresses
        alone = find(db, workspace, one)
        return {one: alone} if alone else {}
    floating = [each for each in addresses if COLLECTIONS[each.kind][2] and each.version is None]
    exact = {each: each for each in addresses if each not in floating} if floating else {a: a for a in addresses}
    keys = json.dumps([key(each) for each in exact])
    out = {}
    for row in db.execute(f"SELECT {_COLUMNS} FROM resources WHERE key IN (SELECT value FROM json_each(?)) "
                          "AND workspace = ?", (keys, workspace)):
        found = _found(row)
        out[exact[found.address]] = found
    for each in floating:
        newest = find(db, workspace, each)
        if newest:
            out[each] = newest
    return out


def siblings(db: Connection, workspace: int | None, kind: str, parent: str | None) -> Iterator[Found]:
    """All of a kind (of one parent), by name, oldest version first."""
    where, values = "workspace = ? AND kind = ?", [workspace, kind]
    if parent is not None:
        where, values = f"{where} AND holder = ?", [*values, f"{kind}/{parent.casefold()}"]
    for row in db.execute(f"SELECT {_COLUMNS} FROM resources WHERE {where} "
                          "ORDER BY parent COLLATE NOCASE, name COLLATE NOCASE, id", values):
        yield _found(row)


def count(db: Connection, workspace: int, address: Address) -> int:
    """How many siblings `address` has, itself included."""
    row = db.execute("SELECT count(*) FROM resources WHERE workspace = ? AND kind = ? AND holder = ?",
                     (workspace, address.kind, holder(address))).fetchone()
    return int(row[0])


def owner(db: Connection, address: Address, region: str, subscription: str, but: int | None) -> str | None:
    """The other workspace of the subscription that has this name in the region."""
    row = db.execute(
        "SELECT s.resource_group || '/' || s.name FROM resources r JOIN workspaces s ON s.id = r.workspace "
        "WHERE r.key = ? AND r.region = ? AND s.subscription = ? COLLATE NOCASE AND r.workspace IS NOT ?",
        (key(address), region, subscription, but)).fetchone()
    return str(row[0]) if row else None


def save(db: Connection, workspace: int, address: Address, body: Mapping[str, Data], state: str,
         operation: int | None, old: Found | None) -> int:
    """Write the resource; its row id."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    if old:
        db.execute("UPDATE resources SET body = ?, state = ?, operation = ? WHERE id = ?",
                   (text, state, operation, old.id))
        return old.id
    row = (workspace, key(address), address.kind, holder(address), address.name, address.parent,
           address.version, body.get("location"), state, operation, text)
    return _new_id(db.execute(
        "INSERT INTO resources (workspace, key, kind, holder, name, parent, version, region, state, "
        "operation, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid)


def set_needs(db: Connection, resource: int, needed: Iterable[Address]) -> None:
    """Replace what `resource` is known to name."""
    db.execute("DELETE FROM needs WHERE resource = ?", (resource,))
    db.executemany("INSERT OR IGNORE INTO needs VALUES (?, ?)", [(resource, key(each)) for each in needed])


def users(db: Connection, workspace: int, address: Address) -> list[Address]:
    """Who names `address`, of the same workspace."""
    rows = db.execute(
        "SELECT r.kind, r.name, r.parent, r.version FROM needs n JOIN resources r ON r.id = n.resource "
        "WHERE n.key = ? AND r.workspace = ? AND r.state <> 'Deleting' ORDER BY r.key",
        (key(address), workspace))
    return [Address(*row) for row in rows]


def set_claims(db: Connection, resource: int, subscription: str,
               claims: Mapping[tuple[str, str], int]) -> None:
    """Replace what `resource` takes of the quotas; triggers keep the sums."""
    db.execute("DELETE FROM claims WHERE resource = ?", (resource,))
    db.executemany("INSERT INTO claims VALUES (?, ?, ?, ?, ?)", [
        (resource, subscription.casefold(), region, pool, amount) for (region, pool), amount in claims.items()])


def usage(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Pool -> what is claimed in a region."""
    return dict(db.execute("SELECT pool, amount FROM used WHERE subscription = ? AND region = ?",
                           (subscription.casefold(), region)))


def used_of(db: Connection, subscription: str, region: str, pool: str) -> tuple[int, int | None]:
    """What is claimed of a pool, and its limit where one was set."""
    at = (subscription.casefold(), region, pool)
    row = db.execute(
        "SELECT (SELECT amount FROM used WHERE (subscription, region, pool) = (?, ?, ?)), "
        "(SELECT cap FROM quotas WHERE (subscription, region, pool) = (?, ?, ?))", at + at).fetchone()
    return row[0] or 0, row[1]


def claimed_by(db: Connection, resource: int) -> dict[str, int]:
    """Pool -> what a resource claims now."""
    return dict(db.execute("SELECT pool, amount FROM claims WHERE resource = ?", (resource,)))


def caps(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Pool -> the limit that was set."""
    return dict(db.execute("SELECT pool, cap FROM quotas WHERE subscription = ? AND region = ?",
                           (subscription.casefold(), region)))


def set_cap(db: Connection, subscription: str, region: str, pool: str, cap: int) -> None:
    """Set the limit of a pool."""
    db.execute("INSERT OR REPLACE INTO quotas VALUES (?, ?, ?, ?)",
               (subscription.casefold(), region, pool, cap))
