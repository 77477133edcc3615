"""Edit fields of resources in the documents that declare them.

A file is rewritten only if reading the new text gives the intended values: anchors, merge keys and
unusual layouts need no special treatment.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlctl import pointer, source
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report, SourceText
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.source import Document
from mlctl.source.edit import (
    CannotEdit,
    Edit,
    Rewrite,
    apply_edits,
    insert,
    remove,
    replace_value,
    write_value,
)

_LONG = 120  # characters of a value that a message shows
_BY_VARIABLE = "the file uses a variable there"


@dataclass(frozen=True, eq=False)
class FieldEdit:
    """A field (or a key of a map) of a document and its new value; None removes it.

    The resource is at `at[:depth]`; `order` is that of its fields.
    """

    document: Document
    at: Pointer
    value: Data
    depth: int = 0
    order: Sequence[Pointer] = ()

    def edit(self, document: Document) -> Edit:
        """Return the edit of a version of the document.

        Raises:
            CannotEdit: it cannot be written; the message says why, and what to write where.
        """
        try:
            return self._edit(document)
        except CannotEdit as error:
            raise CannotEdit(self.by_hand(str(error))) from None

    def by_hand(self, why: str) -> str:
        """Say why the field was not edited, and what to write by hand."""
        span = self.document.label(self.at).span
        name = pointer.dotted(self.at[self.depth :])
        text = "" if self.value is None else write_value(self.value)
        text = f"{text[:_LONG]}…" if len(text) > _LONG else text
        what = f"remove `{name}`" if self.value is None else f"write `{name}: {text}`"
        return f"{why}; {what} in {span.source.name}:{span.line + 1} by hand"

    def _edit(self, document: Document) -> Edit:
        at, data = self.at, document.data
        span = document.label(at).span
        if self.value is None:
            above = pointer.get(data, at[:-1])
            if len(at) > self.depth + 1 and isinstance(above, dict) and len(above) == 1:
                return replace_value(document.label(at[:-1]).span, {})
            return remove(document.label(at, key=True).span, span)
        if pointer.get(data, at) is not None:
            return replace_value(span, self.value)
        for length in range(len(at) - 1, self.depth - 1, -1):
            container = pointer.get(data, at[:length])
            if container == {} and length > self.depth:
                nested = pointer.nest({at[length:]: self.value})
                return replace_value(document.label(at[:length]).span, nested)
            if isinstance(container, dict) and container:
                sibling = (*at[:length], self._successor(at[:length], container))
                keys = tuple(map(str, at[length:]))
                return insert(document.label(sibling, key=True).span, keys, self.value)
        raise CannotEdit("there is no mapping to write it in")

    def _successor(self, above: Pointer, container: dict[str, Data]) -> str:
        """Return the key before which to insert: the next in az's order, else the first."""
        inside = above[self.depth :]
        length = len(inside)
        order = [at[length] for at in self.order if at[:length] == inside and len(at) > length]
        key = self.at[len(above)]
        later = order[order.index(key) + 1 :] if key in order else []
        keys = [name for name in container if name != "$schema"]
        return next((str(name) for name in later if name in keys), keys[0] if keys else "$schema")


def edit_of(resource: Resource, at: Pointer, value: Data) -> FieldEdit:
    """Build the edit that gives a field (or a key of a map) a new value; None removes it.

    Raises:
        CannotEdit: it cannot be written, or a variable sets it; the message says why.
    """
    whole = (*resource.root, *_find_alias(resource, at))
    document, place = _find_holder(resource, whole, value)
    depth = len(place) - len(whole) + len(resource.root)
    prefixes = (pointer.get(document.data, place[:length]) for length in range(depth, len(place)))
    if any(isinstance(above, str) and "${{" in above for above in prefixes):
        raise CannotEdit(_BY_VARIABLE)
    current = pointer.get(document.data, place)
    if current is not None and "${{" in document.label(place).span.text:
        raise CannotEdit(_BY_VARIABLE)
    order = [field.at for field in resource.form.fields]
    field_edit = FieldEdit(document, place, value, depth, order)
    field_edit.edit(document)
    return field_edit


