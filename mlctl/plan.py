"""The desired graph and the surveyed world to a plan: what would change, and why. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter

from mlctl import predict
from mlctl.backends.base import Live
from mlctl.changes import Action, Change, FieldChange, Plan
from mlctl.diagnostics import Diagnostic
from mlctl.graph import Edge, Graph
from mlctl.kinds import codec, kind_of
from mlctl.kinds.address import COLLECTIONS, Address, Scope
from mlctl.kinds.field import Field, Mutability
from mlctl.kinds.kind import complete, decode, fingerprint
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.survey import Survey, named_by


def plan(
    graph: Graph,
    world: Survey,
    *,
    backend: str,
    destroying: bool = False,
    targets: Collection[Address] = (),
) -> Plan:
    """The plan that makes the world as the graph says, or that removes what the graph declares.

    `targets` narrow it to some addresses and all that they need (when destroying: all that needs them).
    """
    chosen = _chosen(graph, targets, destroying=destroying)
    if destroying:
        changes = [change for one in chosen for change in _removed(one, world)]
        rejections = list(predict.removals(changes, world))
    else:
        planner = _Planner(graph, world)
        changes = planner.changes(chosen)
        rejections = [*planner.rejections, *predict.refusals(changes, world)]
    changes.sort(key=lambda change: change.address)
    return Plan(
        backend, world.scope, tuple(changes), _read(changes, world, graph), tuple(rejections)
    )


def removal(
    live: Live,
    known: Mapping[Address, Live],
    backend: str,
    scope: Scope,
    users: Mapping[Address, list[Address]],
) -> Plan:
    """The plan that deletes one live resource that no file declares."""
    change = Change(live.address, Action.DELETE, live=live, reason="delete_by_request")
    rejections = predict.removals([change], Survey(scope, "", known, users=users))
    read: dict[Address, str | None] = {
        live.address: fingerprint(live.body, kind_of(live.address), scope)
    }
    return Plan(backend, scope, (change,), read, tuple(rejections))


def differences(
    fields: Iterable[Field],
    wanted: Mapping[Pointer, Data],
    had: Mapping[Pointer, Data],
    scope: Scope,
) -> list[FieldChange]:
    """Where the wanted values mean something else than those that are there; both in YAML's spelling."""
    found: list[FieldChange] = []
    for one in fields:
        if one.at in wanted and one.compared and one.mutability is not Mutability.READ_ONLY:
            found.extend(_difference(one, had.get(one.at), wanted[one.at], scope))
    return found


def _difference(one: Field, before: Data, after: Data, scope: Scope) -> Iterable[FieldChange]:
    forces = one.mutability is Mutability.REPLACE
    if one.codec == "map":
        old, new = (codec.canonical(value, one, scope) for value in (before, after))
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and not (one.additive and key not in new):
                yield FieldChange((*one.at, key), old.get(key), new.get(key), forces)
        return
    same = None if before is None else codec.canonical(before, one, scope)
    wanted = codec.canonical(after, one, scope)
    if same != wanted and not (before is None and wanted in ("", None)):
        yield FieldChange(one.at, before, after, forces)


def _chosen(graph: Graph, targets: Collection[Address], *, destroying: bool) -> list[Resource]:
    """The resources to look at, each after those that it needs."""
    wanted = _targeted(graph, targets, destroying=destroying) if targets else graph.resources
    sorter: TopologicalSorter[Address] = TopologicalSorter()
    for address in sorted(graph.resources):
        needs = (edge.target for edge in graph.edges_of(address) if not edge.deferred)
        sorter.add(address, *(one for target in needs for one in graph.declared(target)))
    return [graph.resources[address] for address in sorter.static_order() if address in wanted]


def _targeted(graph: Graph, targets: Collection[Address], *, destroying: bool) -> set[Address]:
    chosen: set[Address] = set()
    queue = [one for target in targets for one in graph.declared(target)]
    while queue:
        address = queue.pop()
        if address in chosen:
            continue
        chosen.add(address)
        if destroying:
            queue += [edge.source for edge in graph.edges if address in graph.declared(edge.target)]
        else:
            queue += [
                one for edge in graph.edges_of(address) for one in graph.declared(edge.target)
            ]
    return chosen


def _removed(resource: Resource, world: Survey) -> Iterable[Change]:
    live = world.live.get(resource.address)
    if live is not None and resource.owner is None:
        yield Change(live.address, Action.DELETE, (), resource, {}, live, "delete_by_request")


def _read(changes: Iterable[Change], world: Survey, graph: Graph) -> dict[Address, str | None]:
    """The fingerprints of what was looked at: the resources themselves, and what they name."""
    live = {found.address: found for found in world.live.values()} | dict(world.live)
    looked = {change.address for change in changes}
    for change in changes:
        if change.resource is not None:
            looked |= {
                edge.target for edge in graph.edges_of(change.resource.address) if not edge.deferred
            }
    return {
        address: fingerprint(live[address].body, kind_of(address), world.scope)
        if address in live
        else None
        for address in sorted(looked)
    }


