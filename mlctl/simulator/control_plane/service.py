"""The ARM verbs on a store: judge, respell, write; the clock ends what was begun."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from sqlite3 import Connection

from mlctl.kinds.address import Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.simulator.control_plane import command_log, faults, locks
from mlctl.simulator.control_plane.faults import Fault, Trouble
from mlctl.simulator.control_plane.resources import (
    assets,
    batch,
    batch_pools,
    compute,
    operations,
    quota,
    references,
)
from mlctl.simulator.control_plane.resources.checks import (
    excess_of,
    refuse_busy,
    refuse_taken,
    refuse_used,
)
from mlctl.simulator.control_plane.resources.operations import (
    Failure,
    Running,
    Started,
    Verb,
)
from mlctl.simulator.control_plane.state import quota_usage, rows
from mlctl.simulator.control_plane.state.context import Ask, Catalog, Found
from mlctl.simulator.control_plane.state.errors import bad, missing
from mlctl.simulator.control_plane.state.rows import World
from mlctl.simulator.control_plane.state.settings import Immutable
from mlctl.simulator.control_plane.state.store import Store


@dataclass(frozen=True, slots=True)
class Place:
    """One workspace of a simulated cloud (made on first use in `location`)."""

    store: Store
    scope: Scope
    location: str
    catalog: Catalog


def read(place: Place, addresses: Collection[Address]) -> dict[Address, Found]:
    """The resources that exist, by the address as asked.

    Raises:
        Refusal: a fault was set for the call.
    """
    if not addresses:
        return {}
    struck = _struck(place, "get", addresses)
    with place.store.look() as db:
        world = rows.world(db, place.scope, place.location)
        found = rows.find_all(db, world.workspace, addresses)
        show_nodes(place, db, world.workspace, found.values())
    _lose(struck)
    return found


def siblings(place: Place, kind: str, parent: str | None) -> list[Found]:
    """All of a kind (of one parent), by name, oldest version first.

    Raises:
        Refusal: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(place, kind, parent, lambda db, at: rows.siblings(db, at, kind, parent))


def page(
    place: Place, kind: str, parent: str | None, after: tuple[str, int], limit: int
) -> list[Found]:
    """At most `limit` of a kind (of one parent), by name, after that name and row id.

    Raises:
        Refusal: there is no such parent (404), or a fault was set for the call.
    """
    return _listed(
        place, kind, parent, lambda db, at: rows.page(db, at, kind, parent, after, limit)
    )


def _listed(
    place: Place,
    kind: str,
    parent: str | None,
    rows_of: Callable[[Connection, int], Iterable[Found]],
) -> list[Found]:
    above = ALL[kind].parent
    struck = _struck(place, "list", [Address(kind, "*", (parent or "*") if above else None)])
    with place.store.look() as db:
        workspace = rows.world(db, place.scope, place.location).workspace
        if parent is not None and above:
            holder = Address(above, parent)
            if rows.find(db, workspace, holder) is None:
                raise missing(holder)
        found = list(rows_of(db, workspace))
        show_nodes(place, db, workspace, found)
    _lose(struck)
    return found


def put(place: Place, address: Address, body: Mapping[str, Data]) -> int | None:
    """Create or overwrite; the number of the operation that began, None when all is done.

    Raises:
        Refusal: the service would not take it, or a fault was set for the call.
    """
    struck = _struck(place, "put", [address])
    with place.store.change() as db:
        turn = _Turn(db, place.catalog, _made(db, place, struck), struck)
        old = _exact(turn, address)
        address = old.address if old else address
        locks.refuse(db, address.id(turn.world.scope), locks.Verb.WRITE)
        refuse_busy(db, old, turn.world.now)
        new = _judged(turn, address, body, old)
        number = None
        if old is None or old.state != "Succeeded" or new != old.body or _failure(struck):
            number = _write(turn, address, new, old)
    _lose(struck)
    return number


def delete(place: Place, address: Address) -> int | None:
    """Delete, with all that is beneath; the number of the operation, None when all is done.

    Deleting what is being deleted joins the running operation.

    Raises:
        Refusal: there is nothing (404), others use it (409), or a fault was set for the call.
    """
    struck = _struck(place, "delete", [address])
    with place.store.change() as db:
        world = rows.world(db, place.scope, place.location)
        turn = _Turn(db, place.catalog, world, struck)
        old = _exact(turn, address)
        if old is None:
            raise missing(address)
        number = old.operation if old.state == "Deleting" else _begin_delete(turn, old)
    _lose(struck)
    return number


