"""Queries and updates of workspaces, resources and quotas.

Every function takes the connection of a transaction or of a read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from sqlite3 import Connection
from typing import Any

from mlctl.catalog.prices import PriceList, own_prices
from mlctl.dataclasses import dataclass
from mlctl.digests import uuid_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import Claims
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state import clock, settings
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.settings import CloudSettings

_FOUND = (
    "SELECT id, kind, name, parent, version, state, operation, last_operation, body FROM resources "
)
NO_WORKSPACE = 0  # the row id of a workspace that does not exist; no resource has it
_REGISTRIES = "registries"  # no subscription of Azure is called so: these are GUIDs


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """The state of the cloud (clock, seed, settings) and the row of one workspace in it.

    `id` is the row id of the workspace, `NO_WORKSPACE` if it does not exist yet. `price_list` is
    what new nodes are billed by.
    """

    now: float
    seed: str
    settings: CloudSettings
    id: int
    scope: Scope
    location: str
    price_list: Callable[[], PriceList] = own_prices

    def guid(self, purpose: str) -> str:
        """Return a GUID that depends on the seed, the workspace and `purpose` only."""
        scope = str(self.scope).casefold()
        return uuid_of(f"{self.seed}/{scope}/{purpose}")


def workspace_state(
    db: Connection, scope: Scope, location: str, price_list: Callable[[], PriceList] = own_prices
) -> WorkspaceState:
    """Return the state of workspace `scope`; `location` is its region if it does not exist yet.

    Raises:
        ValueError: the clock is out of its range; it would not move.
    """
    now, seed, text, workspace_id, *parts, region = db.execute(
        "SELECT w.now, w.seed, w.settings, s.id, s.subscription, s.resource_group, s.name,"
        " s.location FROM world w LEFT JOIN workspaces s ON s.key = ?",
        (fold_case(str(scope)),),
    ).fetchone()
    if not 0 <= now <= clock.END:
        raise ValueError(f"the clock is at {now} s")
    cloud_settings = settings.load(text)
    if workspace_id is None:
        return WorkspaceState(now, seed, cloud_settings, NO_WORKSPACE, scope, location, price_list)
    return WorkspaceState(
        now, seed, cloud_settings, workspace_id, Scope(*parts), region, price_list
    )


def save_settings(db: Connection, cloud_settings: CloudSettings) -> None:
    """Replace the settings of the control plane."""
    db.execute("UPDATE world SET settings = ?", (settings.dump(cloud_settings),))


def add_workspace(db: Connection, scope: Scope, location: str) -> int:
    """Create a workspace; its row id."""
    parts = (scope.subscription, scope.resource_group, scope.workspace)
    inserted = db.execute(
        "INSERT INTO workspaces (key, subscription, resource_group, name, location)"
        " VALUES (?, ?, ?, ?, ?)",
        (fold_case(str(scope)), *parts, location),
    )
    return int(inserted.lastrowid or NO_WORKSPACE)


def registry_scope(name: str) -> Scope:
    """Return where the assets of a registry are stored: registries are stored as workspaces."""
    return Scope(_REGISTRIES, _REGISTRIES, name)


def forget_workspace(db: Connection, workspace_id: int) -> None:
    """Free the name of a deleted workspace; its row stays for jobs of the past."""
    db.execute("UPDATE workspaces SET key = id || ' deleted' WHERE id = ?", (workspace_id,))


def workspaces(
    db: Connection, *, registries: bool = False
) -> Iterator[tuple[Scope, str, dict[str, int]]]:
    """Return every workspace (or registry), with location and number of resources by kind."""
    query = (
        "SELECT id, subscription, resource_group, name, location FROM workspaces"
        " WHERE key NOT LIKE '% deleted' ORDER BY id"
    )
    for number, *parts, location in db.execute(query).fetchall():
        if (parts[0] == _REGISTRIES) is not registries:
            continue
        counts = db.execute(
            "SELECT kind, count(*) FROM resources WHERE workspace = ? GROUP BY kind", (number,)
        )
        yield Scope(*parts), location, dict(counts.fetchall())


def key(address: Address) -> str:
    """Return the key of a resource within its workspace; letter case counts only in versions."""
    version = _plain(address.version) if address.version else ""
    return f"{collection_key(address)}/{fold_case(address.name)}:{version}"


def collection_key(address: Address) -> str:
    """Return the key of a resource's collection: its kind and, for a deployment, its endpoint."""
    parent = fold_case(address.parent) if address.parent else ""
    return f"{address.kind}/{parent}"