class _Planner:
    """Decides resource by resource, each after those that it needs."""

    def __init__(self, graph: Graph, world: Survey) -> None:
        self._graph = graph
        self._world = world
        self._decided: dict[Address, Change] = {}
        self.rejections: list[Diagnostic] = []

    def changes(self, resources: Iterable[Resource]) -> list[Change]:
        """The change of every resource, those with nothing to do included."""
        for resource in resources:
            self._decided[resource.address] = self._decide(resource)
        return list(self._decided.values())

    def _decide(self, resource: Resource) -> Change:
        values, notes = self._resolved(resource)
        live = self._world.live.get(resource.address) or self._same_content(resource)
        wanted = complete(values, resource.form)
        if live is None:
            address = (
                resource.address
                if resource.address.version or not resource.kind.versioned
                else resource.address.at("1")
            )
            return Change(
                address, Action.CREATE, self._all(wanted, resource, notes), resource, wanted
            )
        had = decode(live.body, resource.form, self._world.scope)
        fields = [
            replace(one, note=notes.get(one.at, ""))
            for one in differences(resource.form.fields, wanted, had, self._world.scope)
        ]
        change = Change(live.address, Action.UPDATE, tuple(fields), resource, wanted, live)
        self.rejections.extend(predict.altered(change))
        return self._classified(change, notes)

    def _classified(self, change: Change, notes: Mapping[Pointer, str]) -> Change:
        resource = change.resource
        assert resource is not None
        above = self._decided.get(resource.address.up) if resource.address.up else None
        if above is not None and above.action is Action.REPLACE:
            return replace(
                change,
                action=Action.REPLACE,
                reason="replace_because_parent",
                because=above.address,
            )
        if not any(one.forces_replacement for one in change.fields):
            return change if change.fields else replace(change, action=Action.NO_OP)
        if not resource.kind.versioned:
            return replace(change, action=Action.REPLACE, reason="replace_because_cannot_update")
        if resource.address.version is not None:
            self.rejections.append(predict.immutable_version(change))
            return change
        new = resource.address.at(_next(change.address.version))
        return Change(
            new, Action.CREATE, self._all(change.values, resource, notes), resource, change.values
        )

    def _resolved(self, resource: Resource) -> tuple[dict[Pointer, Data], dict[Pointer, str]]:
        """The values with every reference to one version, and a note where the file left it open."""
        values, notes = dict(resource.values), dict[Pointer, str]()
        for edge in self._graph.edges_of(resource.address):
            found = self._found(edge)
            if found is None:
                self.rejections.append(predict.missing(resource, edge))
            elif edge.reference is not None and COLLECTIONS[found.kind][2]:
                values[edge.at] = f"azureml:{found.name}:{found.version}"
                if edge.reference.floating:
                    notes[edge.at] = f"@{edge.reference.label or 'latest'}"
        return values, notes

    def _found(self, edge: Edge) -> Address | None:
        """The one address that an edge leads to: declared and decided, else live; None when it is missing."""
        declared = self._graph.declared(edge.target)
        decided = [self._decided[one] for one in declared if one in self._decided]
        new = [change.address for change in decided if change.action is Action.CREATE]
        if edge.target.version is not None or not COLLECTIONS[edge.target.kind][2]:
            if decided:
                return decided[0].address
            return edge.target if declared or edge.target in self._world.live else None
        if new:
            return max(new, key=lambda one: _order(one.version))
        live = self._world.live.get(edge.target)
        return live.address if live else None

    def _same_content(self, resource: Resource) -> Live | None:
        """For an anonymous asset: the one that its owner uses today, if it has the same content."""
        owner = self._world.live.get(resource.owner) if resource.owner else None
        if owner is None:
            return None
        wanted = complete(resource.values, resource.form)
        for used in named_by(owner, self._world.scope):
            live = self._world.live.get(used)
            if live is not None and used.kind == resource.address.kind:
                had = decode(live.body, resource.form, self._world.scope)
                if not differences(resource.form.fields, wanted, had, self._world.scope):
                    return live
        return None

    def _all(
        self, values: Mapping[Pointer, Data], resource: Resource, notes: Mapping[Pointer, str]
    ) -> tuple[FieldChange, ...]:
        """Every value as a change from nothing."""
        return tuple(
            FieldChange(
                one.at, None, values[one.at], sensitive=one.secret, note=notes.get(one.at, "")
            )
            for one in resource.form.fields
            if one.at in values and one.mutability is not Mutability.READ_ONLY
        )


def _order(version: str | None) -> tuple[int, str]:
    return (int(version), "") if version and version.isdecimal() else (-1, version or "")


def _next(version: str | None) -> str:
    return str(int(version) + 1) if version and version.isdecimal() else f"{version}-2"