def due(place: Place, number: int) -> float | None:
    """When an operation ends or has ended; None when there is no such operation."""
    with place.store.look() as db:
        running = operations.find(db, number)
    return running.due if running else None


def finish(place: Place, number: int) -> Running | None:
    """Let time pass until the operation has ended; None when there is no such operation."""
    with place.store.look() as db:
        running = operations.find(db, number)
    if running is None or running.status != operations.RUNNING:
        return running
    with place.store.change() as db:
        operations.advance(db, running.due)  # the clock never goes back
        return operations.find(db, number)


def show_nodes(place: Place, db: Connection, workspace: int, found: Collection[Found]) -> None:
    """Put into the bodies of clusters what their nodes are doing."""
    if any(each.address.kind == "compute" for each in found) and command_log.is_awake(db):
        from mlctl.simulator.control_plane import nodes  # noqa: PLC0415  # most clusters never have a node

        nodes.show(place.store, workspace, found)


def opened(db: Connection, place: Place) -> World:
    """The world, with the workspace made on its first use.

    Raises:
        Refusal: the scope is none.
    """
    world = rows.world(db, place.scope, place.location)
    if world.workspace != rows.NOWHERE:
        return world
    _check_scope(place.scope)
    made = rows.make_workspace(db, place.scope, place.location)
    return replace(world, workspace=made)


def _struck(place: Place, verb: str, addresses: Collection[Address]) -> tuple[Fault, ...]:
    """Count the call, carry out what keeps it from being done, and leave the rest to the verb."""
    with place.store.look() as db:
        if not faults.are_planted(db):
            return ()
    with place.store.change() as db:
        struck = faults.count(db, verb, [str(each) for each in addresses])
        if verb in ("get", "list") and _delay(struck):
            now = rows.world(db, place.scope, place.location).now
            operations.advance(db, now + _delay(struck))
    for each in struck:
        if each.trouble in (Trouble.FAIL, Trouble.THROTTLE):
            raise each.refusal()
    return struck


def _delay(struck: tuple[Fault, ...]) -> float:
    return sum(each.seconds for each in struck if each.trouble is Trouble.DELAY)


def _failure(struck: tuple[Fault, ...]) -> Failure | None:
    """How the operation will end, where a fault was set for that."""
    for each in struck:
        if each.trouble is Trouble.FAIL_OPERATION:
            return each.failure()
    return None


def _lose(struck: tuple[Fault, ...]) -> None:
    for each in struck:
        if each.trouble is Trouble.DROP:
            raise each.refusal()


@dataclass(frozen=True, slots=True)
class _Turn:
    """One write: its transaction, the world as it found it, and the faults that strike it."""

    db: Connection
    catalog: Catalog
    world: World
    struck: tuple[Fault, ...]


def _made(db: Connection, place: Place, struck: tuple[Fault, ...]) -> World:
    """The world, with the workspace made on its first use, and what faults make of its settings."""
    world = opened(db, place)
    if any(each.trouble is Trouble.IGNORE for each in struck):
        return replace(world, settings=replace(world.settings, immutable=Immutable.IGNORE))
    return world


_PART = re.compile(r"\w[\w.()-]{0,89}")  # of what a resource group may be called, ARM's widest


def _check_scope(scope: Scope) -> None:
    for part in (scope.subscription, scope.resource_group, scope.workspace):
        if not _PART.fullmatch(part):
            text = f"`{part}` is no name of a subscription, resource group or workspace."
            raise bad(text, "InvalidResourceName")


def _exact(turn: _Turn, address: Address) -> Found | None:
    """The resource with this very name: writing never means `the newest`."""
    if address.is_newest:
        return None
    return rows.find(turn.db, turn.world.workspace, address)


