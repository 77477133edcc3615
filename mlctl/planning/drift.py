"""What differs from the files in the workspace, and whether that came from outside. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from mlctl.dataclasses import dataclass
from mlctl.kinds import Address, Resource, Scope, kind_of
from mlctl.planning.model import Action, Change, FieldChange, Plan
from mlctl.planning.ownership.owner import RESERVED, SPEC_HASH, TAGS, is_unhashed, spec_hash, tags
from mlctl.pointer import Data


class Origin(Enum):
    """Where a difference comes from, as far as the tag `mlctl.spec-hash` can tell."""

    OUTSIDE = "outside"  # the file is the one that was applied
    UNKNOWN = "unknown"  # no tag, or one of another file: the file may have changed since


@dataclass(frozen=True, slots=True)
class Difference:
    """A field (or key of a map): what the file says and what the workspace has; None is nothing."""

    field: FieldChange
    origin: Origin

    @property
    def declared(self) -> Data:
        """What the file says."""
        return self.field.after

    @property
    def live(self) -> Data:
        """What the workspace has."""
        return self.field.before


@dataclass(frozen=True, eq=False)
class Drifted:
    """A declared resource that is not as declared; without `differences` it is not there."""

    resource: Resource
    address: Address
    change: Change
    differences: tuple[Difference, ...]

    @property
    def missing(self) -> bool:
        """Whether it is not in the workspace."""
        return self.change.live is None


def drifted(plan: Plan) -> Iterator[Drifted]:
    """What differs, of a plan that was made of the files without tags.

    A new version that a changed file of an asset would make is no drift, nor is what is written
    inline: its owner names it.
    """
    for change in plan.pending:
        resource = change.resource
        if resource is None or resource.owner is not None or change.because is not None:
            continue
        renewed = change.action is Action.CREATE and change.address != resource.address
        if renewed and change.address.version != "1":
            continue  # another version of an asset: the file has changed
        differences = tuple(_differences(change, resource, plan.scope)) if change.live else ()
        if differences or change.live is None:
            yield Drifted(resource, change.address, change, differences)


def _differences(change: Change, resource: Resource, scope: Scope) -> Iterator[Difference]:
    live = change.live
    unchanged = live is not None and tags(live).get(SPEC_HASH) == spec_hash(resource, scope)
    for changed_field in change.fields:
        if changed_field.at[:-1] == TAGS and str(changed_field.at[-1]).startswith(RESERVED):
            continue
        field = resource.form.field(changed_field.at) or resource.form.field(changed_field.at[:-1])
        hashed = field is None or not is_unhashed(field, kind_of(change.address))
        yield Difference(changed_field, Origin.OUTSIDE if unchanged and hashed else Origin.UNKNOWN)