@lru_cache(maxsize=4096)
def fold_case(text: str) -> str:
    """Fold the text's letter case for keys, and escape undecodable bytes."""
    return _plain(text.casefold())


def _plain(text: str) -> str:
    """Escape undecodable bytes of a command line, which SQLite cannot store."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def find(db: Connection, workspace_id: int, address: Address) -> StoredResource | None:
    """Return the resource at `address`; of a versioned kind without a version, the newest."""
    if address.is_newest:
        first = key(address)  # the plus makes SQLite use the index over keys
        row = db.execute(
            _FOUND + "WHERE +workspace = ? AND key >= ? AND key < ? ORDER BY id DESC LIMIT 1",
            (workspace_id, first, first[:-1] + ";"),  # `;` is the character after `:`
        ).fetchone()
    else:
        row = db.execute(
            _FOUND + "WHERE key = ? AND workspace = ?", (key(address), workspace_id)
        ).fetchone()
    return _resource(row) if row else None


def _resource(row: tuple[Any, ...]) -> StoredResource:
    number, kind, name, parent, version, state, operation, last_operation, text = row
    address = Address(kind, name, parent, version)
    return StoredResource(number, address, state, operation, json.loads(text), last_operation)


def find_all(
    db: Connection, workspace_id: int, addresses: Collection[Address]
) -> dict[Address, StoredResource]:
    """Return the existing resources, by requested address; exact addresses are one query."""
    out: dict[Address, StoredResource] = {}
    exact: dict[Address, Address] = {}
    for address in addresses:
        if address.is_newest or len(addresses) == 1:
            resource = find(db, workspace_id, address)
            out |= {address: resource} if resource else {}
        else:
            exact[address] = address
    if not exact:
        return out
    keys = json.dumps([key(address) for address in exact])
    for row in db.execute(
        _FOUND + "WHERE workspace = ? AND key IN (SELECT value FROM json_each(?))",  # noqa: S608
        (workspace_id, keys),
    ):
        resource = _resource(row)
        out[exact[resource.address]] = resource
    return out


def list_resources(
    db: Connection, workspace_id: int, kind: str, parent: str | None
) -> Iterator[StoredResource]:
    """List all resources of a kind (and parent), by name, oldest version first."""
    collection = f"{kind}/{fold_case(parent or '')}"
    span = (
        (collection, collection) if parent is not None else (f"{kind}/", f"{kind}0")
    )  # `0` is the character after `/`
    rows = db.execute(
        _FOUND + "WHERE workspace = ? AND kind = ? AND collection BETWEEN ? AND ?"
        " ORDER BY parent COLLATE NOCASE, name COLLATE NOCASE, id",
        (workspace_id, kind, *span),
    )
    yield from map(_resource, rows)


def select(db: Connection, condition: str, arguments: Sequence[Data]) -> list[StoredResource]:
    """Return the resources that meet a condition in SQL."""
    return [*map(_resource, db.execute(_FOUND + condition, arguments).fetchall())]


def has_schedules(db: Connection) -> bool:
    """Whether there is a schedule in any workspace; asked whenever the clock moves on."""
    query = "SELECT 1 FROM resources WHERE key >= 'schedule/' AND key < 'schedule0' LIMIT 1"
    return db.execute(query).fetchone() is not None


def list_page(
    db: Connection,
    workspace_id: int,
    kind: str,
    parent: str | None,
    position: tuple[str, int],
    limit: int,
) -> list[StoredResource]:
    """List at most `limit` resources of a kind and parent, after a (lower-case name, row id)."""
    condition = (
        "WHERE workspace = ? AND kind = ? AND collection = ? AND (lower(name), id) > (?, ?)"
        " ORDER BY lower(name), id LIMIT ?"
    )
    collection = collection_key(Address(kind, "", parent))
    return select(db, condition, (workspace_id, kind, collection, *position, limit))


def find_code(db: Connection, workspace_id: int, sha256: str) -> Address | None:
    """Return the first code asset with this content hash."""
    row = db.execute(
        "SELECT kind, name, parent, version FROM resources WHERE workspace = ? AND kind = 'code'"
        " AND json_extract(body, '$.properties.properties.hash_sha256') = ? ORDER BY id",
        (workspace_id, sha256),
    ).fetchone()
    return Address(*row) if row else None


def count_siblings(db: Connection, workspace_id: int, address: Address) -> int:
    """Count the resources in the collection of `address`."""
    row = db.execute(
        "SELECT count(*) FROM resources WHERE workspace = ? AND kind = ? AND collection = ?",
        (workspace_id, address.kind, collection_key(address)),
    ).fetchone()
    return int(row[0])


def name_owners(
    db: Connection, state: WorkspaceState, regions: Mapping[Address, str]
) -> dict[Address, str]:
    """Return the names that other workspaces use in their regions, as `group/name`.

    The own one is told by its name: another process may make it after `state` was read.
    """
    own, addresses = state.scope, [*regions]
    names = json.dumps([(key(address), region) for address, region in regions.items()])
    rows = db.execute(
        "SELECT n.key, s.resource_group || '/' || s.name FROM json_each(?) n"
        " JOIN resources r ON r.key = json_extract(n.value, '$[0]')"
        " AND r.region = json_extract(n.value, '$[1]')"
        " JOIN workspaces s ON s.id = r.workspace WHERE s.subscription = ? COLLATE NOCASE AND NOT"
        " (s.resource_group = ? COLLATE NOCASE AND s.name = ? COLLATE NOCASE) ORDER BY r.id DESC",
        (names, own.subscription, own.resource_group, own.workspace),
    )
    return {addresses[number]: owner for number, owner in rows}


def add_resource(
    db: Connection, workspace_id: int, address: Address, body: Mapping[str, Data]
) -> int:
    """Add a resource in the state Succeeded; its row id."""
    parts = (address.kind, collection_key(address), address.name, address.parent, address.version)
    inserted = db.execute(
        "INSERT INTO resources (workspace, key, kind, collection, name, parent, version, region,"
        " body, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'Succeeded')",
        (workspace_id, key(address), *parts, body.get("location"), compact(body)),
    )
    return int(inserted.lastrowid or 0)


def update_resource(db: Connection, resource: int, body: Mapping[str, Data], state: str) -> None:
    """Replace a resource's body and state; no operation runs on it any more."""
    db.execute(
        "UPDATE resources SET body = ?, state = ?, operation = NULL WHERE id = ?",
        (compact(body), state, resource),
    )