def _judged(
    turn: _Turn, address: Address, body: Mapping[str, Data], old: Found | None
) -> dict[str, Data]:
    """The body as the service would store it."""
    world = turn.world

    def find(wanted: Address, scope: Scope | None) -> Found | None:
        there = rows.world(turn.db, scope, "").workspace if scope else world.workspace
        return rows.find(turn.db, there, wanted)

    ask = Ask(
        *(world.scope, world.location, world.now, world.seed),
        *(world.settings, turn.catalog, find),
    )
    match address.kind:
        case "compute":
            return compute.accept(ask, address, body, old)
        case "batch-endpoint":
            return batch.accept_endpoint(ask, address, body, old)
        case "batch-deployment":
            return batch.accept_deployment(ask, address, body, old)
        case "batch-pool":
            return batch_pools.accept(ask, address, body, old)
        case _:
            return assets.accept(ask, address, body, old)


def _write(turn: _Turn, address: Address, new: Mapping[str, Data], old: Found | None) -> int | None:
    db, world = turn.db, turn.world
    if old is None:
        refuse_taken(db, world, address, str(new.get("location", world.location)))
    wanted = quota.claims(address, new, turn.catalog)
    held = quota_usage.of(db, old.id) if old else {}
    excess = excess_of(db, world, turn.catalog, wanted, held)
    if excess:
        raise excess.refusal(new)
    batch_pools.refuse_crowded(db, world, address, new, old)
    if old is not None and _failure(turn.struck):
        return _begin(turn, [old.id], address, Verb.UPDATE)  # and nothing will have changed
    if old is None:
        resource = rows.add(db, world.workspace, address, new)
    else:
        resource = old.id
        rows.overwrite(db, resource, new, "Succeeded")
        rows.drop_needs(db, resource)
        quota_usage.drop(db, resource)
    quota_usage.add(db, resource, world.scope.subscription, wanted)
    rows.add_needs(db, resource, references.named(world.scope, new))
    if ALL[address.kind].versioned:
        return None
    verb = Verb.UPDATE if old else Verb.CREATE
    _order(turn, address, new, old, _due(turn, address, verb))
    return _begin(turn, [resource], address, verb)


def _order(
    turn: _Turn, address: Address, new: Mapping[str, Data], old: Found | None, due: float
) -> None:
    """Let nodes follow a write, unless its operation will fail or it is not about nodes."""
    there = turn.world.workspace
    wanted = command_log.to_have(there, address, new, turn.catalog)
    had = command_log.to_have(there, address, old.body, turn.catalog) if old else None
    if wanted is None or _failure(turn.struck):
        return
    if wanted != had or (old is not None and old.state != "Succeeded"):
        at = turn.world.now if command_log.shrinks(wanted, had) else due
        if old is None and locks.above(turn.db, address.id(turn.world.scope)):
            for each in command_log.held(wanted):
                command_log.write(turn.db, at, each)
        command_log.write(turn.db, at, wanted, quiet=command_log.is_quiet(wanted))


def _begin_delete(turn: _Turn, old: Found) -> int | None:
    db, world = turn.db, turn.world
    doomed = [old]
    if old.address.kind == "batch-endpoint":
        beneath = rows.siblings(db, world.workspace, "batch-deployment", old.address.name)
        doomed += [each for each in beneath if each.state != "Deleting"]
    locks.refuse(db, old.address.id(world.scope), locks.Verb.DELETE)
    for each in doomed:
        refuse_busy(db, each, world.now)
    refuse_used(db, world, old)
    if ALL[old.address.kind].versioned:
        db.execute("DELETE FROM resources WHERE id = ?", (old.id,))
        return None
    gone = command_log.to_go(world.workspace, old.address)
    if gone is not None and not _failure(turn.struck):
        command_log.write(db, world.now, gone, quiet=True)
    return _begin(turn, [each.id for each in doomed], old.address, Verb.DELETE)


def _begin(turn: _Turn, resources: list[int], address: Address, verb: Verb) -> int:
    due = _due(turn, address, verb)
    begun = Started(address, verb, turn.world.now, due, _failure(turn.struck))
    return operations.begin(turn.db, resources, begun)


def _due(turn: _Turn, address: Address, verb: Verb) -> float:
    """When an operation will have ended."""
    usual = turn.world.settings.delays.of(address.kind, verb.name.lower())
    return turn.world.now + usual + _delay(turn.struck)
