"""A field of a resource written into the document that declares it."""

from __future__ import annotations

from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.source.edit import CannotEdit, Edit, inserted, removed, replaced


def edit_of(resource: Resource, at: Pointer, value: Data) -> Edit:
    """The edit that gives a field (or a key of a map) another value; None takes it away.

    Raises:
        CannotEdit: it cannot be written there, or a variable says it; says why.
    """
    exists = resource.get(*map(str, at)) is not None
    if exists and "${{" in resource.label(at).span.text:
        raise CannotEdit("the file says it by a variable")
    if value is None:
        if not exists:
            raise CannotEdit("the file does not say it")
        above = resource.get(*map(str, at[:-1]))
        if len(at) > 1 and isinstance(above, dict) and len(above) == 1:
            return replaced(resource.label(at[:-1]).span, {})
        return removed(resource.label(at, key=True).span, resource.label(at).span)
    if exists:
        return replaced(resource.label(at).span, value)
    first = _first(resource, at)
    if len(at) > 1 and resource.get(*map(str, at[:-1])) == {}:
        return replaced(resource.label(at[:-1]).span, {str(at[-1]): value})
    keys = tuple(map(str, at[len(first) - 1 :]))
    return inserted(resource.label(first, key=True).span, keys, value)


def _first(resource: Resource, at: Pointer) -> Pointer:
    """A key of the innermost mapping that is there, before which a new one is written.

    It is the first that follows in az's order of fields, else the first of all.
    """
    for length in range(len(at) - 1, -1, -1):
        container = resource.get(*map(str, at[:length])) if length else resource.document.data
        if isinstance(container, dict) and container:
            keys = [key for key in container if key != "$schema"]
            order = [
                field.at[length]
                for field in resource.form.fields
                if field.at[:length] == at[:length]
            ]
            later = order[order.index(at[length]) + 1 :] if at[length] in order else []
            return (*at[:length], next((key for key in later if key in keys), keys[0]))
    raise CannotEdit("there is no mapping to write it in")
