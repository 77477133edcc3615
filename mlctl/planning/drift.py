"""Find where the workspace differs from the files, and update the files with live values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from mlctl import masking
from mlctl.dataclasses import dataclass, field, replace
from mlctl.kinds import Address, Resource, Scope, kind_of
from mlctl.kinds.edit import FieldEdit, edit_of, rewritten
from mlctl.kinds.resource import is_local
from mlctl.planning.model import Action, Change, FieldChange, Plan
from mlctl.planning.ownership.owner import RESERVED, SPEC_HASH, TAGS, is_unhashed, spec_hash, tags
from mlctl.pointer import Data, dotted
from mlctl.source.document import STDIN
from mlctl.source.edit import CannotEdit, Rewrite


class Origin(Enum):
    """Where a difference comes from, as far as the tag `mlctl.spec-hash` can tell."""

    OUTSIDE = "outside"  # the file is the one that was applied
    UNKNOWN = "unknown"  # no tag, or another file's: the file may have changed since


@dataclass(frozen=True, slots=True)
class Difference:
    """A field (or key of a map) in the file and in the workspace; None is absent."""

    field: FieldChange
    origin: Origin

    @property
    def declared(self) -> Data:
        """The value in the file."""
        return self.field.after

    @property
    def live(self) -> Data:
        """The value in the workspace."""
        return self.field.before


@dataclass(frozen=True, eq=False)
class Drifted:
    """A declared resource that differs; without `differences` it does not exist."""

    resource: Resource
    address: Address
    change: Change
    differences: tuple[Difference, ...]

    @property
    def missing(self) -> bool:
        """Whether it does not exist in the workspace."""
        return self.change.live is None


def find_drift(plan: Plan) -> Iterator[Drifted]:
    """Yield the differences, from a plan of the files without tags.

    A new version of an asset whose file changed is not drift; nor is an inline asset, which its
    owner names.
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
        hashed = field is None or not (field.secret or is_unhashed(field, kind_of(change.address)))
        yield Difference(changed_field, Origin.OUTSIDE if unchanged and hashed else Origin.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Left:
    """A difference that is not written to a file, and why."""

    drifted: Drifted
    field: str
    why: str


@dataclass(frozen=True, eq=False)
class Pulled:
    """The new text of each file, and the differences that remain."""

    rewrites: list[Rewrite]
    left: list[Left] = field(default_factory=list)


def write_live_values(drifted: Iterable[Drifted]) -> Pulled:
    """Write the live values into the files."""
    pending: dict[FieldEdit, Left] = {}
    not_pulled: list[Left] = []
    for drift in drifted:
        if drift.missing:
            not_pulled.append(Left(drift, "", "it does not exist in the workspace"))
        for difference in drift.differences:
            name = dotted(difference.field.at)
            try:
                pending[_edit(drift.resource, difference)] = Left(drift, name, "")
            except CannotEdit as error:
                not_pulled.append(Left(drift, name, str(error)))
    rewrites, refused = rewritten(pending)
    not_pulled += [replace(pending[field_edit], why=why) for field_edit, why in refused]
    return Pulled(rewrites, not_pulled)


def _edit(resource: Resource, difference: Difference) -> FieldEdit:
    """Build the edit for one difference; CannotEdit if the file or a secret forbids it."""
    at = difference.field.at
    declared = resource.get(*map(str, at))
    if resource.document.source.name == STDIN:
        raise CannotEdit("the document came from standard input")
    if difference.field.sensitive or any(
        True for _ in masking.find({str(at[-1]): difference.live})
    ):
        raise CannotEdit("it looks like a secret")
    if isinstance(declared, str) and is_local(declared) and _names_files(resource, difference):
        raise CannotEdit(f"the file names a local file, `{declared}`")
    return edit_of(resource, at, difference.live)


def _names_files(resource: Resource, difference: Difference) -> bool:
    """Whether the field names files."""
    field = resource.form.field(difference.field.at)
    return field is not None and field.path
