"""Compute a plan from the graph of the files and the live state. Pure: no I/O."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from operator import attrgetter

from mlctl import pointer
from mlctl.assets import names
from mlctl.backends.ports.backend import Live
from mlctl.config.graph import Edge, Graph
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic
from mlctl.kinds import ALL, Address, Resource, codec
from mlctl.kinds.address import LATEST, version_key
from mlctl.kinds.field import Mutability
from mlctl.kinds.values import Values, complete, moving
from mlctl.planning.blue_green.successors import NONE, Successors, add_successors, inheritable
from mlctl.planning.diff import changed_secrets, differences, failed_operation
from mlctl.planning.live_state import Fingerprints, LiveState, names_in
from mlctl.planning.model import Action, ActionReason, Change, FieldChange, Plan, Unfinished
from mlctl.planning.ownership.owner import NOBODY, Ownership, Prune, prune_undeclared
from mlctl.planning.preflight import checks, protection, quota, references
from mlctl.planning.removal import delete_declared
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
    overwriting: bool = False,
) -> Plan:
    """Plan to make the live state match the graph, or to delete what the graph declares.

    `targets` limit the plan to these addresses and what they need (destroying: what needs them).
    With `prune`, resources that the project owns but no file declares are deleted. `successors`
    replace the resources at their keys, which are deleted last. `overwriting` changes in place what
    az writes by a PUT, although REST documents it as fixed.
    """
    chosen = _select(graph, targets, destroying=destroying)
    if destroying:
        changes = list(delete_declared(chosen, live_state))
        findings = list(checks.deletion_findings(changes, live_state))
    else:
        planner = _Planner(graph, live_state, ownership, successors, overwriting=overwriting)
        changes = planner.changes(chosen)
        changes = add_successors(changes, live_state, successors)
        about = {*targets, *(change.address for change in changes)} if targets else None
        changes = restore_routes(changes, live_state, about)
        if prune:
            changes += (
                change
                for change in prune_undeclared(graph, live_state, prune)
                if change.address not in successors
            )
        findings = [*planner.rejections, *checks.findings(changes, live_state)]
    changes = [_with_dependents(change, live_state) for change in changes]
    changes.sort(key=attrgetter("address.sort_key"))
    limit = prune.limit if prune else None
    forbidden = list(protection.findings(changes, live_state, ownership, limit))
    return Plan(
        backend,
        live_state.scope,
        tuple(changes),
        _fingerprints(changes, live_state, graph),
        tuple(finding for finding in findings if finding.is_error),
        quota.waits(checks.before_pruning(changes, live_state), live_state),
        tuple(finding for finding in (*findings, *forbidden) if not finding.is_error),
        tuple(finding for finding in forbidden if finding.is_error),
        location=live_state.location,
        prices=live_state.prices,
    )


def _with_dependents(change: Change, live_state: LiveState) -> Change:
    users = live_state.used_by.get(change.address, ()) if change.action.deletes else ()
    return replace(change, dependents=tuple(sorted(users))) if users else change


def _select(graph: Graph, targets: Collection[Address], *, destroying: bool) -> list[Resource]:
    """Return the resources to plan, each after those that it needs."""
    targeted = (
        _select_targets(graph, targets, destroying=destroying) if targets else graph.resources
    )
    sorter: TopologicalSorter[Address] = TopologicalSorter()
    for address in sorted(graph.resources, key=attrgetter("sort_key")):
        needs = (edge.target for edge in graph.edges_of(address) if not edge.deferred)
        sorter.add(address, *(declared for target in needs for declared in graph.declared(target)))
    return [graph.resources[address] for address in sorter.static_order() if address in targeted]


def _select_targets(
    graph: Graph, targets: Collection[Address], *, destroying: bool
) -> set[Address]:
    chosen: set[Address] = set()
    users = _users(graph) if destroying else {}
    queue = [resource for target in targets for resource in graph.declared(target)]
    while queue:
        address = queue.pop()
        if address in chosen:
            continue
        chosen.add(address)
        if destroying:
            queue += users.get(address, ())
        else:
            edges = graph.edges_of(address)
            queue += [needed for edge in edges for needed in graph.declared(edge.target)]
    return chosen


def _users(graph: Graph) -> dict[Address, list[Address]]:
    """Return the declared resources that refer to each address."""
    users = defaultdict[Address, list[Address]](list)
    for edge in graph.edges:
        for address in graph.declared(edge.target):
            users[address].append(edge.source)
    return users


def _fingerprints(changes: Iterable[Change], live_state: LiveState, graph: Graph) -> Fingerprints:
    """Return the fingerprints of the resources, and of those that they refer to."""
    live = {resource.address: resource for resource in live_state.live.values()} | dict(
        live_state.live
    )
    looked = set()
    for change in changes:
        if change.action is not Action.DELETE or change.live is not None:
            looked.add(change.address)
        if change.resource is not None:
            edges = graph.edges_of(change.resource.address)
            looked |= {
                edge.target
                for edge in edges
                if edge.target.version or not graph.declared(edge.target)
            }
    in_order = sorted(looked, key=attrgetter("sort_key"))
    return Fingerprints({address: live.get(address) for address in in_order}, live_state.scope)


class _Planner:
    """Decides the change of each resource, after those that it needs."""

    def __init__(
        self,
        graph: Graph,
        live_state: LiveState,
        ownership: Ownership,
        successors: Successors,
        *,
        overwriting: bool,
    ) -> None:
        self._overwriting = overwriting
        self._predecessors = {new: live_state.live.get(old) for old, new in successors.items()}
        self._graph = graph
        self._ownership = ownership
        self._live_state = live_state
        self._decoded = live_state.bodies
        self._decided: dict[Address, Change] = {}
        self._replaced: set[Address] = set()
        self.rejections: list[Diagnostic] = []

    def changes(self, resources: Iterable[Resource]) -> list[Change]:
        """Return the change of every resource, including no-ops.

        They include an endpoint that no file declares if one of its deployments is replaced: the
        deployment may be its default, which must be unset meanwhile.
        """
        for resource in resources:
            change = self._decided[resource.address] = self._decide(resource)
            if change.action is Action.REPLACE:
                self._replaced.add(change.address)
        parents = {
            address.up for address in self._replaced if address.up is not None
        } - self._decided.keys()
        endpoints = [
            Change(parent, Action.NO_OP, live=self._live_state.live.get(parent))
            for parent in parents
        ]
        return [*self._decided.values(), *endpoints]

    def _decide(self, resource: Resource) -> Change:
        values, notes = self._resolve_references(resource)
        live = self._find_same_content(resource, values) or self._live_state.live.get(
            resource.address
        )
        if self._live_state.labels:
            for at, version in self._live_state.labels.get(resource.address, {}).items():
                values[at], notes[at] = version, f"@{resource.values[at].rpartition('/')[2]}"
        desired: Values = complete(values, resource.form)
        if live is None:
            new = resource.kind.versioned and resource.address.version is None
            own = self._named_by_content(resource, values)
            return self._create(self._graph.unused(own) if new else own, resource, desired, notes)
        if moving(live.body) and live.address.up not in self._replaced:
            # While it runs, the body shows nulls and defaults for what was not sent (recorded: card
            # compute-patch-scale).
            return Change(live.address, Action.NO_OP, (), resource, desired, live)
        desired = self._ownership.keep_own_tags(resource, desired, live)
        change = self._compare(resource, desired, live, notes)
        recreated = live.address.up in self._replaced or (
            any(field.forces_replacement for field in change.fields) and not resource.kind.versioned
        )
        if change.fields or recreated:
            marked = self._ownership.tag(
                resource, desired, self._live_state.scope, live, recreated=recreated
            )
            if marked is not desired:
                change = self._compare(resource, marked, live, notes)
        self.rejections.extend(checks.altered(change, resource))
        if resource.form.marked_secrets and change.fields:
            self.rejections.extend(checks.lost_secret(resource, live))
        return self._classify(change, resource, live, notes)

    def _compare(
        self, resource: Resource, desired: Values, live: Live, notes: Mapping[Pointer, str]
    ) -> Change:
        """Return the update to the desired values, or a no-op."""
        live_values = self._decoded.values(live.body, resource.form)
        fields = [
            replace(field, note=notes.get(field.at, ""))
            for field in differences(
                resource.form.fields, desired, live_values, self._live_state.scope
            )
        ]
        if resource.anonymous and live.address == resource.address:
            # Its name is its content, however spelt: `@latest`, or the version that it was.
            fields = [field for field in fields if not field.forces_replacement]
        if self._overwriting and resource.form.overwritten:
            fields = [
                replace(field, forces_replacement=False)
                if field.at in resource.form.overwritten
                else field
                for field in fields
            ]
        if resource.form.marked_secrets:
            fields += changed_secrets(resource.form, desired, live)
        fields += failed_operation(live)
        action = Action.UPDATE if fields else Action.NO_OP
        return Change(live.address, action, tuple(fields), resource, desired, live)

    def _create(
        self, address: Address, resource: Resource, values: Values, notes: Mapping[Pointer, str]
    ) -> Change:
        """Return the change that creates a resource, with every value as new."""
        scope, unfinished = self._live_state.scope, self._live_state.unfinished.get(address)
        old = inheritable(self._predecessors.get(address), resource, scope)
        previous = Unfinished(address, old.body) if old is not None else unfinished
        if previous is not None:
            declared, values = (
                values,
                restore_values(previous, resource, values, scope, self._ownership),
            )
            note = str(old.address) if old is not None else NOTE
            notes = {**notes, **notes_by_field(declared, values, note)}
        values = self._ownership.tag(resource, values, scope)
        fields = tuple(
            FieldChange(
                field.at,
                None,
                values[field.at],
                sensitive=field.secret,
                note=notes.get(field.at, ""),
            )
            for field in resource.form.fields
            if field.at in values and field.mutability is not Mutability.READ_ONLY
        )
        return Change(
            address, Action.CREATE, fields, resource, values, unfinished=unfinished, replaces=old
        )

    def _classify(
        self, change: Change, resource: Resource, live: Live, notes: Mapping[Pointer, str]
    ) -> Change:
        if live.address.up in self._replaced:
            above = live.address.up
            reason = ActionReason.PARENT_REPLACED
            return replace(change, action=Action.REPLACE, reason=reason, because=above)
        if not any(field.forces_replacement for field in change.fields):
            return change
        if not resource.kind.versioned:
            reason = ActionReason.CANNOT_UPDATE
            return replace(change, action=Action.REPLACE, reason=reason)
        if resource.address.version is not None:
            self.rejections.append(checks.immutable_version(change, resource))
            return change
        new = self._graph.unused(resource.address, change.address.version)
        return self._create(new, resource, change.values, notes)

    def _resolve_references(
        self, resource: Resource
    ) -> tuple[dict[Pointer, Data], dict[Pointer, str]]:
        """Return the values with a version in every reference, and notes on open versions."""
        values, notes = dict(resource.values), dict[Pointer, str]()
        for edge in self._graph.edges_of(resource.address):
            address = self._resolve(edge)
            if address is None and edge.reference is not None and codec.is_curated(edge.reference):
                continue  # the service accepts it whether the workspace lists it or not
            if address is None:
                self.rejections.append(references.missing(resource, edge))
            elif edge.reference is not None and ALL[address.kind].versioned:
                _put(values, edge.at, f"azureml:{address.name}:{address.version}")
                if edge.reference.floating:
                    notes[edge.at] = f"@{edge.reference.label or LATEST}"
        return values, notes

    def _resolve(self, edge: Edge) -> Address | None:
        """Return the declared or live address of an edge; None if it does not exist."""
        target, live = edge.target, self._live_state.live.get(edge.target)
        decided = [
            self._decided[declared]
            for declared in self._graph.declared(target)
            if declared in self._decided
        ]
        if edge.reference is not None and edge.reference.floating:
            if edge.reference.label not in (None, LATEST):
                return None  # the service has no other label
            new = [change.address for change in decided if change.action is Action.CREATE]
            newest = max(new, key=lambda address: version_key(address.version), default=None)
            return newest or (live.address if live else None)
        if target in self._decided:
            return self._decided[target].address
        if target in self._graph.resources or live is not None:
            return target
        return next((change.address for change in decided if change.address == target), None)

    def _find_same_content(self, resource: Resource, values: Mapping[Pointer, Data]) -> Live | None:
        """Find a live asset with an inline asset's content among those that its owner uses.

        Where the file gives a name, that one must have it; where it gives a version too, the live
        asset is found by its address instead.
        """
        declared = (
            field for field in resource.form.fields if field.compared and field.at in values
        )
        if resource.owner is None or not any(declared):
            return None
        name = resource.given_name or ""
        if name and resource.get("version") is not None:
            return None
        desired = complete(values, resource.form)
        for live in self._in_use(resource):
            alike = not name or live.address.name.casefold() == name.casefold()
            if live.address.kind == resource.address.kind and alike:
                live_values = self._decoded.values(live.body, resource.form)
                if not differences(
                    resource.form.fields, desired, live_values, self._live_state.scope
                ):
                    return live
        return None

    def _named_by_content(self, resource: Resource, values: Mapping[Pointer, Data]) -> Address:
        """Return the address that follows from the content, with references resolved."""
        if not (resource.anonymous and resource.kind.content.named_by_path):
            return resource.address
        unnamed = replace(resource, values=values, address=Address(resource.kind.name, ""))
        return names.name_by_content(unnamed, self._live_state.scope).address

    def _in_use(self, resource: Resource) -> Iterator[Live]:
        """Yield the live assets that an inline asset's owner uses, directly or through others."""
        top: Resource | None = resource
        while top is not None and top.owner is not None:
            owner, top = top.owner, self._graph.resources.get(top.owner)
        live = self._live_state.live
        new, visited = [owner] if owner in live else [], {owner}
        while new:
            for used in names_in(live[new.pop()], self._live_state.scope):
                if used in live and used not in visited:
                    visited.add(used)
                    new.append(used)
                    yield live[used]


def _put(values: dict[Pointer, Data], at: Pointer, value: Data) -> None:
    """Set a field, or a place within its value."""
    holder = next((at[:end] for end in range(len(at), 0, -1) if at[:end] in values), at)
    if holder == at:
        values[at] = value
        return
    values[holder] = copy.deepcopy(values[holder])
    pointer.put(values[holder], at[len(holder) :], value)
