"""Reads the live state that a plan is computed against, batching the reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

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
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.address import Address
from mlctl.kinds.claim import QuotaRefusal
from mlctl.kinds.upload import UploadTarget
from mlctl.kinds.values import claims, complete, effective, moving, state
from mlctl.planning.diff import differences
from mlctl.planning.live_state import DecodedBodies, LiveState, named_by, region, users_of
from mlctl.planning.model import Unfinished
from mlctl.planning.ownership.owner import owner
from mlctl.service_errors import Permanent

_GONE = 410  # the HTTP status of a service that is retired


def refresh(
    graph: Graph,
    backend: Backend,
    *,
    destroying: bool = False,
    of: str | None = None,
    superseded: Collection[Address] = (),
    unfinished: Collection[Unfinished] = (),
) -> LiveState:
    """Read every declared resource, all that they refer to, and quotas and names taken.

    `used_by` is read only if something may be deleted: it takes listing every endpoint. What is
    owned by the project `of` takes listing everything. What is `superseded` is read, too. Of what
    was `unfinished`, that is kept which the resources still lack.

    Raises:
        ServiceError: the backend cannot be read.
    """
    every = _everything(backend) if of else {}
    wanted = set(graph.resources) | {edge.target for edge in graph.edges}
    wanted |= set(superseded)
    wanted |= {address for one in unfinished for address in (one.address, *one.children)}
    found = {address: every[address] for address in wanted if address in every}
    found |= backend.read(wanted - every.keys())
    found |= _assets_in_use(graph, found, backend)
    found |= _code(graph, found, backend)
    gone = {address: live for address, live in found.items() if state(live.body) == "deleting"}
    live = {address: one for address, one in found.items() if address not in gone}
    owned = tuple(one for one in every.values() if owner(one) == of and _stays(one))
    more = [one for one in owned if one.address not in found]
    decoded = DecodedBodies(backend.scope)
    deleting = destroying or bool(more or superseded) or _replaces(graph, live, decoded)
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
        _remaining(unfinished, live),
        decoded,
    )


def find_children(backend: Backend, every: Iterable[Live] | None = None) -> dict[Address, Live]:
    """Everything that lives under a parent: the deployments of all endpoints.

    It is listed, unless `every` resource of the workspace is given.
    """
    if every is None:
        beneath = (kind.name for kind in KINDS.values() if kind.parent)
        every = (one for kind in beneath for one in backend.list(kind))
    return {one.address: one for one in every if one.address.parent and _stays(one)}


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


def _remaining(
    unfinished: Iterable[Unfinished], live: Mapping[Address, Live]
) -> dict[Address, Unfinished]:
    remaining = ((entry.address, entry.remaining(live.get(entry.address))) for entry in unfinished)
    return {address: entry for address, entry in remaining if entry is not None}


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


def _replaces(graph: Graph, live: Mapping[Address, Live], decoded: DecodedBodies) -> bool:
    """Whether something will be replaced: its children go with it, and others depend on it."""
    for address, resource in graph.resources.items():
        there = None if resource.kind.versioned else live.get(address)
        if there is None or moving(there.body):
            continue  # what is in motion is not compared
        form = resource.form
        had, wanted = decoded.values(there.body, form), complete(resource.values, form)
        if differences(form.fixed, wanted, had, decoded.scope):
            return True
    return False


def _usage(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[str, list[Usage]]:
    if not isinstance(backend, SupportsUsage):
        return {}
    quotas: dict[str, set[str]] = defaultdict(set)
    home = backend.location
    for one in graph.resources.values():
        there = live.get(one.address)
        location = str(there.body.get("location") or "") if there else ""
        value = effective(one.values, one.form)
        for place, quota in claims(one.kind, value, location or home):
            if quota not in limits.UNPUBLISHED:
                quotas[place].add(quota)
    return {place: backend.usage(place, quotas[place]) for place in sorted(quotas)}


def _taken(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, str]:
    if not isinstance(backend, SupportsNames):
        return {}
    found = {}
    location = backend.location
    for one in graph.resources.values():
        if not one.kind.arm.unique_in_region:
            continue
        there = live.get(one.address)
        if there is None or region(one, None, location) != there.body.get("location"):
            found[one.address] = backend.taken(one.address, region(one, there, location))
    return {address: who for address, who in found.items() if who is not None}
