"""Live values written into the files that declare them. Pure: the new texts, and what is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mlctl import masking
from mlctl.kinds.edit import edit_of
from mlctl.kinds.resource import Resource, is_local
from mlctl.planning.drift import Difference, Drifted
from mlctl.pointer import dotted
from mlctl.source.document import STDIN
from mlctl.source.edit import CannotEdit, Edit, edited


@dataclass(frozen=True, slots=True)
class Left:
    """A difference that is not written, and why."""

    drifted: Drifted
    field: str
    why: str


@dataclass(frozen=True, eq=False)
class Pulled:
    """The new text of each file, how many values were written, and what is left."""

    texts: dict[Path, str]
    count: int
    left: list[Left] = field(default_factory=list)


def pulled(found: Iterable[Drifted]) -> Pulled:
    """The files with the live values in them."""
    edits: list[Edit] = []
    left: list[Left] = []
    for one in found:
        if one.missing:
            left.append(Left(one, "", "it is not in the workspace"))
        for each in one.differences:
            try:
                edits.append(_edit(one.resource, each))
            except CannotEdit as error:
                left.append(Left(one, dotted(each.field.at), str(error)))
    return Pulled(edited(edits), len(edits), left)


def _edit(resource: Resource, one: Difference) -> Edit:
    """The edit for one difference.

    Raises:
        CannotEdit: the file says it by a variable, a local file, or not in text; or it is a secret.
    """
    at = one.field.at
    said = resource.get(*map(str, at))
    if resource.document.source.name == STDIN:
        raise CannotEdit("the document came from standard input")
    if one.field.sensitive or any(True for _ in masking.find({str(at[-1]): one.live})):
        raise CannotEdit("it looks like a secret")
    if isinstance(said, str) and is_local(said) and _names_files(resource, one):
        raise CannotEdit(f"the file names a local file, `{said}`")
    return edit_of(resource, at, one.live)


def _names_files(resource: Resource, one: Difference) -> bool:
    """Whether the field names files."""
    field = resource.form.field(one.field.at)
    return field is not None and field.path
