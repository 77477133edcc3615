"""From the graph of the files and the live state to a plan. Pure: reads nothing, writes nothing."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter
from operator import attrgetter

from mlctl import pointer
from mlctl.assets import names
from mlctl.backends.ports.backend import Live
from mlctl.config.graph import Edge, Graph
from mlctl.diagnostics import Diagnostic
from mlctl.kinds import codec
from mlctl.kinds.address import LATEST, Address, version_key
from mlctl.kinds.field import Mutability
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import Values, complete, moving
from mlctl.planning.blue_green.successors import NONE, Successors, taken_over, with_successors
from mlctl.planning.diff import differences, failed_operation
from mlctl.planning.live_state import LiveState, named_by
from mlctl.planning.model import Action, ActionReason, Change, FieldChange, Plan, Unfinished
from mlctl.planning.ownership.owner import NOBODY, Ownership
from mlctl.planning.ownership.pruning import Prune, pruned
from mlctl.planning.preflight import checks, immutability, protection, quota, references
from mlctl.planning.removal import removed
from mlctl.planning.unfinished.restore import NOTE, notes_by_field, restore_routes, restore_values
from mlctl.pointer import Data, Pointer


def plan(
    graph: Graph,
    live_state: LiveState,
    *,
    backend: str,
    destroying: bool = False,
    targets: Collection[Address] = (),
    ownership: Ownership = NOBODY,
    prune: Prune | None = None,
    successors: Successors = NONE,
) -> Plan:
    """The plan that makes the live state match the graph, or deletes what it declares.

    `targets` limit it to these addresses and all that they need (destroying: all that needs them).
    With `prune` it deletes, too, what the project owns and no file declares. `successors` take the
    place of the resources by whose addresses they go here, which are deleted last.
    """
    chosen = _chosen(graph, targets, destroying=destroying)
    if destroying:
        changes = list(removed(chosen, live_state))
        found = list(checks.deletion_findings(changes, live_state))
    else:
        planner = _Planner(graph, live_state, ownership, successors)
        changes = planner.changes(chosen)
        changes = with_successors(changes, live_state, successors)
        about = {*targets, *(change.address for change in changes)} if targets else None
        changes = restore_routes(changes, live_state, about)
        if prune:
            changes += (
                one for one in pruned(graph, live_state, prune) if one.address not in successors
            )
        found = [*planner.rejections, *checks.findings(changes, live_state)]
    changes = [_with_dependents(change, live_state) for change in changes]
    changes.sort(key=attrgetter("address.sort_key"))
    limit = prune.limit if prune else None
    forbidden = list(protection.findings(changes, live_state, ownership, limit))
    return Plan(
        backend,
        live_state.scope,
        tuple(changes),
        _read(changes, live_state, graph),
        tuple(one for one in found if one.is_error),
        quota.waits(checks.before_pruning(changes, live_state), live_state),
        tuple(one for one in (*found, *forbidden) if not one.is_error),
        tuple(one for one in forbidden if one.is_error),
    )


def _with_dependents(change: Change, live_state: LiveState) -> Change:
    users = live_state.used_by.get(change.address, ()) if change.action.deletes else ()
    return replace(change, dependents=tuple(sorted(users))) if users else change


def _chosen(graph: Graph, targets: Collection[Address], *, destroying: bool) -> list[Resource]:
    """The resources to look at, each after those that it needs."""
    wanted = _targeted(graph, targets, destroying=destroying) if targets else graph.resources
    sorter: TopologicalSorter[Address] = TopologicalSorter()
    for address in sorted(graph.resources, key=attrgetter("sort_key")):
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
            queue += [one.source for one in graph.edges if address in graph.declared(one.target)]
        else:
            edges = graph.edges_of(address)
            queue += [one for edge in edges for one in graph.declared(edge.target)]
    return chosen


def _read(
    changes: Iterable[Change], live_state: LiveState, graph: Graph
) -> dict[Address, str | None]:
    """The fingerprints of the resources themselves and of those that they refer to."""
    live = {found.address: found for found in live_state.live.values()} | dict(live_state.live)
    decoded = live_state.values
    looked = set()
    for change in changes:
        if change.action is not Action.DELETE or change.live is not None:
            looked.add(change.address)
        if change.resource is not None:
            edges = graph.edges_of(change.resource.address)
            looked |= {
                one.target for one in edges if one.target.version or not graph.declared(one.target)
            }
    return {
        address: decoded.fingerprint(live[address]) if address in live else None
        for address in sorted(looked, key=attrgetter("sort_key"))
    }


class _Planner:
    """Decides the change of each resource, after those of the resources that it needs."""

    def __init__(
        self, graph: Graph, live_state: LiveState, ownership: Ownership, successors: Successors
    ) -> None:
        self._predecessors = {new: live_state.live.get(old) for old, new in successors.items()}
        self._graph = graph
        self._ownership = ownership
        self._live_state = live_state
        self._decoded = live_state.values
        self._decided: dict[Address, Change] = {}
        self._replaced: set[Address] = set()
        self.rejections: list[Diagnostic] = []

    def changes(self, resources: Iterable[Resource]) -> list[Change]:
        """The change of every resource, those with nothing to do included.

        They include an endpoint that no file declares if one of its deployments is replaced: the
        deployment may be its default, which must be unset meanwhile.
        """
        for resource in resources:
            change = self._decided[resource.address] = self._decide(resource)
            if change.action is Action.REPLACE:
                self._replaced.add(change.address)
        parents = {one.up for one in self._replaced if one.up is not None} - self._decided.keys()
        held = [Change(one, Action.NO_OP, live=self._live_state.live.get(one)) for one in parents]
        return [*self._decided.values(), *held]

    def _decide(self, resource: Resource) -> Change:
        values, notes = self._resolved(resource)
        live = self._same_content(resource, values) or self._live_state.live.get(resource.address)
        wanted: Values = complete(values, resource.form)
        if live is None:
            new = resource.kind.versioned and resource.address.version is None
            address = resource.address.at("1") if new else self._renamed(resource, values)
            return self._created(address, resource, wanted, notes)
        if moving(live.body) and live.address.up not in self._replaced:
            # Until it ends, the body shows nulls and defaults for what was not sent (recorded:
            # card compute-patch-scale).
            return Change(live.address, Action.NO_OP, (), resource, wanted, live)
        wanted = self._ownership.over(resource, wanted, live)
        change = self._compared(resource, wanted, live, notes)
        anew = live.address.up in self._replaced or (
            any(one.forces_replacement for one in change.fields) and not resource.kind.versioned
        )
        if change.fields or anew:
            marked = self._ownership.marked(
                resource, wanted, self._live_state.scope, live, anew=anew
            )
            if marked is not wanted:
                change = self._compared(resource, marked, live, notes)
        self.rejections.extend(immutability.altered(change, resource))
        return self._classified(change, resource, live, notes)

    def _compared(
        self, resource: Resource, wanted: Values, live: Live, notes: Mapping[Pointer, str]
    ) -> Change:
        """The update to the wanted values; without fields where there is nothing to do."""
        had = self._decoded.values(live.body, resource.form)
        fields = [
            replace(one, note=notes.get(one.at, ""))
            for one in differences(resource.form.fields, wanted, had, self._live_state.scope)
        ]
        if resource.anonymous and live.address == resource.address:
            # Its name is its content, spelt by whoever made it: `@latest`, or what that was then.
            fields = [one for one in fields if not one.forces_replacement]
        fields += failed_operation(live)
        return Change(live.address, Action.UPDATE, tuple(fields), resource, wanted, live)

    def _created(
        self, address: Address, resource: Resource, values: Values, notes: Mapping[Pointer, str]
    ) -> Change:
        """The change that creates a resource: every value as a change from nothing."""
        scope, unfinished = self._live_state.scope, self._live_state.unfinished.get(address)
        before = taken_over(self._predecessors.get(address), resource, scope)
        had = Unfinished(address, before.body) if before is not None else unfinished
        if had is not None:
            said, values = values, restore_values(had, resource, values, scope, self._ownership)
            told = str(before.address) if before is not None else NOTE
            notes = {**notes, **notes_by_field(said, values, told)}
        values = self._ownership.marked(resource, values, scope)
        fields = (
            FieldChange(
                one.at, None, values[one.at], sensitive=one.secret, note=notes.get(one.at, "")
            )
            for one in resource.form.fields
            if one.at in values and one.mutability is not Mutability.READ_ONLY
        )
        return Change(
            *(address, Action.CREATE, tuple(fields), resource, values),
            unfinished=unfinished,
            replaces=before,
        )

    def _classified(
        self, change: Change, resource: Resource, live: Live, notes: Mapping[Pointer, str]
    ) -> Change:
        if live.address.up in self._replaced:
            above = live.address.up
            reason = ActionReason.PARENT_REPLACED
            return replace(change, action=Action.REPLACE, reason=reason, because=above)
        if not any(one.forces_replacement for one in change.fields):
            return change if change.fields else replace(change, action=Action.NO_OP)
        if not resource.kind.versioned:
            reason = ActionReason.CANNOT_UPDATE
            return replace(change, action=Action.REPLACE, reason=reason)
        if resource.address.version is not None:
            self.rejections.append(immutability.immutable_version(change, resource))
            return change
        new = resource.address.at(_next(change.address.version))
        return self._created(new, resource, change.values, notes)

    def _resolved(self, resource: Resource) -> tuple[dict[Pointer, Data], dict[Pointer, str]]:
        """The values with a version in every reference, and notes on the versions left open."""
        values, notes = dict(resource.values), dict[Pointer, str]()
        for edge in self._graph.edges_of(resource.address):
            found = self._found(edge)
            if found is None and edge.reference is not None and codec.is_curated(edge.reference):
                continue  # the service takes it, whether the workspace lists it or not
            if found is None:
                self.rejections.append(references.missing(resource, edge))
            elif edge.reference is not None and ALL[found.kind].versioned:
                _put(values, edge.at, f"azureml:{found.name}:{found.version}")
                if edge.reference.floating:
                    notes[edge.at] = f"@{edge.reference.label or LATEST}"
        return values, notes

    def _found(self, edge: Edge) -> Address | None:
        """The address that an edge leads to, declared or live; None if there is none."""
        target, live = edge.target, self._live_state.live.get(edge.target)
        decided = [
            self._decided[one] for one in self._graph.declared(target) if one in self._decided
        ]
        if edge.reference is not None and edge.reference.floating:
            if edge.reference.label not in (None, LATEST):
                return None  # the service knows no other label
            new = [change.address for change in decided if change.action is Action.CREATE]
            newest = max(new, key=lambda one: version_key(one.version), default=None)
            return newest or (live.address if live else None)
        if target in self._decided:
            return self._decided[target].address
        if target in self._graph.resources or live is not None:
            return target
        return next((one.address for one in decided if one.address == target), None)

    def _same_content(self, resource: Resource, values: Mapping[Pointer, Data]) -> Live | None:
        """For an inline asset: a live one that its owner uses, if the content is the same.

        Where the file gives a name, that one must have it; where it gives a version too, the live
        asset is found by its address instead.
        """
        said = (one for one in resource.form.fields if one.compared and one.at in values)
        if resource.owner is None or not any(said):
            return None
        name = resource.given_name or ""
        if name and resource.get("version") is not None:
            return None
        wanted = complete(values, resource.form)
        for live in self._in_use(resource):
            alike = not name or live.address.name.casefold() == name.casefold()
            if live.address.kind == resource.address.kind and alike:
                had = self._decoded.values(live.body, resource.form)
                if not differences(resource.form.fields, wanted, had, self._live_state.scope):
                    return live
        return None

    def _renamed(self, resource: Resource, values: Mapping[Pointer, Data]) -> Address:
        """The address that follows from the content, in which references are resolved now."""
        if not (resource.anonymous and resource.kind.content.named_by_path):
            return resource.address
        unnamed = replace(resource, values=values, address=Address(resource.kind.name, ""))
        return names.named(unnamed, self._live_state.scope).address

    def _in_use(self, resource: Resource) -> Iterator[Live]:
        """The live assets that what an asset is a part of uses, by itself or by one another."""
        top: Resource | None = resource
        while top is not None and top.owner is not None:
            owner, top = top.owner, self._graph.resources.get(top.owner)
        live = self._live_state.live
        new, seen = [owner] if owner in live else [], {owner}
        while new:
            for used in named_by(live[new.pop()], self._live_state.scope):
                if used in live and used not in seen:
                    seen.add(used)
                    new.append(used)
                    yield live[used]


def _put(values: dict[Pointer, Data], at: Pointer, value: Data) -> None:
    """Set a field, or a place within the value of one."""
    holder = next((at[:end] for end in range(len(at), 0, -1) if at[:end] in values), at)
    if holder == at:
        values[at] = value
        return
    values[holder] = copy.deepcopy(values[holder])
    pointer.put(values[holder], at[len(holder) :], value)


def _next(version: str | None) -> str:
    return str(int(version) + 1) if version and version.isdecimal() else f"{version}-2"
