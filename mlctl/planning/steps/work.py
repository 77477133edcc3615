"""Split a plan's changes into single writes, and order them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, IntEnum
from functools import partial
from graphlib import TopologicalSorter
from typing import TypeAlias

from mlctl import masking, pointer
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Address, Resource, Scope, kind_of
from mlctl.kinds.address import version_key
from mlctl.kinds.resource import Upload
from mlctl.kinds.values import moving, overlay
from mlctl.planning.live_state import names_in
from mlctl.planning.model import Action, ActionReason, Change, Plan
from mlctl.planning.preflight import references
from mlctl.planning.steps.bodies import (
    NO_RESTORATION,
    BodyPart,
    Restoration,
    declared_part,
    restoration,
    routed_part,
)
from mlctl.planning.steps.routing import Routing, is_route, routing
from mlctl.pointer import Data, Pointer


class StepRole(Enum):
    """What a step is for. All but `DELETE` write."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    WAIT = "wait"  # for somebody else's operation; nothing else changes
    SET_DEFAULT = "set-default"  # set the deployments that get an endpoint's requests
    UNSET_DEFAULT = "unset-default"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret's value is in the user's files, since saved plans hold no secrets."""

    wire: Pointer
    file: str
    index: int
    at: Pointer


@dataclass(frozen=True, eq=False, slots=True)
class PlanStep:
    """One write. `change` is that of its resource, usually the `target` itself.

    `body` is only what the step sets: it is laid over the body that is read just before the write,
    which first loses what it has at the pointers `without`. So what a file does not declare is
    written as it is then, not as it was when the plan was made.

    `needs` are the ids of earlier steps. `uploads` is local content that must be uploaded before
    the body can refer to it. A `subsumed` delete is part of the parent's; the step waits until it
    has happened.
    """

    id: int
    change: Address
    role: StepRole
    target: Address
    body: Mapping[str, Data] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    secrets: tuple[Secret, ...] = ()
    subsumed: bool = False
    uploads: tuple[Upload, ...] = ()
    without: tuple[Pointer, ...] = ()
    restoration: Restoration = NO_RESTORATION

    @property
    def deletes(self) -> bool:
        """Whether the target is deleted; otherwise a body is written."""
        return self.role is StepRole.DELETE

    @property
    def creates(self) -> bool:
        """Whether the target is created."""
        return self.role is StepRole.CREATE

    def body_over(self, live: Mapping[str, Data] | None) -> dict[str, Data]:
        """Return the body to write over `live` (None: nothing exists)."""
        base = (self.restoration.base or {}) if live is None else live
        return overlay(base, self.body, self.without)


@dataclass(frozen=True, eq=False)
class Work:
    """Everything that apply needs: the steps in order, and the plan's fingerprints (`read`).

    `secrets` are those of the files; a saved plan has none.
    """

    backend: str
    scope: Scope
    steps: tuple[PlanStep, ...]
    read: Mapping[Address, str | None]
    secrets: frozenset[str] = frozenset()


def work(plan: Plan, graph: Graph) -> Work:
    """Return the steps of a plan, in an order in which they can be done one by one."""
    builder = _Builder(plan, graph)
    if not plan.empty:
        builder.build()
    return Work(plan.backend, plan.scope, tuple(builder.numbered()), plan.read, graph.secrets)


class _Stage(IntEnum):
    """The possible writes of one target, in order. Stage and target identify a step."""

    DELETE = 0
    PUT = 1
    SET_DEFAULT = 2


_Key: TypeAlias = tuple[_Stage, Address]
_Numbered: TypeAlias = Callable[..., PlanStep]  # makes the step from its `id` and `needs`


class _Builder:
    """Collects the steps, with the keys of those, if there are any, that each waits for."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._plan = plan
        self._graph = graph
        self._steps: dict[_Key, tuple[_Numbered, set[_Key]]] = {}
        self._order = {change.address: at for at, change in enumerate(plan.changes)}
        self._by_name = {_known_as(change): change for change in plan.changes}
        self._deleted = {change.address: change for change in plan.changes if change.action.deletes}
        self._users = _users(self._deleted.values(), plan.scope)
        self._leaving = references.leaving(plan.changes, plan.scope)
        self._versions: dict[Address, list[Address]] = defaultdict(list)
        for change in sorted(plan.pending, key=lambda item: version_key(item.address.version)):
            if change.resource is not None and change.resource.anonymous:
                continue  # their order does not matter
            self._versions[change.address.at(None)].append(change.address)

    def build(self) -> None:
        """Build the steps of all changes; routes depend on all other steps."""
        routed = [item for item in self._plan.changes if kind_of(item.address).plan.routes]
        for change in self._plan.changes:
            self._add(change)
        for change in routed:
            self._put_endpoint(change)

    def _add(self, change: Change) -> None:
        puts = change.action not in (Action.NO_OP, Action.DELETE) or _unfinished(change)
        if change.action.deletes:
            self._delete(change)
        if not kind_of(change.address).plan.routes and change.resource is not None and puts:
            part = declared_part(change, change.resource, self._plan.scope)
            self._put(change, part, _role(change), self._needs(change, change.resource))

    def numbered(self) -> Iterable[PlanStep]:
        """Yield the numbered steps, each after those that it needs."""
        self._put_off()
        planned = sorted(self._steps, key=lambda key: (self._order[key[1]], key[0]))
        needs = {key: self._steps[key][1] & self._steps.keys() for key in planned}
        order = list(TopologicalSorter(needs).static_order())
        ids = {key: number for number, key in enumerate(order)}
        for key in order:
            waits = tuple(sorted(ids[need] for need in needs[key]))
            yield self._steps[key][0](id=ids[key], needs=waits)

    def _delete(self, change: Change) -> None:
        """Add a delete, after those of what refers to it; children go with their parent."""
        address = change.address
        above = address.up
        subsumed = above in self._deleted
        if above is not None and subsumed:
            needs = {(_Stage.DELETE, above)}
        else:
            needs = {(_Stage.DELETE, user) for user in self._users.get(address, ())}
            needs |= {(_Stage.PUT, above)} if above is not None else set()
            if change.action is Action.DELETE:
                needs |= {(_Stage.PUT, user) for user in self._leaving.get(address, ())}
        step = partial(
            PlanStep, change=address, role=StepRole.DELETE, target=address, subsumed=subsumed
        )
        self._steps[_Stage.DELETE, address] = step, needs

    def _put_off(self) -> None:
        """Make the deletes of superseded resources wait for all writes."""
        written = {key for key in self._steps if key[0] is not _Stage.DELETE}
        for change in self._deleted.values():
            if change.reason is ActionReason.SUPERSEDED:
                self._steps[_Stage.DELETE, change.address][1].update(written)

    def _put(self, change: Change, part: BodyPart, role: StepRole, needs: set[_Key]) -> None:
        self._steps[_Stage.PUT, change.address] = self._writing(change, part, role), needs

    def _writing(self, change: Change, part: BodyPart, role: StepRole) -> _Numbered:
        resource, target = change.resource, change.address
        return partial(
            PlanStep,
            change=target,
            role=role,
            target=target,
            body=part.body,
            secrets=_secrets(resource, part.body, self._graph.secrets) if resource else (),
            uploads=resource.uploads if resource and change.live is None else (),
            without=part.without,
            restoration=restoration(change, part, self._plan.scope),
        )

    def _needs(self, change: Change, resource: Resource) -> set[_Key]:
        edges = self._graph.edges_of(resource.address)
        declared = [address for edge in edges for address in self._graph.declared(edge.target)]
        needs = {
            (_Stage.PUT, self._by_name[address].address)
            for address in declared
            if address in self._by_name
        }
        freed = self._plan.waits.get(change.address, ())
        needs |= {
            (_Stage.DELETE if address in self._deleted else _Stage.PUT, address)
            for address in freed
            if address != change.address
        }
        needs |= {(_Stage.PUT, address) for address in self._earlier(change)}
        return {*needs, (_Stage.DELETE, change.address)}

    def _earlier(self, change: Change) -> list[Address]:
        """Return new versions of the same asset to create first: `@latest` is the last one."""
        versions = self._versions.get(change.address.at(None), [])
        is_new = change.address in versions
        return versions[: versions.index(change.address)] if is_new else []

    def _put_endpoint(self, change: Change) -> None:
        """Write an endpoint with the routes that are possible now, and later the final ones."""
        routed = routing(change, self._by_name, self._deleted, self._may_wait)
        role = None
        changed = any(not is_route(change, changed_field) for changed_field in change.fields)
        if change.action in (Action.CREATE, Action.REPLACE) or changed:
            role = _role(change)
        elif routed.moves_early:
            role = StepRole.UPDATE if any(routed.early.values()) else StepRole.UNSET_DEFAULT
        elif _unfinished(change):
            role = StepRole.WAIT
        if role is not None:
            needs = {(_Stage.DELETE, change.address)}
            self._put(change, routed_part(change, routed.early, self._plan.scope), role, needs)
        if routed.pending:
            self._set_routes(change, routed)

    def _set_routes(self, change: Change, routed: Routing) -> None:
        part = routed_part(change, routed.planned, self._plan.scope)
        needs = {
            (_Stage.PUT, change.address),
            *((_Stage.PUT, deployment) for deployment in routed.pending),
        }
        key = (_Stage.SET_DEFAULT, change.address)
        self._steps[key] = self._writing(change, part, StepRole.SET_DEFAULT), needs
        for deployment in routed.last:
            self._steps[_Stage.DELETE, deployment][1].add(key)

    def _may_wait(self, deleted: Address, written: frozenset[Address]) -> bool:
        """Whether none of the writes must itself wait for the delete."""
        met, queue = set[_Key](), [(_Stage.PUT, address) for address in written]
        while queue:
            key = queue.pop()
            if key not in met and key in self._steps:
                met.add(key)
                queue.extend(self._steps[key][1])
        return (_Stage.DELETE, deleted) not in met


