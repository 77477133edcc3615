"""Who owns a live resource: the tags with which a project marks its resources."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from fnmatch import fnmatchcase

from mlctl import pointer
from mlctl.backends.ports.backend import Live
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Label
from mlctl.digests import sha256
from mlctl.kinds import Address, Kind, Resource, Scope, kind_of
from mlctl.kinds.field import Field, Form
from mlctl.kinds.values import Values, canonical_values, complete, own_of_form, stored_values
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, ActionReason, Change, FieldChange, Plan
from mlctl.pointer import Data, Pointer

TAGS: Pointer = ("tags",)
RESERVED = "mlctl."  # the prefix of tags that a file's list of tags does not remove
PROJECT, SPEC_HASH, PROTECT = "mlctl.project", "mlctl.spec-hash", "mlctl.protect"
_DIGITS = 16  # characters of the hash, in a tag that people read, too


@dataclass(frozen=True, slots=True)
class Protected:
    """An address or pattern that must not be deleted or replaced; `at` is its declaration."""

    pattern: str
    at: Label | None = None

    def covers(self, address: Address) -> bool:
        """Whether it matches the address, or that of all its versions."""
        folded_pattern = self.pattern.casefold()
        texts = {str(address).casefold(), str(address.at(None)).casefold()}
        return any(fnmatchcase(text, folded_pattern) for text in texts)


@dataclass(frozen=True, slots=True)
class Ownership:
    """What a project says about its resources.

    Without a `project`, or if it is not `tagged`, nothing is tagged. `all_tags` means that
    documents are edited live resources: missing tags were removed.
    """

    project: str | None = None
    tagged: bool = True
    protected: tuple[Protected, ...] = ()
    all_tags: bool = False

    def owns(self, live: Live) -> bool:
        """Whether the tags say that the resource is this project's."""
        return self.project is not None and owner(live) == self.project

    def keep_own_tags(self, resource: Resource, desired: Values, live: Live) -> Values:
        """Return the desired values with mlctl's live tags that the file's tags do not set."""
        if self.all_tags or not isinstance(desired.get(TAGS), dict):
            return desired
        own_tags = {name: value for name, value in tags(live).items() if name.startswith(RESERVED)}
        return (
            {**desired, TAGS: {**own_tags, **desired[TAGS]}}
            if own_tags and _taggable(resource)
            else desired
        )

    def tag(
        self,
        resource: Resource,
        desired: Values,
        scope: Scope,
        live: Live | None = None,
        *,
        recreated: bool = False,
    ) -> Values:
        """Return the desired values with the project's tags.

        A changed `live` resource is only tagged if the project owns it; a new or `recreated` one
        always is. An inline asset belongs to its owner, and has no tags of its own.
        """
        mine = live is None or recreated or self.owns(live)
        if not (self.project and self.tagged and mine and _taggable(resource)):
            return desired
        declared_tags = desired.get(TAGS)
        base_tags = declared_tags if isinstance(declared_tags, dict) else tags(live) if live else {}
        own_tags = {PROJECT: self.project, SPEC_HASH: spec_hash(resource, scope)}
        return {**desired, TAGS: {**base_tags, **own_tags}}


NOBODY = Ownership()


def owner(live: Live) -> str | None:
    """Return the project that owns a live resource, by its tags."""
    project = tags(live).get(PROJECT)
    return str(project) if project else None


def tags(live: Live) -> dict[str, Data]:
    """Return the tags of a live resource."""
    kind = kind_of(live.address)
    field = tags_field(kind.forms[-1])
    value = pointer.get(live.body, field.wire) if field else None
    return dict(value) if isinstance(value, dict) else {}


def tags_field(form: Form) -> Field | None:
    """Return the field of the tags; None if the kind has none."""
    return form.field(TAGS)


def truth(value: Data) -> bool:
    """Whether a tag is true; tags are text on the wire, but may have other types in a file."""
    return str(value).casefold() in ("true", "yes", "1")


