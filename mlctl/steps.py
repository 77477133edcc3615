"""A plan's changes to the single writes that carry them out, and which waits for which. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from mlctl import pointer
from mlctl.changes import Action, Change, Plan
from mlctl.graph import Graph
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.field import Form
from mlctl.kinds.kind import Values, encode, overlay
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer

_DEFAULT: Pointer = ("properties", "defaults", "deploymentName")


class Verb(Enum):
    """What a step asks of the backend."""

    PUT = "put"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a write-only value of a body stands in the user's files; plans name the place, never the value."""

    wire: Pointer
    file: str
    index: int
    at: Pointer


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One write. `change` is the resource whose change it belongs to, mostly the `target` itself.

    `needs` are the ids of the steps that must be done before. `doing` is the progress line's verb. A `subsumed`
    delete is carried out by the delete of the parent; it is there to be seen and waited for.
    """

    id: int
    change: Address
    verb: Verb
    target: Address
    doing: str
    body: Mapping[str, Data] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    secrets: tuple[Secret, ...] = ()
    subsumed: bool = False


@dataclass(frozen=True, eq=False)
class Work:
    """All that apply needs: nothing is looked up later. `read` has the fingerprints that the plan rests on."""

    backend: str
    scope: Scope
    steps: tuple[Step, ...]
    read: Mapping[Address, str | None]


def work(plan: Plan, graph: Graph) -> Work:
    """The steps of a plan, in an order in which they could be done one by one."""
    builder = _Builder(plan, graph)
    for change in _in_order(plan.pending, graph):
        builder.make(change)
    builder.set_defaults()
    builder.remove([change for change in plan.pending if change.action is Action.DELETE])
    return Work(plan.backend, plan.scope, tuple(builder.steps), plan.read)


def _in_order(changes: Sequence[Change], graph: Graph) -> list[Change]:
    """Changes that make something, each after those that it needs."""
    by_address = {
        change.resource.address: change for change in changes if change.resource is not None
    }
    done: dict[Address, Change] = {}

    def visit(address: Address) -> None:
        if address in done or address not in by_address:
            return
        for edge in graph.edges_of(address):
            if not edge.deferred:
                for one in graph.declared(edge.target):
                    visit(one)
        done[address] = by_address[address]

    for address in by_address:
        visit(address)
    return [change for change in done.values() if change.action is not Action.DELETE]


class _Builder:
    """Numbers the steps and remembers which step makes what."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self.steps: list[Step] = []
        self._graph = graph
        self._scope = plan.scope
        self._changes = {
            change.resource.address: change for change in plan.changes if change.resource
        }
        self._made: dict[Address, int] = {}
        self._bodies: dict[Address, Mapping[str, Data]] = {}

    def make(self, change: Change) -> None:
        """The steps that create, update or replace."""
        resource = _resource(change)
        needs = self._needs(resource)
        deferred = self._deferred(change)
        replaced = change.action is Action.REPLACE and change.because is None
        if replaced:
            unset = self._unset_default(change, needs)
            needs = (self._add(change, Verb.DELETE, "Destroying", needs=unset),)
        body = self._body(change)
        self._bodies[resource.address] = body
        if deferred:
            body = copy.deepcopy(body)
            pointer.drop(body, _DEFAULT)
            old = pointer.get(change.live.body, _DEFAULT) if change.live else None
            if old and not replaced:
                pointer.put(body, _DEFAULT, old)
            if [one.at for one in change.fields] == [("defaults", "deployment_name")]:
                return
        doing = "Modifying" if change.action is Action.UPDATE else "Creating"
        self._made[resource.address] = self._add(
            change, Verb.PUT, doing, body=body, needs=needs, secrets=_secrets(resource)
        )

    def set_defaults(self) -> None:
        """The last step of an endpoint whose default deployment was made, or made anew, by this plan."""
        for change in list(self._changes.values()):
            default = self._default_of(change)
            made = default is not None and default in self._made
            waiting = change.action in (
                Action.CREATE,
                Action.UPDATE,
                Action.REPLACE,
            ) and self._deferred(change)
            reset = made and default is not None and self._was_unset(default)
            if default is None or not (waiting or reset):
                continue
            resource = _resource(change)
            body = self._bodies.get(resource.address) or self._body(change)
            needs = [self._made[one] for one in (resource.address, default) if one in self._made]
            self._add(
                change, Verb.PUT, "Setting the default deployment of", body=body, needs=tuple(needs)
            )

    def remove(self, changes: Sequence[Change]) -> None:
        """Deletes, each after the deletes of what needs it; what lives under something deleted goes with it."""
        first = len(self.steps)
        ids = {_known_as(change): first + n for n, change in enumerate(changes)}
        for change in changes:
            address = _known_as(change)
            above = ids.get(address.up) if address.up else None
            users = {
                edge.source
                for edge in self._graph.edges
                if address in self._graph.declared(edge.target)
            }
            under = [one for one in users if one.up != address and one in ids and ids[one] != above]
            needs = (above,) if above is not None else tuple(sorted(ids[one] for one in under))
            self._add(change, Verb.DELETE, "Destroying", needs=needs, subsumed=above is not None)

    def _add(
        self,
        change: Change,
        verb: Verb,
        doing: str,
        *,
        target: Address | None = None,
        body: Mapping[str, Data] | None = None,
        needs: tuple[int, ...] = (),
        secrets: tuple[Secret, ...] = (),
        subsumed: bool = False,
    ) -> int:
        number = len(self.steps)
        address = change.address
        self.steps.append(
            Step(
                number,
                address,
                verb,
                target or address,
                doing,
                body or {},
                needs,
                secrets,
                subsumed,
            )
        )
        return number

    def _needs(self, resource: Resource) -> tuple[int, ...]:
        declared = (
            one
            for edge in self._graph.edges_of(resource.address)
            if not edge.deferred
            for one in self._graph.declared(edge.target)
        )
        return tuple(sorted({self._made[one] for one in declared if one in self._made}))

    def _default_of(self, change: Change) -> Address | None:
        """The default deployment that an endpoint shall have, where the files declare it."""
        if change.address.kind != "batch-endpoint" or change.resource is None:
            return None
        edges = self._graph.edges_of(change.resource.address)
        targets = [
            one for edge in edges if edge.deferred for one in self._graph.declared(edge.target)
        ]
        return targets[0] if targets else None

    def _deferred(self, change: Change) -> bool:
        """Whether an endpoint must wait with its default for a deployment of this plan."""
        default = self._default_of(change)
        pending = self._changes.get(default) if default is not None else None
        moved = change.action is not Action.UPDATE or any(
            one.at[0] == "defaults" for one in change.fields
        )
        return moved and pending is not None and pending.action in (Action.CREATE, Action.REPLACE)

    def _was_unset(self, deployment: Address) -> bool:
        return any(
            step.change == deployment and step.target == deployment.up and step.verb is Verb.PUT
            for step in self.steps
        )

    def _unset_default(self, change: Change, needs: tuple[int, ...]) -> tuple[int, ...]:
        """The service keeps a default deployment from being deleted: while it is replaced, there is none."""
        above = self._changes.get(change.address.up) if change.address.up else None
        live = above.live if above is not None else None
        default = str(pointer.get(live.body, _DEFAULT) or "") if live is not None else ""
        if above is None or live is None or default.casefold() != change.address.name.casefold():
            return needs
        body = copy.deepcopy(
            dict(
                self._bodies.get(above.address) or overlay(live.body, {}, _form(above), self._scope)
            )
        )
        pointer.drop(body, _DEFAULT)
        doing = "Unsetting the default deployment of"
        return (self._add(change, Verb.PUT, doing, target=above.address, body=body, needs=needs),)

    def _body(self, change: Change) -> dict[str, Data]:
        resource = _resource(change)
        if change.live is None or any(one.at == ("type",) for one in change.fields):
            body = encode(change.values, resource.form, self._scope)
        else:
            base = change.live.body
            if change.action is Action.REPLACE:
                base = _without_lost_secrets(base, resource, change.values)
            body = overlay(base, change.values, resource.form, self._scope)
        if resource.owner is not None and change.live is None:
            pointer.put(body, ("properties", "isAnonymous"), True)
        return body


def _known_as(change: Change) -> Address:
    """The address by which the graph knows what is changed; an asset's file may leave the version open."""
    return change.resource.address if change.resource is not None else change.address


def _resource(change: Change) -> Resource:
    assert change.resource is not None
    return change.resource


def _form(change: Change) -> Form:
    return _resource(change).form


def _without_lost_secrets(
    body: Mapping[str, Data], resource: Resource, values: Values
) -> dict[str, Data]:
    """What a replacement can carry over: an account whose password only the old resource knew cannot be made again."""
    kept = copy.deepcopy(dict(body))
    secrets = [one for one in resource.form.fields if one.secret]
    if not any(one.at in values for one in secrets):
        for one in secrets:
            pointer.drop(kept, one.wire[:-1])
    return kept


def _secrets(resource: Resource) -> tuple[Secret, ...]:
    document = resource.document
    return tuple(
        Secret(one.wire, document.source.name, document.index, (*resource.root, *one.at))
        for one in resource.form.fields
        if one.secret and one.at in resource.values
    )