def _users(deleted: Iterable[Change], scope: Scope) -> dict[Address, list[Address]]:
    """Return the deleted resources that refer to each address."""
    users: dict[Address, list[Address]] = {}
    for change in deleted:
        for used in names_in(change.live, scope) if change.live else ():
            users.setdefault(used, []).append(change.address)
    return users


def _known_as(change: Change) -> Address:
    """Return its address in the graph, in which an asset may have no version."""
    return change.resource.address if change.resource is not None else change.address


def _unfinished(change: Change) -> bool:
    """Whether somebody else's operation is running on a live resource that is not deleted."""
    stays = change.action in (Action.NO_OP, Action.UPDATE)
    return stays and change.live is not None and moving(change.live.body)


def _role(change: Change) -> StepRole:
    """Return the role of the step that writes a resource's own values."""
    roles = {Action.UPDATE: StepRole.UPDATE, Action.NO_OP: StepRole.WAIT}
    return roles.get(change.action, StepRole.CREATE)


def _secrets(
    resource: Resource, body: Mapping[str, Data], known: frozenset[str]
) -> tuple[Secret, ...]:
    """Return the secrets of a body that the file has, by field or by their looks."""
    document = resource.document
    places = {
        secret_field.wire: (*resource.root, *secret_field.at)
        for secret_field in resource.form.fields
        if secret_field.secret and secret_field.at in resource.values
    }
    suspects = dict(masking.find(body, (), known)) if known or document.may_hold_secrets else {}
    if suspects and resource.owner is None:
        place_of_text = {value: at for at, value in pointer.texts(document.data)}
        for wire in suspects.keys() - places.keys():
            at = place_of_text.get(pointer.get(body, wire))
            if at is not None and not any(isinstance(step, int) for step in wire):
                places[wire] = at
    return tuple(
        Secret(wire, document.source.name, document.index, at) for wire, at in places.items()
    )
