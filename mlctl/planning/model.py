"""A plan as plain values: a change for each resource, and the fields that change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from functools import cached_property

from mlctl import pointer
from mlctl.backends.ports.backend import Live
from mlctl.catalog.prices import PriceList
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Diagnostic, Label, Rule
from mlctl.kinds import Address, Resource, Scope, children, kind_of, routes
from mlctl.kinds.routes import Routes
from mlctl.kinds.values import moving, overlay
from mlctl.pointer import Data, Pointer

PROVISIONING_STATE: Pointer = ("provisioning_state",)


class Action(Enum):
    """What is done to a resource; values are the `actions` of Terraform's JSON plan."""

    NO_OP = ("no-op",)
    CREATE = ("create",)
    UPDATE = ("update",)
    REPLACE = ("delete", "create")
    DELETE = ("delete",)

    @property
    def creates(self) -> bool:
        """Whether the resource is created, possibly by a replacement."""
        return self in (Action.CREATE, Action.REPLACE)

    @property
    def deletes(self) -> bool:
        """Whether the live resource is deleted, possibly by a replacement."""
        return self in (Action.DELETE, Action.REPLACE)


class ActionReason(Enum):
    """Why a resource is deleted or replaced: the `action_reason`s of Terraform's JSON plan."""

    CANNOT_UPDATE = "replace_because_cannot_update"
    PARENT_REPLACED = "replace_because_parent"
    REQUESTED = "delete_by_request"
    SUPERSEDED = "delete_because_superseded"  # a successor has taken its place
    PRUNED = "delete_because_not_declared"  # the project owns it, but no file declares it
    PARENT_DELETED = "delete_because_no_resource_config"  # not declared; deleted with its parent


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field (or key of a map) that changes; values in YAML spelling, None is absent.

    The values of a `sensitive` field are not kept. `note` says where the value came from
    (`@latest`).
    """

    at: Pointer
    before: Data
    after: Data
    forces_replacement: bool = False
    sensitive: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that has not ended: its name, and its status in Azure's words."""

    name: str
    status: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What an unfinished apply has left to restore of one resource, and no file declares.

    `body` is that part of its ARM body. If `deleted`, the resource itself was deleted and is to be
    created again; otherwise only its requests were sent elsewhere, in the end to `meanwhile`, a
    part of a body. `secrets` are the places of values that are not stored because they look like
    secrets. `moved` means that nothing was lost, but a successor or new target has not taken over
    yet. `since` is the start of that apply (ISO 8601), and `file` its journal.
    """

    address: Address
    body: Mapping[str, Data] = field(default_factory=dict)
    deleted: bool = True
    meanwhile: Mapping[str, Data] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    moved: bool = False
    since: str = ""
    file: str = ""

    @property
    def routes(self) -> Routes:
        """The routes to restore for an endpoint."""
        routed = routes.routes(kind_of(self.address), self.body)
        return {at: shares for at, shares in routed.items() if shares}

    @property
    def children(self) -> frozenset[Address]:
        """The deployments that get requests again."""
        names = {name for shares in self.routes.values() for name in shares}
        kinds = children(self.address.kind)
        return frozenset(Address(kinds[0].name, name, self.address.name) for name in names)

    @property
    def related(self) -> frozenset[Address]:
        """The resource, its parent, and the deployments that get its requests."""
        parents = {self.address.up} if self.address.up is not None else set()
        return frozenset({self.address, *parents, *self.children})

    def missing(self, live: Collection[Address]) -> list[Address]:
        """Return the addresses that must exist, but do not: the resource, and its deployments."""
        return [self.address, *sorted(self.children - set(live))]

    def remaining(self, live: Live | None) -> Unfinished | None:
        """Return what is still to be restored of the resource as it is now; None if nothing is.

        A resource that exists again lacks only its routes, which are set last, once the deployments
        exist. Routes that others have set since are kept.
        """
        if live is None:
            return self if self.deleted else None
        if moving(live.body):
            return self  # the body is only final once the operation has ended
        kind = kind_of(self.address)
        current, interim = routes.routes(kind, live.body), routes.routes(kind, self.meanwhile)
        body = {
            field.wire: pointer.get(self.body, field.wire)
            for field in kind.route_fields
            if field.at in self.routes
            and routes.same(current[field.at], interim[field.at])
            and not routes.same(current[field.at], self.routes[field.at])
        }
        if not body:
            return None
        return replace(self, body=pointer.nest(body), deleted=False, secrets=())

    def over(self, earlier: Unfinished) -> Unfinished:
        """Merge with what an earlier apply has left."""
        return replace(
            self,
            body=overlay(earlier.body, self.body, ()),
            meanwhile=overlay(earlier.meanwhile, self.meanwhile, ()),
            deleted=self.deleted or earlier.deleted,
            secrets=tuple(dict.fromkeys((*earlier.secrets, *self.secrets))),
        )


@dataclass(frozen=True, eq=False)
class Change:
    """What will be done to one resource, and why.

    `values` are the desired values with defaults and resolved references: what apply sends. `live`
    is what they were compared with. `reason` says why it is deleted or replaced; `because` is the
    parent whose change forces this one, or the successor. `dependents` are the live resources that
    refer to a deleted or replaced one, or are beneath it; `jobs` are its unfinished jobs, None if
    they could not be read. `replaces` is the predecessor of a new resource, which inherits what no
    file declares. `unfinished` is what the change restores of an unfinished apply.
    """

    address: Address
    action: Action
    fields: tuple[FieldChange, ...] = ()
    resource: Resource | None = None
    values: Mapping[Pointer, Data] = field(default_factory=dict)
    live: Live | None = None
    reason: ActionReason | None = None
    because: Address | None = None
    dependents: tuple[Address, ...] = ()
    jobs: tuple[RunningJob, ...] | None = ()
    unfinished: Unfinished | None = None
    replaces: Live | None = None

    @cached_property
    def in_motion(self) -> bool:
        """Whether an operation is running on the resource, so that it was not compared."""
        stays = self.action is Action.NO_OP and self.resource is not None
        return stays and self.live is not None and moving(self.live.body)

    @property
    def repairs(self) -> bool:
        """Whether the resource is written again because its last operation failed."""
        return self.action is Action.UPDATE and any(
            changed.at == PROVISIONING_STATE for changed in self.fields
        )

    @property
    def label(self) -> Label | None:
        """The line that asked for the change."""
        return self.resource.label() if self.resource else None

    @property
    def cause(self) -> Label | None:
        """The line that forces a replacement; else the one that asked for the change."""
        forcing = (self.label_of(changed) for changed in self.fields if changed.forces_replacement)
        return next((place for place in forcing if place is not None), self.label)

    def finding(self, rule: Rule, message: str, at: Label | None, hint: str) -> Diagnostic:
        """Build a diagnostic about the change."""
        return Diagnostic(rule, message, at, hint, address=str(self.address))

    def label_of(self, changed: FieldChange) -> Label | None:
        """Return the line that asked for a field's value; None if it is a default."""
        if self.resource is None:
            return None
        for at in (changed.at, changed.at[:-1]):
            if at in self.resource.values:
                return self.resource.label(changed.at)
        return None


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The numbers of resources added, changed and destroyed; a replacement counts as two."""

    add: int
    change: int
    destroy: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What will change.

    `read` has the fingerprint of every resource that was read (None: absent). `rejections` are
    errors of the preflight checks, `refusals` what the project forbids (protections, limits),
    `warnings` other findings; a plan with errors cannot be applied. `waits` says which resources
    can only be written after others have released quota. `orphans` belong to the project but are no
    longer declared, and are left alone. `location` is the workspace's region, and `prices` are node
    prices (None: mlctl's own list).
    """

    backend: str
    scope: Scope
    changes: tuple[Change, ...]
    read: Mapping[Address, str | None]
    rejections: tuple[Diagnostic, ...] = ()
    waits: Mapping[Address, tuple[Address, ...]] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()
    orphans: tuple[Address, ...] = ()
    location: str = ""
    prices: PriceList | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Why the plan cannot be applied, the project's reasons first."""
        return (*self.refusals, *self.rejections)

    @property
    def pruned(self) -> int:
        """How many resources are deleted because no file declares them."""
        return sum(change.reason is ActionReason.PRUNED for change in self.changes)

    @cached_property
    def pending(self) -> tuple[Change, ...]:
        """The changes that do something."""
        return tuple(change for change in self.changes if change.action is not Action.NO_OP)

    @property
    def in_motion(self) -> tuple[Change, ...]:
        """The resources that were not compared because an operation is running on them."""
        return tuple(change for change in self.changes if change.in_motion)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.pending

    @property
    def applyable(self) -> bool:
        """Whether the plan can be applied."""
        return not self.errors and not self.empty

    @property
    def summary(self) -> PlanSummary:
        """The numbers for the summary line."""
        actions = [change.action for change in self.changes]
        return PlanSummary(
            sum(action.creates for action in actions),
            sum(action is Action.UPDATE for action in actions),
            sum(action.deletes for action in actions),
        )
