"""Reads the live state that a plan is computed against, batching the reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mlctl import pointer
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    SupportsCode,
    SupportsNames,
    SupportsUsage,
    Usage,
)
from mlctl.catalog import limits
from mlctl.config.graph import Graph
from mlctl.kinds import KINDS, Kind, codec, kind_of
from mlctl.kinds.address import Address, Reference, Scope
from mlctl.kinds.claim import QuotaRefusal
from mlctl.kinds.field import Mutability, read_field
from mlctl.kinds.resource import Resource
from mlctl.kinds.upload import UploadTarget
from mlctl.kinds.values import claims, complete, decode, effective, form_of_body, moving, state
from mlctl.planning.diff import differences
from mlctl.planning.ownership.owner import owner
from mlctl.planning.unfinished.owed import Owed
from mlctl.schema import places
from mlctl.service_errors import Permanent

_GONE = 410  # the HTTP status of a service that is retired


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the backend had when it was read.

    `location` is the workspace's region. `live` is keyed by the address as asked for; those
    that are being deleted are in `deleting` instead. `usage` is by region. `taken` says who
    else has a name that must be unique in its region. `used_by` gives the live
    deployments that refer to an address or, for an endpoint, belong to it. `quota_refuses` is what
    the backend holds clusters to. `owned` is what has the tag of the project that was asked about.
    `owed` is what applies that did not end have yet to put back.
    """

    scope: Scope
    location: str
    live: Mapping[Address, Live]
    usage: Mapping[str, list[Usage]] = field(default_factory=dict)
    taken: Mapping[Address, str] = field(default_factory=dict)
    used_by: Mapping[Address, list[Address]] = field(default_factory=dict)
    deleting: Mapping[Address, Live] = field(default_factory=dict)
    quota_refuses: QuotaRefusal = QuotaRefusal.MIN
    owned: tuple[Live, ...] = ()
    owed: Mapping[Address, Owed] = field(default_factory=dict)


def refresh(
    graph: Graph,
    backend: Backend,
    *,
    destroying: bool = False,
    of: str | None = None,
    superseded: Collection[Address] = (),
    owed: Collection[Owed] = (),
) -> LiveState:
    """Read every declared resource, all that they refer to, and quotas and names taken.

    `used_by` is read only if something may be deleted: it takes listing every endpoint. What is
    owned by the project `of` takes listing everything. What is `superseded` is read, too. Of what
    was `owed`, that is kept which the resources still lack.

    Raises:
        ServiceError: the backend cannot be read.
    """
    every = _everything(backend) if of else {}
    wanted = set(graph.resources) | {edge.target for edge in graph.edges}
    wanted |= set(superseded)
    wanted |= {address for one in owed for address in (one.address, *one.children)}
    found = {address: every[address] for address in wanted if address in every}
    found |= backend.read(wanted - every.keys())
    found |= _assets_in_use(graph, found, backend)
    found |= _code(graph, found, backend)
    gone = {address: live for address, live in found.items() if state(live.body) == "deleting"}
    live = {address: one for address, one in found.items() if address not in gone}
    owned = tuple(one for one in every.values() if owner(one) == of and _stays(one))
    more = [one for one in owned if one.address not in found]
    deleting = destroying or bool(more or superseded) or _replaces(graph, live, backend.scope)
    listed = every.values() if of else None
    beneath = find_children(backend, listed) if deleting else {}
    above = {one.address.up for one in more if one.address.up is not None} & every.keys()
    around = {
        **beneath,
        **{address: every[address] for address in above},
        **{one.address: one for one in more},
    }
    return LiveState(
        backend.scope,
        backend.location,
        {**around, **live},
        {} if destroying else _usage(graph, live, backend),
        {} if destroying else _taken(graph, live, backend),
        users_of(beneath.values(), backend.scope),
        gone,
        backend.quota_refuses() if isinstance(backend, SupportsUsage) else QuotaRefusal.MIN,
        owned,
        {one.address: one for one in _still(owed, live)},
    )


def region(resource: Resource, live: Live | None, default: str) -> str:
    """The region in ARM's spelling: the file's, else the live resource's, else `default`."""
    there = live.body.get("location") if live else None
    return str(resource.values.get(("location",), there or default)).replace(" ", "").lower()


def named_by(live: Live, scope: Scope) -> list[Address]:
    """The addresses in this workspace that a live body refers to."""
    found = []
    form = form_of_body(kind_of(live.address), live.body, scope)
    for one in form.fields:
        said = codec.decode(pointer.get(live.body, one.wire), one, scope)
        told = [(one, said)] if one.refers_to else []
        told += [
            (inner, pointer.get(said, inner.at[len(one.at) :]))
            for inner in codec.inner_fields(one, said)
        ]
        if one in form.nested:  # maps: the settings of a pipeline
            told += [
                (read_field(level, at), pointer.get(said, at[len(one.at) :]))
                for at, level in places(one.schema, said, one.at)
                if "x-mlctl-refers-to" in level
            ]
        for at, text in told:
            named = Reference.parse(str(text), at.refers_to or "")
            if named and named.address and named.within(scope).scope is None:
                found.append(named.address)
    return found