def rewritten(
    field_edits: Iterable[FieldEdit],
) -> tuple[list[Rewrite], list[tuple[FieldEdit, str]]]:
    """Return the new texts of files, and the edits that were not made, with reasons."""
    by_source: dict[SourceText, list[FieldEdit]] = defaultdict(list)
    for field_edit in field_edits:
        by_source[field_edit.document.source].append(field_edit)
    rewrites, refused = [], []
    for old, changes in by_source.items():
        text = _apply_edits(old, [change.edit(change.document) for change in changes])
        documents = _read(old.name, old.text)
        if not _says(text, old.name, documents, changes):
            text, why = _apply_one_by_one(old, changes)
            refused += why
        if text != old.text:
            rewrites.append(Rewrite(old, text))
    return rewrites, refused


def _find_alias(resource: Resource, at: Pointer) -> Pointer:
    """Return where the document has a field, which may be under an alias."""
    aliases = (field.at for field in resource.form.aliases if field.alias_of == at)
    alias = next((place for place in aliases if resource.get(*map(str, place)) is not None), at)
    return at if resource.get(*map(str, at)) is not None else alias


def _find_holder(resource: Resource, whole: Pointer, value: Data) -> tuple[Document, Pointer]:
    """Find the document of a file to edit, and where in it."""
    data = resource.document.data
    if pointer.get(data, whole) is not None:
        holders = resource.document.holders(whole)
        if not holders:
            raise CannotEdit(_BY_VARIABLE)
        if value is None and len(holders) > 1:
            raise CannotEdit("both an overlay and the file set it")
        return holders[0]
    if value is None:
        raise CannotEdit("the file does not set it")
    for length in range(len(whole) - 1, len(resource.root) - 1, -1):
        if pointer.get(data, whole[:length]) is not None:
            holders = resource.document.holders(whole[:length])
            if not holders:
                raise CannotEdit(_BY_VARIABLE)
            document, place = holders[0]
            return document, (*place, *whole[length:])
    raise CannotEdit("there is no mapping to write it in")


def _apply_edits(old: SourceText, edits: Iterable[Edit]) -> str:
    return apply_edits(edits).get(Path(old.name), old.text)


def _apply_one_by_one(
    old: SourceText, changes: Iterable[FieldEdit]
) -> tuple[str, list[tuple[FieldEdit, str]]]:
    """Apply each change after which the text reads as intended; return the others."""
    text, refused = old.text, list[tuple[FieldEdit, str]]()
    for change in changes:
        documents = _read(old.name, text)
        try:
            document = documents[change.document.index]
            new = _apply_edits(document.source, [change.edit(document)])
        except CannotEdit as error:
            refused.append((change, str(error)))
            continue
        if _says(new, old.name, documents, [change]):
            text = new
        else:
            why = "it cannot be changed without changing something else"
            refused.append((change, change.by_hand(why)))
    return text, refused


def _read(name: str, text: str) -> dict[int, Document]:
    return {document.index: document for document in source.load(name, text, Report())}


def _says(text: str, name: str, before: dict[int, Document], changes: Iterable[FieldEdit]) -> bool:
    """Whether a text reads as the documents did, with the changes and nothing else."""
    meant = {index: pointer.copy(document.data) for index, document in before.items()}
    for change in changes:
        data = meant[change.document.index]
        if change.value is None:
            pointer.drop(data, change.at)
        else:
            pointer.put(data, change.at, change.value)
    report = Report()
    documents = source.load(name, text, report)
    return not report.failed and _spell_distinctly(meant) == _spell_distinctly(
        {document.index: document.data for document in documents}
    )


def _spell_distinctly(data: dict[int, Data]) -> str:
    """Return plain data as text in which `1`, `1.0` and `true` differ."""
    return json.dumps(data, sort_keys=True)
