"""The graph of the declared resources: which needs which, and because of which value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from mlctl import pointer
from mlctl.dataclasses import dataclass, replace
from mlctl.kinds import KINDS, children
from mlctl.kinds.address import Address, Reference, Scope, own_address
from mlctl.kinds.kind import Kind
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.source import Document

_COMPONENT_STEPS = ("command", "parallel", "spark")  # what they hold is a component

ReadDocument: TypeAlias = Callable[[Path], Document | None]
"""The document of a file that another one names; None where there is none to read."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` needs `target` because of its value at `at`.

    `target` has no version if the reference leaves it open (`@latest`). The edge from an endpoint
    to a deployment that gets its requests is `deferred`: the endpoint is created first.
    """

    source: Address
    target: Address
    at: Pointer
    reference: Reference | None
    deferred: bool = False


@dataclass(frozen=True, eq=False)
class Graph:
    """The declared resources by address, and the edges to what they refer to, declared or not.

    `secrets` are those of the files that it was read from.
    """

    resources: Mapping[Address, Resource]
    edges: tuple[Edge, ...]
    repeated: tuple[tuple[Resource, Resource], ...] = ()
    secrets: frozenset[str] = frozenset()

    @cached_property
    def with_repeated(self) -> tuple[Resource, ...]:
        """The declared resources, including those that repeat an address."""
        repeated = (second for _, second in self.repeated if second.owner is None)
        return (*self.resources.values(), *repeated)

    @cached_property
    def with_inline_assets(self) -> tuple[Resource, ...]:
        """The declared resources, each followed by its inline assets."""
        resources: list[Resource] = []
        for resource in self.with_repeated:
            resources.append(resource)
            for field in resource.form.assets:
                value = resource.values.get(field.at)
                kind = KINDS.get(field.refers_to or "")
                if isinstance(value, dict) and kind is not None:
                    resources.append(_build_inline(resource, field.at, kind, value))
        return tuple(resources)

    @cached_property
    def by_kind(self) -> Mapping[str, list[Resource]]:
        """The declared resources by kind, including those that repeat an address."""
        resources: dict[str, list[Resource]] = defaultdict(list)
        for resource in self.with_repeated:
            resources[resource.kind.name].append(resource)
        return resources

    @cached_property
    def _by_source(self) -> Mapping[Address, list[Edge]]:
        edges: dict[Address, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            edges[edge.source].append(edge)
        return edges

    @cached_property
    def _by_name(self) -> Mapping[Address, list[Address]]:
        addresses: dict[Address, list[Address]] = defaultdict(list)
        for address in self.resources:
            addresses[address.at(None)].append(address)
        return addresses

    def edges_of(self, source: Address) -> list[Edge]:
        """Return the edges from a resource."""
        return self._by_source.get(source, [])

    def unused(self, address: Address, after: str | None = "0") -> Address:
        """Return the address with the next version after `after` that no file declares."""
        numbered = after and after.isdecimal()
        new = address.at(str(int(after or 0) + 1) if numbered else f"{after}-2")
        return self.unused(address, new.version) if new in self.resources else new

    def declared(self, target: Address) -> list[Address]:
        """Return the declared resources that a target may mean: all versions if it has none.

        An asset that is declared without a version may get the one that the target has.
        """
        if target in self.resources:
            return [target]
        if target.version is None:
            return list(self._by_name.get(target, []))
        return [target.at(None)] if target.at(None) in self.resources else []


def inline_assets(owner: Resource) -> Iterator[Resource]:
    """Yield the inline assets of a resource, of its steps, and of those assets."""
    assets: dict[Pointer, Resource] = {}
    for at, kind_name in _asset_places(owner):
        value = owner.values.get(at, pointer.get(owner.document.data, (*owner.root, *at)))
        if isinstance(value, dict) and kind_name in KINDS:
            asset = _build_inline(owner, at, KINDS[kind_name], value)
            for inner in (asset, *inline_assets(asset)):
                assets.setdefault(inner.root, inner)
    yield from assets.values()


def _asset_places(owner: Resource) -> Iterator[tuple[Pointer, str]]:
    """Yield the places for inline assets in a resource, and their kinds: a step is a component."""
    for field in owner.form.assets:
        yield field.at, str(field.refers_to)
    jobs = owner.get("jobs")
    for name, step in jobs.items() if isinstance(jobs, dict) else ():
        if not isinstance(step, dict):
            continue
        keys = [key for key in ("component", "trial") if key in step]
        yield from ((("jobs", name, key), "component") for key in keys)
        if not keys and str(step.get("type", "command")).casefold() in _COMPONENT_STEPS:
            yield ("jobs", name), "component"
    for nested, level in owner.places("x-mlctl-refers-to"):
        yield nested, str(level["x-mlctl-refers-to"])


def build(resources: Iterable[Resource], scope: Scope | None = None) -> Graph:
    """Build the graph of resources.

    An address declared twice keeps its first resource; both are in `repeated`. An ARM id in the
    workspace `scope` equals its short reference; one in another workspace is not an edge.
    """
    resources_by_address: dict[Address, Resource] = {}
    repeated = []
    for resource in resources:
        first = resources_by_address.setdefault(resource.address, resource)
        if first is not resource:
            repeated.append((first, resource))
    edges = [edge for resource in resources_by_address.values() for edge in _edges(resource, scope)]
    within = {
        Address(resource.kind.arm.within, address.name): address
        for address, resource in resources_by_address.items()
        if resource.kind.arm.within
    }  # references may use another kind's name: compute for a compute instance
    if within:
        edges = [
            edge
            if edge.target in resources_by_address
            else replace(edge, target=within.get(edge.target, edge.target))
            for edge in edges
        ]
    return Graph(resources_by_address, tuple(edges), tuple(repeated))


def _build_inline(owner: Resource, at: Pointer, kind: Kind, value: Mapping[str, Data]) -> Resource:
    """Build the asset that is written inline in its owner."""
    form = kind.form_of(value)
    address = own_address(kind, value) or Address(kind.name, "")
    root = (*owner.root, *at)
    return Resource(address, kind, form, owner.document, form.written(value), root, owner.address)


def _edges(resource: Resource, scope: Scope | None) -> Iterable[Edge]:
    address = resource.address
    if address.up:
        yield Edge(address, address.up, (resource.kind.parent_key,), None)
    for field, reference in resource.references():
        target_reference = reference.within(scope) if scope else reference
        if target_reference.address is not None and target_reference.scope is None:
            yield Edge(address, target_reference.address, field.at, target_reference)
    document = resource.document  # no function call here: most files have no such path
    if "datastores/" in document.source.text or document.__class__ is not Document:
        yield from _datastores(resource, scope)
    for routing in resource.kind.route_fields:
        from mlctl.kinds import routes  # noqa: PLC0415 - of endpoints alone

        value = resource.get(*map(str, routing.at))
        for name in routes.shares(value):
            target = Address(children(address.kind)[0].name, name, address.name)
            at = (*routing.at, name) if isinstance(value, dict) else routing.at
            yield Edge(address, target, at, None, deferred=True)


def _datastores(resource: Resource, scope: Scope | None) -> Iterator[Edge]:
    """Yield the edges to the datastores of paths, except for a workspace's default ones."""
    from mlctl.kinds import datastore_uri  # noqa: PLC0415 - few files have such paths

    data = pointer.get(resource.document.data, resource.root)
    for at, text in pointer.texts(data):
        target = datastore_uri.datastore(text, scope)
        if target is not None:
            yield Edge(resource.address, target, at, None)
