"""A plan's changes to the single writes that carry them out, and which waits for which. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from graphlib import TopologicalSorter
from typing import TypeAlias

from mlctl import pointer
from mlctl.config.graph import Graph
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Scope, version_key
from mlctl.kinds.resource import Resource
from mlctl.kinds.upload import Upload
from mlctl.kinds.values import encode, form_of_body, moving, overlay, renewed
from mlctl.planning.model import Action, Change, Plan
from mlctl.planning.refresh import named_by
from mlctl.pointer import Data, Pointer

_DEFAULT: Pointer = ("properties", "defaults", "deploymentName")
_DEFAULT_IN_YAML: Pointer = ("defaults", "deployment_name")


class Verb(Enum):
    """What a step asks of the backend."""

    PUT = "put"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a write-only value of a body stands in the user's files; plans hold no values."""

    wire: Pointer
    file: str
    index: int
    at: Pointer


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One write. `change` is the resource whose change it belongs to, mostly the `target` itself.

    `needs` are the ids of the steps that must be done before. `doing` is the progress line's verb.
    `uploads` is local content that must be in the workspace before the body can name it.
    A `subsumed` delete is carried out by the delete of the parent; it is there to be seen and
    waited for.
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
    uploads: tuple[Upload, ...] = ()


@dataclass(frozen=True, eq=False)
class Work:
    """All that apply needs: nothing is looked up later. `read` are the plan's fingerprints."""

    backend: str
    scope: Scope
    steps: tuple[Step, ...]
    read: Mapping[Address, str | None]


def work(plan: Plan, graph: Graph) -> Work:
    """The steps of a plan, in an order in which they could be done one by one."""
    builder = _Builder(plan, graph)
    for change in () if plan.empty else plan.changes:
        builder.add(change)
    return Work(plan.backend, plan.scope, tuple(builder.numbered()), plan.read)


class _Role(Enum):
    """What a step is for; with its target, what other steps know it by."""

    DELETE = 0
    PUT = 1
    SET_DEFAULT = 2


_Key: TypeAlias = tuple[_Role, Address]


