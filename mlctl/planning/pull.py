"""Live values written into the files that declare them. Pure: the new texts, and what is left."""

from __future__ import annotations

from collections.abc import Iterable

from mlctl import masking
from mlctl.dataclasses import dataclass, field, replace
from mlctl.kinds import Resource
from mlctl.kinds.edit import FieldEdit, edit_of, rewritten
from mlctl.kinds.resource import is_local
from mlctl.planning.drift import Difference, Drifted
from mlctl.pointer import dotted
from mlctl.source.document import STDIN
from mlctl.source.edit import CannotEdit, Rewrite


@dataclass(frozen=True, slots=True)
class Left:
    """A difference that is not written, and why."""

    drifted: Drifted
    field: str
    why: str


@dataclass(frozen=True, eq=False)
class Pulled:
    """The new text of each file, and what is left."""

    rewrites: list[Rewrite]
    left: list[Left] = field(default_factory=list)


def pulled(drifted: Iterable[Drifted]) -> Pulled:
    """The files with the live values in them."""
    pending: dict[FieldEdit, Left] = {}
    not_pulled: list[Left] = []
    for drift in drifted:
        if drift.missing:
            not_pulled.append(Left(drift, "", "it is not in the workspace"))
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
    """The edit for one difference.

    Raises:
        CannotEdit: the file says it by a variable, a local file, or not in text; or it is a secret.
    """
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
