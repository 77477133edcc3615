"""The graph of the declared resources: which needs which, and because of which value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlctl.kinds import children, routes
from mlctl.kinds.address import Address, Reference, Scope
from mlctl.kinds.resource import Resource
from mlctl.pointer import Pointer


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` needs `target` because of its value at `at`.

    `target` has no version if the reference leaves it open (`@latest`). The edge from an endpoint
    to a deployment that gets its requests is `deferred`: the endpoint is made before.
    """

    source: Address
    target: Address
    at: Pointer
    reference: Reference | None
    deferred: bool = False


@dataclass(frozen=True, eq=False)
class Graph:
    """The declared resources by address, and the edges to what they refer to, declared or not."""

    resources: Mapping[Address, Resource]
    edges: tuple[Edge, ...]
    repeated: tuple[tuple[Resource, Resource], ...] = ()

    @cached_property
    def _by_source(self) -> Mapping[Address, list[Edge]]:
        found: dict[Address, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            found[edge.source].append(edge)
        return found

    @cached_property
    def _by_name(self) -> Mapping[Address, list[Address]]:
        found: dict[Address, list[Address]] = defaultdict(list)
        for address in self.resources:
            found[address.at(None)].append(address)
        return found

    def edges_of(self, source: Address) -> list[Edge]:
        """The edges that begin at a resource."""
        return self._by_source.get(source, [])

    def declared(self, target: Address) -> list[Address]:
        """The declared resources that a target may mean: itself, or all versions if it has none.

        An asset that is declared without a version may get the one that the target has.
        """
        if target in self.resources:
            return [target]
        if target.version is None:
            return list(self._by_name.get(target, []))
        return [target.at(None)] if target.at(None) in self.resources else []


def build(resources: Iterable[Resource], scope: Scope | None = None) -> Graph:
    """The graph of what is declared.

    An address declared twice keeps its first resource; both are in `repeated`. An ARM id of the
    workspace `scope` is the same as its short reference; one of another workspace is no edge.
    """
    known: dict[Address, Resource] = {}
    repeated = []
    for resource in resources:
        first = known.setdefault(resource.address, resource)
        if first is not resource:
            repeated.append((first, resource))
    edges = [edge for resource in known.values() for edge in _edges(resource, scope)]
    return Graph(known, tuple(edges), tuple(repeated))


def _edges(resource: Resource, scope: Scope | None) -> Iterable[Edge]:
    address = resource.address
    if address.up:
        yield Edge(address, address.up, (resource.kind.parent_key,), None)
    for field, named in resource.references():
        here = named.within(scope) if scope else named
        if here.address is not None and here.scope is None:
            yield Edge(address, here.address, field.at, here)
    for routing in resource.kind.route_fields:
        value = resource.get(*map(str, routing.at))
        for name in routes.shares(value):
            target = Address(children(address.kind)[0].name, name, address.name)
            at = (*routing.at, name) if isinstance(value, dict) else routing.at
            yield Edge(address, target, at, None, deferred=True)