class _Builder:
    """Collects the steps by what they are for, with the keys of those that each must wait for.

    A key that no step has means that there is nothing to wait for.
    """

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._plan = plan
        self._graph = graph
        self._steps: dict[_Key, tuple[Step, set[_Key]]] = {}
        self._by_name = {_known_as(change): change for change in plan.changes}
        self._deleted = {
            change.address: change for change in plan.changes if "delete" in change.action.value
        }
        self._users = _users(self._deleted.values(), plan.scope)
        self._versions: dict[Address, list[Address]] = defaultdict(list)
        for change in sorted(plan.pending, key=lambda one: version_key(one.address.version)):
            self._versions[change.address.at(None)].append(change.address)

    def add(self, change: Change) -> None:
        """The steps of one change."""
        puts = change.action not in (Action.NO_OP, Action.DELETE) or _unfinished(change)
        if "delete" in change.action.value:
            self._delete(change)
        if change.address.kind == "batch-endpoint":
            self._put_endpoint(change)
        elif change.resource is not None and puts:
            body = _body(change, change.resource, self._plan.scope)
            self._put(change, body, _doing(change), self._needs(change, change.resource))

    def numbered(self) -> Iterable[Step]:
        """The steps with their numbers, each after those that it needs."""
        needs = {key: needs & self._steps.keys() for key, (_, needs) in self._steps.items()}
        order = list(TopologicalSorter(needs).static_order())
        ids = {key: number for number, key in enumerate(order)}
        for key in order:
            waits = tuple(sorted(ids[one] for one in needs[key]))
            yield replace(self._steps[key][0], id=ids[key], needs=waits)

    def _delete(self, change: Change) -> None:
        """A delete waits for those of what stands on it; what lies beneath goes with its parent."""
        address = change.address
        above = address.up
        subsumed = above in self._deleted
        if above is not None and subsumed:
            needs = {(_Role.DELETE, above)}
        else:
            needs = {(_Role.DELETE, one) for one in self._users.get(address, ())}
            needs |= {(_Role.PUT, above)} if above is not None else set()
        step = Step(0, address, Verb.DELETE, address, "Destroying", subsumed=subsumed)
        self._steps[_Role.DELETE, address] = step, needs

    def _put(self, change: Change, body: Mapping[str, Data], doing: str, needs: set[_Key]) -> None:
        resource = change.resource
        secrets = _secrets(resource) if resource else ()
        uploads = resource.uploads if resource and change.live is None else ()
        target = change.address
        step = Step(0, target, Verb.PUT, target, doing, body, (), secrets, uploads=uploads)
        self._steps[_Role.PUT, target] = step, needs

    def _needs(self, change: Change, resource: Resource) -> set[_Key]:
        edges = self._graph.edges_of(resource.address)
        declared = [one for edge in edges for one in self._graph.declared(edge.target)]
        needs = {
            (_Role.PUT, self._by_name[one].address) for one in declared if one in self._by_name
        }
        freed = self._plan.waits.get(change.address, ())
        needs |= {
            (_Role.DELETE if one in self._deleted else _Role.PUT, one)
            for one in freed
            if one != change.address
        }
        needs |= {(_Role.PUT, one) for one in self._earlier(change)}
        return {*needs, (_Role.DELETE, change.address)}

    def _earlier(self, change: Change) -> list[Address]:
        """New versions of the same asset to be made before: `@latest` is the one made last."""
        if change.address.version is None:
            return []
        versions = self._versions.get(change.address.at(None), [])
        return versions[: versions.index(change.address)]

    def _put_endpoint(self, change: Change) -> None:
        """An endpoint is put with a default deployment that is there then, and again with its own.

        The service takes no default that does not exist, and deletes none.
        """
        wanted, was = _defaults(change)
        pending = self._pending(change, wanted)
        early = (was if self._stays(change, was) else "") if pending else wanted
        changed = {one.at for one in change.fields} - {_DEFAULT_IN_YAML}
        doing = None
        if change.action in (Action.CREATE, Action.REPLACE) or changed:
            doing = _doing(change)
        elif not _same(early, was):
            doing = "Modifying" if early else "Unsetting the default deployment of"
        elif _unfinished(change):
            doing = "Waiting"
        if doing is not None:
            needs = {(_Role.DELETE, change.address)}
            self._put(change, self._endpoint(change, early), doing, needs)
        if pending:
            self._set_default(change, wanted)

    def _set_default(self, change: Change, wanted: str) -> None:
        deployment = Address("batch-deployment", wanted, change.address.name)
        doing = "Setting the default deployment of"
        body = self._endpoint(change, wanted)
        step = Step(0, change.address, Verb.PUT, change.address, doing, body)
        needs = {(_Role.PUT, change.address), (_Role.PUT, deployment)}
        self._steps[_Role.SET_DEFAULT, change.address] = step, needs

    def _pending(self, change: Change, name: str) -> bool:
        """Whether this plan makes the deployment of that name."""
        made = self._by_name.get(Address("batch-deployment", name, change.address.name))
        return bool(name) and made is not None and "create" in made.action.value

    def _stays(self, change: Change, name: str) -> bool:
        """Whether the deployment of that name is there all the time."""
        gone = Address("batch-deployment", name, change.address.name) in self._deleted
        return bool(name) and not gone

    def _endpoint(self, change: Change, default: str) -> dict[str, Data]:
        """The body of an endpoint with that default deployment, or with none."""
        if change.resource is not None and change.action is not Action.NO_OP:
            body = _body(change, change.resource, self._plan.scope)
        else:
            live = change.live.body if change.live else {}
            form = form_of_body(kind_of(change.address), live, self._plan.scope)
            body = overlay(live, {}, form, self._plan.scope)
        pointer.drop(body, _DEFAULT)
        if default:
            pointer.put(body, _DEFAULT, default)
        return body


def _users(deleted: Iterable[Change], scope: Scope) -> dict[Address, list[Address]]:
    """Who of those that are deleted stands on what."""
    found: dict[Address, list[Address]] = {}
    for change in deleted:
        for used in named_by(change.live, scope) if change.live else ():
            found.setdefault(used, []).append(change.address)
    return found


def _known_as(change: Change) -> Address:
    """The address by which the graph knows it; an asset's file may leave the version open."""
    return change.resource.address if change.resource is not None else change.address


def _defaults(change: Change) -> tuple[str, str]:
    """The default deployment that an endpoint shall have, and the one that it has; "" for none."""
    live = pointer.get(change.live.body, _DEFAULT) if change.live else None
    return str(change.values.get(_DEFAULT_IN_YAML, live) or ""), str(live or "")


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _unfinished(change: Change) -> bool:
    """Whether an operation runs on what is there and stays: somebody else has begun it."""
    stays = change.action in (Action.NO_OP, Action.UPDATE)
    return stays and change.live is not None and moving(change.live.body)


def _doing(change: Change) -> str:
    return {Action.UPDATE: "Modifying", Action.NO_OP: "Waiting"}.get(change.action, "Creating")


def _body(change: Change, resource: Resource, scope: Scope) -> dict[str, Data]:
    live = change.live.body if change.live else None
    form, values = resource.form, change.values
    if live is None or any(one.at == ("type",) for one in change.fields):
        body = encode(values, form, scope)
    elif change.action is Action.REPLACE:
        body = renewed(live, values, form, scope)
    else:
        body = overlay(live, values, form, scope)
    if resource.anonymous and live is None:
        pointer.put(body, ("properties", "isAnonymous"), value=True)
    return body


def _secrets(resource: Resource) -> tuple[Secret, ...]:
    document = resource.document
    return tuple(
        Secret(one.wire, document.source.name, document.index, (*resource.root, *one.at))
        for one in resource.form.fields
        if one.secret and one.at in resource.values
    )
