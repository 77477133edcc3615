"""What a plan is made of: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mlctl.backends.ports.backend import Live
from mlctl.diagnostics import Diagnostic, Label
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer


class Action(Enum):
    """What is done to a resource; the value is Terraform's list of actions."""

    NO_OP = ("no-op",)
    CREATE = ("create",)
    UPDATE = ("update",)
    REPLACE = ("delete", "create")
    DELETE = ("delete",)

    @property
    def symbol(self) -> str:
        """Terraform's sign for it."""
        return {"no-op": " ", "create": "+", "update": "~", "delete": "-", "delete,create": "-/+"}[
            ",".join(self.value)
        ]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field (or key of a map) that changes; values in the YAML's own spelling, None is absent.

    `sensitive` values are not in here at all: both sides only say whether there is one.
    `note` explains the value (`@latest`).
    """

    at: Pointer
    before: Data
    after: Data
    forces_replacement: bool = False
    sensitive: bool = False
    note: str = ""


@dataclass(frozen=True, eq=False)
class Change:
    """What would be done to one resource, and why.

    `values` are the desired values with defaults, references resolved: what apply sends. `live` is
    what it was compared with. `reason` is one of Terraform's action reasons. `because` names the
    change that forces this one.
    """

    address: Address
    action: Action
    fields: tuple[FieldChange, ...] = ()
    resource: Resource | None = None
    values: Mapping[Pointer, Data] = field(default_factory=dict)
    live: Live | None = None
    reason: str | None = None
    because: Address | None = None

    @property
    def label(self) -> Label | None:
        """The line that asked for the change."""
        return self.resource.label() if self.resource else None

    def label_of(self, one: FieldChange) -> Label | None:
        """The line that asked for one field's value; None where a default did."""
        if self.resource is None:
            return None
        for at in (one.at, one.at[:-1]):
            if at in self.resource.values:
                return self.resource.label(one.at)
        return None


@dataclass(frozen=True, slots=True)
class Summary:
    """How many resources are added, changed and destroyed; a replacement is one of each."""

    add: int
    change: int
    destroy: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What would change.

    `read` has the fingerprint of every resource that was looked at (None: absent). `rejections` are
    errors that the backend is predicted to answer; a plan that has any is not applyable. `waits`
    says which clusters may only grow after others have let go of a quota.
    """

    backend: str
    scope: Scope
    changes: tuple[Change, ...]
    read: Mapping[Address, str | None]
    rejections: tuple[Diagnostic, ...] = ()
    waits: Mapping[Address, tuple[Address, ...]] = field(default_factory=dict)

    @property
    def pending(self) -> tuple[Change, ...]:
        """The changes that do something."""
        return tuple(change for change in self.changes if change.action is not Action.NO_OP)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.pending

    @property
    def applyable(self) -> bool:
        """Whether apply would do it."""
        return not self.rejections and not self.empty

    @property
    def summary(self) -> Summary:
        """The numbers of the summary line."""
        actions = [change.action for change in self.changes]
        return Summary(
            sum("create" in action.value for action in actions),
            sum("update" in action.value for action in actions),
            sum("delete" in action.value for action in actions),
        )