def find_children(backend: Backend, every: Iterable[Live] | None = None) -> dict[Address, Live]:
    """Everything that lives under a parent: the deployments of all endpoints.

    It is listed, unless `every` resource of the workspace is given.
    """
    if every is None:
        beneath = (kind.name for kind in KINDS.values() if kind.parent)
        every = (one for kind in beneath for one in backend.list(kind))
    return {one.address: one for one in every if one.address.parent and _stays(one)}


def users_of(children: Iterable[Live], scope: Scope) -> dict[Address, list[Address]]:
    """The children (deployments) that refer to an address or, for a parent, belong to it."""
    found: dict[Address, list[Address]] = defaultdict(list)
    for child in children:
        for used in (child.address.up, *named_by(child, scope)):
            if used is not None:
                found[used].append(child.address)
    return dict(found)


def _everything(backend: Backend) -> dict[Address, Live]:
    """All that a file could declare."""
    return {one.address: one for kind in KINDS.values() for one in everything(kind, backend)}


def _stays(live: Live) -> bool:
    return state(live.body) != "deleting"


def everything(kind: Kind, backend: Backend) -> list[Live]:
    """All of a kind; nothing where the backend has no such kind any more.

    Raises:
        ServiceError: the backend cannot be read.
    """
    try:
        return backend.list(kind.name)
    except Permanent as error:
        if kind.retired_service and error.status == _GONE:
            return []
        raise


def _still(owed: Iterable[Owed], live: Mapping[Address, Live]) -> Iterator[Owed]:
    for one in owed:
        left = one.left(live.get(one.address))
        if left is not None:
            yield left


def _assets_in_use(
    graph: Graph, live: Mapping[Address, Live], backend: Backend
) -> dict[Address, Live]:
    """The assets that live owners of inline assets use: the content may be there already.

    Those of a pipeline have components of their own.
    """
    owners = {one.owner for one in graph.resources.values() if one.owner is not None}
    found: dict[Address, Live] = {}
    new = [live[owner] for owner in owners if owner in live]
    while new:
        used = {one for owner in new for one in named_by(owner, backend.scope)}
        read = backend.read(used - live.keys() - found.keys())
        found |= read
        new = list(read.values())
    return found


def _code(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, Live]:
    """Code of the same content that was uploaded under another name; it is not uploaded again."""
    if not isinstance(backend, SupportsCode):
        return {}
    known: dict[Address, Address] = {}
    for address, resource in graph.resources.items():
        if resource.kind.content.target is UploadTarget.CODE and address not in live:
            there = backend.find_code(str(resource.values["hash",]))
            if there is not None:
                known[address] = there
    found = backend.read(known.values()) if known else {}
    return {address: found[there] for address, there in known.items() if there in found}


def _replaces(graph: Graph, live: Mapping[Address, Live], scope: Scope) -> bool:
    """Whether something will be replaced: its children go with it, and others depend on it."""
    for address, resource in graph.resources.items():
        if resource.kind.versioned or address not in live or moving(live[address].body):
            continue  # what is in motion is not compared
        fixed = [one for one in resource.form.fields if one.mutability is Mutability.REPLACE]
        had = decode(live[address].body, resource.form, scope, own=False)
        if differences(fixed, complete(resource.values, resource.form), had, scope):
            return True
    return False


def _usage(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[str, list[Usage]]:
    if not isinstance(backend, SupportsUsage):
        return {}
    quotas: dict[str, set[str]] = defaultdict(set)
    for one in graph.resources.values():
        there = live.get(one.address)
        location = str(there.body.get("location") or "") if there else ""
        value = effective(one.values, one.form)
        for place, quota in claims(one.kind, value, location or backend.location):
            if quota not in limits.UNPUBLISHED:
                quotas[place].add(quota)
    return {place: backend.usage(place, quotas[place]) for place in sorted(quotas)}


def _taken(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, str]:
    if not isinstance(backend, SupportsNames):
        return {}
    found = {}
    for one in graph.resources.values():
        there = live.get(one.address)
        wanted = region(one, there, backend.location)
        moves = there is None or region(one, None, backend.location) != there.body.get("location")
        if one.kind.arm.unique_in_region and moves:
            found[one.address] = backend.taken(one.address, wanted)
    return {address: who for address, who in found.items() if who is not None}