def spec_hash(resource: Resource, scope: Scope) -> str:
    """Hash what a file declares of a resource, with defaults.

    Left out are secrets (a hash could be guessed), mlctl's own tags, and fields written by a PATCH
    that could not write the tag.
    """
    form, kind = resource.form, resource.kind
    values = complete(resource.values, form)
    declared_tags = values.get(TAGS)
    if isinstance(declared_tags, dict):
        values[TAGS] = {
            key: tag for key, tag in declared_tags.items() if not key.startswith(RESERVED)
        }
    fields = [field for field in form.writable if not (field.secret or is_unhashed(field, kind))]
    text = json.dumps(canonical_values(values, fields, scope), sort_keys=True)
    return sha256(text)[:_DIGITS]


def is_unhashed(field: Field, kind: Kind) -> bool:
    """Whether the hash leaves a field out because a PATCH writes it."""
    return kind.arm.patched and any(field.wire[: len(at)] == at for at in kind.arm.patchable)


def _taggable(resource: Resource) -> bool:
    return resource.owner is None and tags_field(resource.form) is not None


@dataclass(frozen=True, slots=True)
class Prune:
    """What may be pruned: at most `limit` resources, None for any number.

    `elsewhere` returns the addresses that other files of the project declare: they are kept. It is
    called only if these files do not declare everything, because it reads those files.
    """

    elsewhere: Callable[[], Set[Address]] = frozenset
    limit: int | None = None


def prune_undeclared(graph: Graph, live_state: LiveState, prune: Prune) -> Iterator[Change]:
    """Yield the deletes of resources that the project owns but no file declares."""
    candidates = [*undeclared(graph, live_state.owned, frozenset())]
    elsewhere = prune.elsewhere() if candidates else frozenset()
    for live in undeclared(graph, candidates, elsewhere):
        yield Change(live.address, Action.DELETE, live=live, reason=ActionReason.PRUNED)


def undeclared(graph: Graph, owned: Iterable[Live], elsewhere: Set[Address]) -> Iterator[Live]:
    """Yield the project's resources that neither these files nor others (`elsewhere`) declare.

    A version of an asset counts as declared while any version of its name is: others may use it,
    and the file only says which one is next.
    """
    for live in owned:
        address = live.address
        name = address.at(None) if kind_of(address).versioned else address
        if not (graph.declared(name) or elsewhere & {address, name}):
            yield live


def adoption(plan: Plan, ownership: Ownership) -> Plan:
    """From a plan of the files without tags, make the one that only tags what exists.

    A resource that differs from its file gets no `mlctl.spec-hash`.
    """
    changes = tuple(_adopt(plan, ownership))
    read = {change.address: plan.read[change.address] for change in changes}
    return Plan(plan.backend, plan.scope, changes, read)


def owned_by_others(
    plan: Plan, ownership: Ownership, previous_owners: Collection[str]
) -> dict[Address, str]:
    """Return resources of projects other than `previous_owners`, by owner."""
    ours = {ownership.project, *previous_owners}
    lives = [
        (change.address, change.live) for change in plan.changes if change.resource and change.live
    ]
    theirs = ((address, owner(live)) for address, live in lives)
    return {address: name for address, name in theirs if name is not None and name not in ours}


def _adopt(plan: Plan, ownership: Ownership) -> Iterator[Change]:
    for change in plan.changes:
        resource, live = change.resource, change.live
        if resource is None or live is None or resource.owner is not None or change.in_motion:
            continue
        live_tags = tags(live)
        new = _tags(resource, ownership, plan.scope, differs=change.action is not Action.NO_OP)
        fields = tuple(
            FieldChange((*TAGS, key), live_tags.get(key), value)
            for key, value in new.items()
            if live_tags.get(key) != value
        )
        body = pointer.without(live.body, own_of_form(resource.kind, resource.form))
        values = {
            **stored_values(body, resource.form, plan.scope, with_service_fields=False),
            TAGS: {**live_tags, **new},
        }
        if fields and resource.form.field(TAGS) is not None:
            yield Change(live.address, Action.UPDATE, fields, resource, values, live)


def _tags(
    resource: Resource, ownership: Ownership, scope: Scope, *, differs: bool
) -> Mapping[str, Data]:
    project_tags: dict[str, Data] = {PROJECT: ownership.project}
    return project_tags if differs else {**project_tags, SPEC_HASH: spec_hash(resource, scope)}