def compact(body: Mapping[str, Data]) -> str:
    """Format JSON without whitespace."""
    return _encode(body)


_encode = json.JSONEncoder(separators=(",", ":")).encode


def add_references(db: Connection, resource: int, needed: Iterable[Address]) -> None:
    """Store which resources a resource references."""
    pairs = [(resource, key(address)) for address in needed]
    if pairs:
        db.executemany("INSERT OR IGNORE INTO resource_references VALUES (?, ?)", pairs)


def referrers(db: Connection, workspace_id: int, address: Address) -> list[Address]:
    """Return the resources of the same workspace that reference `address`."""
    rows = db.execute(
        "SELECT r.kind, r.name, r.parent, r.version FROM resource_references n"
        " JOIN resources r ON r.id = n.resource"
        " WHERE n.key = ? AND r.workspace = ? AND r.state <> 'Deleting' ORDER BY r.key",
        (key(address), workspace_id),
    )
    return [Address(*row) for row in rows]


# Quotas are per subscription and region; triggers of the database keep the sums.
def add_claims(db: Connection, resource: int, subscription: str, claims: Claims) -> None:
    """Store what a resource claims."""
    rows = [
        (resource, subscription.casefold(), region, quota, claim.most)
        for (region, quota), claim in claims.items()
    ]
    db.executemany("INSERT INTO quota_claims VALUES (?, ?, ?, ?, ?)", rows)


def drop_references_and_claims(db: Connection, resource: int) -> None:
    """Remove the references and the claims of a resource."""
    db.execute("DELETE FROM resource_references WHERE resource = ?", (resource,))
    db.execute("DELETE FROM quota_claims WHERE resource = ?", (resource,))


def has_claims(db: Connection, resource: int) -> bool:
    """Whether a resource claims anything: what a quota refused does not."""
    claims = db.execute("SELECT 1 FROM quota_claims WHERE resource = ? LIMIT 1", (resource,))
    return claims.fetchone() is not None


def quotas_used(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Return quota -> the amount used in a region."""
    rows = db.execute(
        "SELECT quota, amount FROM quota_usage WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def quota_limits(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Return quota -> the limit that was set in a region."""
    rows = db.execute(
        "SELECT quota, amount FROM quota_limits WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def set_quota_limit(db: Connection, subscription: str, region: str, quota: str, limit: int) -> None:
    """Set the limit of a quota."""
    at = (subscription.casefold(), region, quota, limit)
    db.execute("INSERT OR REPLACE INTO quota_limits VALUES (?, ?, ?, ?)", at)
