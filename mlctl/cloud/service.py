"""The ARM verbs on a store: judge, respell, write, and let the clock end what was begun."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from sqlite3 import Connection

from mlctl.cloud import assets, batch, compute, faults, operations, quota, references, rows
from mlctl.cloud.ask import Ask, Catalog, Found
from mlctl.cloud.faults import Fault, Trouble
from mlctl.cloud.operations import Running
from mlctl.cloud.refusal import Refusal, busy, conflict, missing
from mlctl.cloud.rows import World
from mlctl.cloud.settings import Immutable, InUse
from mlctl.cloud.store import Store
from mlctl.kinds.address import COLLECTIONS, Address, Scope
from mlctl.pointer import Data

FAILED = "OperationFailed"


@dataclass(frozen=True, slots=True)
class Place:
    """One workspace of a simulated cloud, and what its verbs work on."""

    store: Store
    scope: Scope
    location: str
    catalog: Catalog


def read(place: Place, addresses: Collection[Address]) -> dict[Address, Found]:
    """The resources that exist, by the address as asked.

    Raises:
        Refusal: a fault was set for the call.
    """
    struck = _struck(place, "get", addresses)
    with place.store.look() as db:
        found = rows.find_all(db, rows.world(db, place.scope, place.location).workspace, addresses)
    _lose(struck)
    return found


def siblings(place: Place, kind: str, parent: str | None) -> list[Found]:
    """All of a kind (of one parent), by name, oldest version first.

    Raises:
        Refusal: there is no such parent (404), or a fault was set for the call.
    """
    struck = _struck(place, "list", [Address(kind, "*", parent or ("*" if COLLECTIONS[kind][1] else None))])
    above = COLLECTIONS[kind][1]
    with place.store.look() as db:
        workspace = rows.world(db, place.scope, place.location).workspace
        if parent is not None and above and rows.find(db, workspace, Address(above, parent)) is None:
            raise missing(Address(above, parent))
        found = list(rows.siblings(db, workspace, kind, parent))
    _lose(struck)
    return found


def put(place: Place, address: Address, body: Mapping[str, Data]) -> int | None:
    """Create or overwrite; the number of the operation that began, None when all is done.

    Raises:
        Refusal: the service would not take it, or a fault was set for the call.
    """
    struck = _struck(place, "put", [address])
    with place.store.change() as db:
        world = _world(db, place)
        old = rows.find(db, world.workspace, address) if _exact(address) else None
        _refuse_busy(db, old, world.now)
        if any(each.trouble is Trouble.IGNORE for each in struck):
            world = replace(world, settings=replace(world.settings, immutable=Immutable.IGNORE))
        new = _judged(db, place, world, address, body, old)
        number = None
        if old is None or old.state == "Failed" or new != old.body or _doomed(struck):
            number = _write(db, place, world, old, address, new, struck)
    _lose(struck)
    return number


def _exact(address: Address) -> bool:
    return address.version is not None or not COLLECTIONS[address.kind][2]


def _struck(place: Place, verb: str, addresses: Collection[Address]) -> tuple[Fault, ...]:
    """Count the call and carry out what keeps it from being done; the rest is for the verb."""
    with place.store.look() as db:
        if db.execute("SELECT 1 FROM faults LIMIT 1").fetchone() is None:
            return ()
    with place.store.change() as db:
        struck = faults.count(db, verb, [str(each) for each in addresses])
        wait = sum(each.seconds for each in struck if each.trouble is Trouble.DELAY)
        if wait and verb in ("get", "list"):
            operations.advance(db, _now(db) + wait)
    for each in struck:
        if each.trouble in (Trouble.FAIL, Trouble.THROTTLE):
            raise each.refusal()
    return struck


def _now(db: Connection) -> float:
    return float(db.execute("SELECT now FROM world").fetchone()[0])


def _lose(struck: tuple[Fault, ...]) -> None:
    for each in struck:
        if each.trouble is Trouble.DROP:
            raise each.refusal()


def _doomed(struck: tuple[Fault, ...]) -> tuple[str, str] | None:
    """Code and message of the long-running operation's failure, where one was ordered."""
    for each in struck:
        if each.trouble is Trouble.FAIL_OPERATION:
            return each.code or FAILED, each.message or "The operation failed, as a fault was set for it."
    return None


def _world(db: Connection, place: Place) -> World:
    """The world, with the workspace made on its first use."""
    world = rows.world(db, place.scope, place.location)
    if world.workspace is None:
        return replace(world, workspace=rows.make_workspace(db, place.scope, place.location))
    return world


def _refuse_busy(db: Connection, old: Found | None, now: float) -> None:
    if old is None or old.operation is None:
        return
    running = operations.find(db, old.operation)
    raise busy(old.address, old.state, running.due - now if running else 0.0)


def _judged(db: Connection, place: Place, world: World, address: Address, body: Mapping[str, Data],
            old: Found | None) -> dict[str, Data]:
    """The body as the service would store it."""
    def find(wanted: Address, scope: Scope | None) -> Found | None:
        there = rows.world(db, scope, "").workspace if scope else world.workspace
        return rows.find(db, there, wanted)

    ask = Ask(world.scope, world.location, world.now, world.seed, world.settings, place.catalog, find)
    spelt = old.address if old else address
    match address.kind:
        case "compute":
            return compute.accept(ask, spelt, body, old)
        case "batch-endpoint":
            return batch.accept_endpoint(ask, spelt, body, old)
        case "batch-deployment":
            return batch.accept_deployment(ask, spelt, body, old)
        case _:
            return assets.accept(ask, spelt, body, old)


