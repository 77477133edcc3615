"""The documents of az-style commands: a file or a live resource, overlaid with the flags."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mlctl import pointer, schema, source
from mlctl.backends.ports.backend import Live
from mlctl.cli.az.args import EditArgs, GenericArgs
from mlctl.cli.az.field_values import field_of, read_only, values
from mlctl.cli.az.update import GenericUpdate, UpdatedField, UpdateError, UpdateFlag, update
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Diagnostic, Report, SourceText, Span
from mlctl.kinds import Kind, Scope, kind_of
from mlctl.kinds.facts import Flag
from mlctl.kinds.field import Absent, Field, Form, Mutability
from mlctl.kinds.resource import is_local
from mlctl.pointer import Data, Pointer, dotted
from mlctl.render.cloud import resources
from mlctl.schema import Schema
from mlctl.source import Document
from mlctl.source.overlay import (
    COMMAND_LINE,
    FlagValue,
    OverlaidDocument,
    overlay,
    with_flag_values,
)

_IDS = "user_assigned_identities"
_NAMES = {"name": "--name", "endpoint_name": "--endpoint-name", "version": "--version"}


NO_FILE = Document(SourceText(COMMAND_LINE, ""), {})  # of a command without a file


def is_empty(document: Document) -> bool:
    """Whether there is no file."""
    return document.source.name == COMMAND_LINE


@dataclass(frozen=True, slots=True)
class ResourceFlags:
    """The flags of a command about a resource: the field values, and all arguments."""

    kind: Kind
    values: tuple[FlagValue, ...]
    args: EditArgs

    @classmethod
    def of(cls, kind: Kind, flags: tuple[Flag, ...], args: EditArgs) -> ResourceFlags:
        """Read the flags of a command of `kind`."""
        return cls(kind, tuple(values(flags, args.fields, kind)), args)


def document_to_create(document: Document, typed: ResourceFlags) -> OverlaidDocument:
    """Return the document to create: the file, the flags over it, `--set` on top.

    Raises:
        UpdateError: `--set` makes no sense.
    """
    below = () if is_empty(document) else (document,)
    return _apply_edits([*_names(typed.args), *typed.values], document, below, typed)


def document_to_update(
    document: Document, live: Live, scope: Scope, typed: ResourceFlags, report: NewFindings
) -> OverlaidDocument:
    """Return the document to update to: the live resource, the file, the flags, the updates.

    Defaults are not filled in. A removed field gets an empty value.

    Raises:
        UpdateError: an update makes no sense.
    """
    as_it_is = as_document(live, scope, _form(document, typed.kind))
    below = (as_it_is,) if is_empty(document) else (document, as_it_is)
    names = [  # in the live resource's letter case
        replace(name, data=pointer.get(as_it_is.data, name.at) or name.data)
        for name in (() if is_empty(document) else _names(typed.args))
    ]
    edited = _apply_edits([*names, *typed.values], document, below, typed)
    _refuse_renaming(edited, as_it_is)
    _drop_old_ids(edited.data, as_it_is.data)
    cleared = dict(_cleared(as_it_is.data, edited.data, typed.kind))
    for at, empty in cleared.items():
        pointer.put(edited.data, at, empty)
    report.cleared |= {edited.label(at).span for at in cleared}
    return edited


def as_document(live: Live, scope: Scope, form: Form | None = None) -> Document:
    """Return a live resource as the document of a file, without read-only fields."""
    kind = kind_of(live.address)
    body = resources.resource(live, scope, form)
    if form is not None and kind.form_of(body) is not form:
        body.pop("type", None)  # a flat deployment has none
    data = _writable(body, form_schema(kind, body, form))
    return source.load(f"<{live.address}>", source.dump(data), Report())[0]


def form_schema(kind: Kind, data: Data, form: Form | None = None) -> Schema:
    """Return the schema of the form that a document has."""
    ladder = [branch for _, branch in schema.forms(schema.resolved(kind.schema))]
    return ladder[kind.forms.index(form or kind.form_of(data))]


@dataclass(slots=True)
class NewFindings(Report):
    """A report that keeps only the findings that a change causes.

    `known` are the code and message of findings that the resource had before the change; `cleared`
    are the places of empty values for removed fields.
    """

    known: frozenset[tuple[str, str]] = frozenset()
    cleared: set[Span] = field(default_factory=set)

    def add(self, *diagnostics: Diagnostic) -> None:
        """Keep the findings that the resource did not have before."""
        for diagnostic in diagnostics:
            emptied = diagnostic.primary is not None and diagnostic.primary.span in self.cleared
            if not emptied and (diagnostic.rule.code, diagnostic.message) not in self.known:
                Report.add(self, diagnostic)


def _names(args: EditArgs) -> Iterator[FlagValue]:
    names = {"name": args.name, "endpoint_name": args.endpoint_name, "version": args.version}
    for name, text in names.items():
        if text is not None:
            yield FlagValue((name,), text, _NAMES[name], text)


def _apply_edits(
    typed_values: Iterable[FlagValue],
    document: Document,
    below: tuple[Document, ...],
    typed: ResourceFlags,
) -> OverlaidDocument:
    """Overlay the documents `below` with the flag values, then apply the generic updates."""
    folder = document.folder
    based = [
        replace(value, data=os.path.relpath(value.data, folder))
        if folder != Path()
        and field_of(typed.kind, value.at).get("x-mlctl-path")
        and is_local(value.data)
        else value
        for value in typed_values
    ]
    laid = overlay(based, *below)
    updates = generic_updates(typed.args)
    if not updates:
        return laid
    data = copy.deepcopy(laid.data)
    schema_ = form_schema(typed.kind, data)
    updated = update(data, updates, schema_, force_string=typed.args.force_string)
    return with_flag_values(
        data, [*based, *(_value(field_, schema_) for field_ in updated)], *below
    )


def generic_updates(args: EditArgs | GenericArgs) -> list[GenericUpdate]:
    """Return the generic update arguments in the order in which they were typed."""
    flags = [*(args.set_ or ()), *(args.add or ()), *(args.remove or ())]
    flags.sort(key=lambda typed_flag: typed_flag.position)
    return [GenericUpdate(UpdateFlag(flag.option.long), flag.values) for flag in flags]


def _value(updated: UpdatedField, schema_: Schema) -> FlagValue:
    """Return an update as findings show it, with secrets hidden."""
    inner: Schema = schema_
    for step in updated.at:
        inner = inner.get("properties", {}).get(step, {})
    secret = inner.get("x-ms-secret")
    text = f"{dotted(updated.at)}={'***' if secret else updated.text}"
    value = text if updated.flag is UpdateFlag.SET else updated.text
    return FlagValue(updated.at, None, updated.flag.value, value)


def _drop_old_ids(edited: dict[str, Data], live: Mapping[str, Data]) -> None:
    """Leave out the live user identities where the new type has none, as az does."""
    new, old = edited.get("identity"), live.get("identity")
    if not isinstance(new, dict) or not isinstance(old, dict):
        return
    if "user" not in str(new.get("type")).casefold() and new.get(_IDS) == old.get(_IDS):
        new.pop(_IDS, None)


def _refuse_renaming(edited: OverlaidDocument, live: Document) -> None:
    for name in _NAMES:
        if live.data.get(name) != edited.data.get(name):
            raise UpdateError(
                f"`{name}` cannot be changed: it is what the resource is known by."
                " Create another one under the new name."
            )


def _cleared(
    before: Mapping[str, Data], after: Mapping[str, Data], kind: Kind
) -> Iterator[tuple[Pointer, Data]]:
    """Yield removed fields that a plan would keep, with the empty values that remove them."""
    for field_ in kind.form_of(after).fields:
        was, now = pointer.get(before, field_.at), pointer.get(after, field_.at)
        keeps = field_.absent is Absent.KEEP and field_.mutability is not Mutability.READ_ONLY
        if keeps and was not in (None, "") and now in (None, ""):
            empty = _empty(field_)
            if empty is not None:
                yield field_.at, empty


def _empty(field_: Field) -> Data:
    """Return the value that removes a field; None if its absence does."""
    if field_.codec == "identities":
        return None
    if "none" in field_.enum:
        return "none"
    if field_.schema.get("type") == "object":
        return {}
    if field_.schema.get("type") == "string" and field_.codec in ("text", "folded", "plain"):
        return ""
    raise UpdateError(f"`{dotted(field_.at)}` cannot be removed; set another value.")


def _form(document: Document, kind: Kind) -> Form | None:
    """Return the form of the file; None if the file does not determine it."""
    if is_empty(document) or ("settings" in document.data and "type" not in document.data):
        return None
    return kind.form_of(document.data)


def _writable(data: Mapping[str, Data], schema_: Schema) -> dict[str, Data]:
    """Return the data without read-only fields."""
    writable = {}
    for name, value in data.items():
        inner = schema_.get("properties", {}).get(name, {})
        if not read_only(inner):
            writable[name] = _writable(value, inner) if isinstance(value, dict) else value
    return writable
