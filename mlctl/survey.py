"""What the plan must know of the world, read from the backend in as few rounds as there are layers of names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlctl.backends.base import Backend, Live, SupportsNames, SupportsUsage, Usage
from mlctl.graph import Graph
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Reference, Scope
from mlctl.kinds.kind import decode
from mlctl.kinds.resource import Resource

_UNIQUE_IN_REGION = ("compute", "batch-endpoint")


@dataclass(frozen=True, slots=True)
class Survey:
    """The world at one moment.

    `live` is keyed by the address as asked; `users` are the live deployments that name an address; `usage` is
    by region; `taken` says who else has a name that must be unique.
    """

    scope: Scope
    location: str
    live: Mapping[Address, Live]
    usage: Mapping[str, list[Usage]] = field(default_factory=dict)
    taken: Mapping[Address, str] = field(default_factory=dict)
    users: Mapping[Address, list[Address]] = field(default_factory=dict)

    def version_of(self, address: Address) -> Address | None:
        """The live address that an asked one stands for."""
        found = self.live.get(address)
        return found.address if found else None


def survey(graph: Graph, backend: Backend, *, destroying: bool = False) -> Survey:
    """Read every declared resource, all that they name, and the quotas and names that could refuse them.

    Raises:
        BackendError: the backend cannot be read.
    """
    wanted = set(graph.resources) | {edge.target for edge in graph.edges}
    live = backend.read(wanted)
    more = _assets_in_use(graph, live, backend.scope) - wanted
    if more:
        live |= backend.read(more)
    return Survey(
        backend.scope,
        backend.location,
        live,
        {} if destroying else _usage(graph, backend),
        {} if destroying else _taken(graph, live, backend),
        users(backend) if destroying else {},
    )


def location_of(resource: Resource, default: str) -> str:
    """The region of a resource: as written, else the workspace's, in ARM's spelling."""
    return str(resource.values.get(("location",), default)).replace(" ", "").lower()


def named_by(live: Live, scope: Scope) -> list[Address]:
    """The addresses in this workspace that a live body names."""
    form = kind_of(live.address).form_of_body(live.body, scope)
    values = decode(live.body, form, scope)
    found = []
    for one in form.fields:
        named = Reference.parse(str(values.get(one.at)), one.refers_to) if one.refers_to else None
        if named and named.address and named.within(scope).scope is None:
            found.append(named.address)
    return found


def users(backend: Backend) -> dict[Address, list[Address]]:
    """Which live deployments name an address."""
    found: dict[Address, list[Address]] = defaultdict(list)
    for endpoint in backend.list("batch-endpoint"):
        for deployment in backend.list("batch-deployment", endpoint.address.name):
            for used in named_by(deployment, backend.scope):
                found[used].append(deployment.address)
    return dict(found)


def _assets_in_use(graph: Graph, live: Mapping[Address, Live], scope: Scope) -> set[Address]:
    """What the live owners of anonymous assets use today: the same content may be there under another name."""
    owners = {one.owner for one in graph.resources.values() if one.owner is not None}
    return {used for owner in owners if owner in live for used in named_by(live[owner], scope)}


def _usage(graph: Graph, backend: Backend) -> dict[str, list[Usage]]:
    if not isinstance(backend, SupportsUsage):
        return {}
    regions = {
        location_of(one, backend.location)
        for one in graph.resources.values()
        if one.address.kind == "compute"
    }
    return {region: backend.usage(region) for region in sorted(regions)}


def _taken(graph: Graph, live: Mapping[Address, Live], backend: Backend) -> dict[Address, str]:
    if not isinstance(backend, SupportsNames):
        return {}
    new = [
        one
        for one in graph.resources.values()
        if one.address.kind in _UNIQUE_IN_REGION and one.address not in live
    ]
    asked = {
        one.address: backend.taken(one.address, location_of(one, backend.location)) for one in new
    }
    return {address: who for address, who in asked.items() if who is not None}
