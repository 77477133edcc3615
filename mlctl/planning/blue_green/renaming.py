"""Rename resources that would be replaced, in the files that declare or refer to them.

Pure: the names, the new texts, and what cannot be renamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mlctl.config.graph import Graph, build
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.kinds import Address, Resource, kind_of
from mlctl.planning.blue_green.successors import CannotRename
from mlctl.planning.model import Action, Plan
from mlctl.pointer import Pointer
from mlctl.schema import Schema, resolved
from mlctl.source import Document
from mlctl.source.document import STDIN
from mlctl.source.edit import CannotEdit, Edit, apply_edits, rename
from mlctl.source.overlay import DocumentPart

NO_SUCCESSOR = Rule("MLC418", "no-successor", Severity.ERROR)
_NUMBERED = re.compile(r"(?P<stem>.+)-(?P<v>v?)(?P<number>\d{1,6})", re.IGNORECASE)
_TRIES = 100

Renames = Mapping[Address, Address]
"""Old addresses and new ones, which differ in their names."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in parts: its `stem`, its number, and what may precede numbers."""

    stem: str
    number: int = 1
    marks: tuple[str, ...] = ("-", "-v")

    @classmethod
    def of(cls, name: str) -> _Name:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            return cls(name)
        marks = ("-v", "-") if match["v"] else ("-", "-v")
        return cls(match["stem"], int(match["number"]), marks)


def to_rename(plan: Plan) -> Iterator[Resource]:
    """Yield the resources that a plan would replace.

    Raises:
        CannotRename: a resource's name must stay.
    """
    for change in plan.changes:
        if change.action is not Action.REPLACE:
            continue
        if change.resource is None or not change.resource.kind.plan.may_be_renamed:
            routed = kind_of(change.address).az.route_flag
            message = f"{change.address} must be replaced, and {why_named(change.address)}"
            moved = "the traffic" if routed else "its callers"
            hint = f"keep the field as it is, or declare a new resource next to it and move {moved}"
            raise CannotRename(
                Diagnostic(NO_SUCCESSOR, message, change.cause, hint, (), str(change.address))
            )
        yield change.resource


def why_named(address: Address) -> str:
    """Say why the resource at an address cannot be renamed, as a clause."""
    kind = kind_of(address)
    if kind.versioned:
        return "its versions stay"
    return "requests use its name" if kind.az.route_flag else "others refer to it by name"


def new_address(
    resource: Resource, taken_addresses: Container[Address], is_live: Callable[[Address], bool]
) -> Address:
    """Return the next free name in a resource's sequence: `blue-2` after `blue`.

    If the kind's names allow no number after a dash it is `cpu-v2`; a long name is truncated.

    Raises:
        CannotRename: no valid name is free.
    """
    name, schema = _Name.of(resource.address.name), _schema_of_names(resource)
    for number in range(name.number + 1, name.number + 1 + _TRIES):
        ends = (f"{mark}{number}" for mark in name.marks)
        valid = next(
            (name_with_end for end in ends if (name_with_end := _fit(name.stem, end, schema))), None
        )
        if valid is not None:
            address = replace(resource.address, name=valid)
            if address not in taken_addresses and not is_live(address):
                return address
    message = f"no valid new name for {resource.address} is free"
    place = resource.label(("name",))
    raise CannotRename(Diagnostic(NO_SUCCESSOR, message, place, NO_SUCCESSOR.documented().fix))


def _fit(stem: str, end: str, schema: Schema) -> str | None:
    """Return a name with this end, truncated to the allowed length; None if it is invalid."""
    longest = schema.get("maxLength", len(stem) + len(end)) - len(end)
    name = stem[:longest].rstrip("-") + end
    return name if re.search(schema.get("pattern", ""), name) else None


def mentions(text: str, renames: Renames) -> Iterator[tuple[int, Address]]:
    """Yield the lines of a text that name a renamed resource, by address or as `azureml:NAME`."""
    for old in renames:
        short = rf"|azureml:{re.escape(old.name)}" if old.parent is None else ""
        pattern = re.compile(rf"(?:{re.escape(str(old))}{short})(?![\w-])", re.IGNORECASE)
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                yield number, old


def renamed_texts(graph: Graph, renames: Renames, overlays: Iterable[Document]) -> dict[Path, str]:
    """Return the new texts of the files that declare, refer to or overlay renamed resources.

    Raises:
        CannotRename: a name is not written out in a file.
    """
    edits: dict[tuple[str, int, int], Edit] = {}
    for label, old in _find_places(graph, renames, tuple(overlays)):
        edit = _edit(label, old, renames[old])
        edits[edit.source.name, edit.begin, edit.end] = edit
    return apply_edits(edits.values())


def _edit(label: Label, old: Address, new: Address) -> Edit:
    if label.span.source.name == STDIN:
        raise _refusal(old, new, label, "the document came from standard input")
    try:
        return rename(label.span, old.name, new.name)
    except CannotEdit as error:
        raise _refusal(old, new, label, str(error)) from None


def find_leftover(graph: Graph, renames: Renames) -> CannotRename | None:
    """Find a remaining use of an old name in the renamed files; None if there is none."""
    for old, new in renames.items():
        resource = graph.resources.get(old)
        if resource is not None:
            return _refusal(old, new, resource.label(("name",)), "another line sets that name")
        for edge in graph.edges:
            if edge.target == old:
                place = graph.resources[edge.source].label(edge.at)
                return _refusal(old, new, place, "it would still refer to the old one")
    return None


def _find_places(
    graph: Graph, renames: Renames, overlays: Sequence[Document]
) -> Iterator[tuple[Label, Address]]:
    """Yield the places of changing names, with the old addresses."""
    for old in renames:
        yield graph.resources[old].label(("name",)), old
    for edge in graph.edges:
        if edge.target in renames:
            yield _find_place(graph.resources[edge.source], edge.at), edge.target
    for document in overlays:
        laid = list(_read_overlay(document))
        for key, resource in laid:
            if resource.address in renames:
                yield document.label((key,), key=True), resource.address
        for edge in build([item for _, item in laid]).edges:
            if edge.target in renames and edge.at != (kind_of(edge.source).parent_key,):
                resource = next(item for _, item in laid if item.address == edge.source)
                yield _find_place(resource, edge.at), edge.target


def _find_place(resource: Resource, at: Pointer) -> Label:
    """Return the value, or the key, that is a name."""
    return resource.label(at, key=not isinstance(resource.get(*map(str, at)), str))


def _read_overlay(document: Document) -> Iterator[tuple[str, Resource]]:
    """Yield an overlay's part for each resource, by key, as if it were the whole document."""
    for key, value in document.data.items():
        if isinstance(value, dict):
            address, part = Address.parse(key), DocumentPart.of(document, (key,))
            kind = kind_of(address)
            form = kind.form_of(value)
            yield key, Resource(address, kind, form, part, form.written(value))


def _schema_of_names(resource: Resource) -> Schema:
    properties = resolved(resource.form.schema).get("properties", {})
    return dict(properties.get("name", {}))


def _refusal(old: Address, new: Address, place: Label, why: str) -> CannotRename:
    hint = f"write `{new.name}` there by hand, or replace it in place"
    message = f"{old} cannot become {new} here: {why}"
    return CannotRename(Diagnostic(NO_SUCCESSOR, message, place, hint, (), str(old)))
