"""Write recommended values into files, preserving comments and layout."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.fields import file_of
from mlctl.kinds.edit import FieldEdit, edit_of, rewritten
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.source.edit import CannotEdit, Rewrite

# Settings that have other names in files.
_FIELDS = {"concurrency": "max_concurrency_per_instance"}


def patched(subject: Subject, settings: Mapping[str, Data]) -> tuple[list[Rewrite], dict[str, str]]:
    """Return the new text of each changed file, and why settings were not written."""
    pending: dict[FieldEdit, str] = {}
    unwritten: dict[str, str] = {}
    for name, value in settings.items():
        place = _place(subject, _FIELDS.get(name, name))
        plain = int(value) if isinstance(value, float) else value
        try:
            if place is None:
                unwritten[name] = "no file sets it"
            else:
                pending[edit_of(*place, plain)] = name
        except CannotEdit as error:
            unwritten[name] = str(error)
    rewrites, refused = rewritten(pending)
    unwritten |= {pending[field_edit]: why for field_edit, why in refused}
    return rewrites, unwritten


def _place(subject: Subject, name: str) -> tuple[Resource, Pointer] | None:
    """Return the resource that has a field of that name, and its pointer."""
    for resource in (subject.cluster, subject.deployment):
        if file_of(resource) is None:
            continue
        for field in resource.form.fields:
            if field.at[-1] == name:
                return resource, field.at
    return None