def _write(db: Connection, place: Place, world: World, old: Found | None, address: Address,
           new: dict[str, Data], struck: tuple[Fault, ...]) -> int | None:
    assert world.workspace is not None
    if old is None:
        _refuse_taken(db, world, address, new)
    claims = quota.claims(address, new, place.catalog)
    _refuse_excess(db, place, world, claims, new, old)
    verb, state = ("update", "Updating") if old else ("create", "Creating")
    at_once = COLLECTIONS[address.kind][2]
    resource = rows.save(db, world.workspace, address, new, "Succeeded" if at_once else state, None, old)
    rows.set_claims(db, resource, world.scope.subscription, claims)
    rows.set_needs(db, resource, references.named(world.scope, new))
    if at_once:
        return None
    due = world.now + world.settings.delays.of(address.kind, verb) + _delay(struck)
    before = json.dumps(old.body) if old else None
    number = operations.begin(
        db, world.workspace, resource, old.address if old else address, state, world.now, due,
        _doomed(struck), before)
    db.execute("UPDATE resources SET operation = ? WHERE id = ?", (number, resource))
    return number


def _delay(struck: tuple[Fault, ...]) -> float:
    return sum(each.seconds for each in struck if each.trouble is Trouble.DELAY)


def _refuse_taken(db: Connection, world: World, address: Address, new: Mapping[str, Data]) -> None:
    """Names of computes and endpoints are unique in a region (the code is unverified)."""
    assert world.workspace is not None
    if address.kind in ("compute", "batch-endpoint"):
        other = rows.owner(db, address, new["location"], world.scope.subscription, world.workspace)
        if other:
            raise conflict(f"The name `{address.name}` is taken in region {new['location']} by workspace "
                           f"`{other}`: choose another one.", "NameAlreadyTaken")
    if address.kind == "batch-deployment" and rows.count(db, world.workspace, address) >= quota.PER_ENDPOINT:
        raise Refusal("QuotaExceeded", f"The endpoint `{address.parent}` has reached its limit of "
                      f"{quota.PER_ENDPOINT} deployments.")


def _refuse_excess(db: Connection, place: Place, world: World, claims: Mapping[tuple[str, str], int],
                   new: Mapping[str, Data], old: Found | None) -> None:
    held = rows.claimed_by(db, old.id) if old else {}
    for (region, pool), asked in claims.items():
        mine = held.get(pool, 0)
        if asked <= mine:
            continue
        used, cap = rows.used_of(db, world.scope.subscription, region, pool)
        limit = quota.default(pool, place.catalog) if cap is None else cap
        if used - mine + asked > limit:
            raise quota.exceeded(pool, region, limit, used - mine, asked, new)


def delete(place: Place, address: Address) -> int | None:
    """Delete, with all that is beneath; the number of the operation, None when all is done.

    Deleting what is being deleted joins the running operation.

    Raises:
        Refusal: there is nothing (404), others use it (409), or a fault was set for the call.
    """
    struck = _struck(place, "delete", [address])
    with place.store.change() as db:
        world = rows.world(db, place.scope, place.location)
        old = rows.find(db, world.workspace, address) if _exact(address) else None
        if old is None or world.workspace is None:
            raise missing(address)
        if old.state == "Deleting":
            number = old.operation
        else:
            _refuse_busy(db, old, world.now)
            number = _begin_delete(db, world, old, struck)
    _lose(struck)
    return number


def _begin_delete(db: Connection, world: World, old: Found, struck: tuple[Fault, ...]) -> int | None:
    assert world.workspace is not None
    address = old.address
    beneath = list(rows.siblings(db, world.workspace, "batch-deployment", address.name)) \
        if address.kind == "batch-endpoint" else []
    for each in beneath:
        if each.state != "Deleting":
            _refuse_busy(db, each, world.now)
    _refuse_used(db, world, address)
    if COLLECTIONS[address.kind][2]:
        db.execute("DELETE FROM resources WHERE id = ?", (old.id,))
        return None
    due = world.now + world.settings.delays.of(address.kind, "delete") + _delay(struck)
    number = operations.begin(db, world.workspace, old.id, address, "Deleting", world.now, due,
                              _doomed(struck), None)
    db.executemany("UPDATE resources SET state = 'Deleting', operation = ? WHERE id = ?",
                   [(number, each.id) for each in (old, *beneath)])
    return number


def _refuse_used(db: Connection, world: World, address: Address) -> None:
    """The default deployment stays, and so does what deployments still name (an assumption; settable)."""
    assert world.workspace is not None
    above = address.up
    endpoint = rows.find(db, world.workspace, above) if above else None
    if endpoint and endpoint.state != "Deleting":
        default = endpoint.body["properties"].get("defaults", {}).get("deploymentName", "")
        if default.casefold() == address.name.casefold():
            raise conflict(f"The deployment `{address.name}` is the default of endpoint `{address.parent}`: "
                           "make another one the default first.", "DefaultDeploymentInUse")
    users = rows.users(db, world.workspace, address)
    if users and world.settings.in_use is InUse.REFUSE:
        named = ", ".join(f"`{user}`" for user in users[:3]) + (" and others" if len(users) > 3 else "")
        raise conflict(f"`{address}` is still used by {named}: delete that first.",
                       f"{address.kind.capitalize()}InUse")


def finish(place: Place, number: int) -> Running | None:
    """Let time pass until the operation has ended, and say how; None when there is no such operation."""
    with place.store.look() as db:
        running = operations.find(db, number)
    if running is None or running.status != "InProgress":
        return running
    with place.store.change() as db:
        running = operations.find(db, number)  # another one may have waited meanwhile
        if running is not None and running.status == "InProgress":
            operations.advance(db, running.due)
            running = operations.find(db, number)
    return running
