"""What the az-style verbs plan from: a file or a live resource, and the command line over it."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mlctl import pointer, schema, source
from mlctl.assets.local_files import is_local
from mlctl.backends.ports.backend import Live
from mlctl.cli.az.args import EditArgs
from mlctl.cli.az.field_flags import field_of, values
from mlctl.cli.az.field_values import read_only
from mlctl.cli.az.overlay import COMMAND_LINE, Given, Value, lay, over
from mlctl.cli.az.update import Touched, Update, UpdateError, Verb, update
from mlctl.diagnostics import Diagnostic, Report, SourceText, Span
from mlctl.kinds import Kind, Scope, kind_of
from mlctl.kinds.field import Absent, Field, Form, Mutability
from mlctl.kinds.flags import Flag
from mlctl.pointer import Data, Pointer, dotted
from mlctl.render import resources
from mlctl.schema import Schema
from mlctl.source import Document

_NAMES = {"name": "--name", "endpoint_name": "--endpoint-name", "version": "--version"}


def blank() -> Document:
    """The document of a command without a file."""
    return Document(SourceText(COMMAND_LINE, ""), {})


def is_blank(document: Document) -> bool:
    """Whether there is no file."""
    return document.source.name == COMMAND_LINE


@dataclass(frozen=True, slots=True)
class Typed:
    """What a command line says of a resource: the values of its flags, and all its arguments."""

    kind: Kind
    values: tuple[Value, ...]
    args: EditArgs

    @classmethod
    def of(cls, kind: Kind, flags: tuple[Flag, ...], args: EditArgs) -> Typed:
        """The arguments of a command of `kind` that takes `flags`.

        Raises:
            UsageError: a value cannot be one of its field.
        """
        return cls(kind, tuple(values(flags, args.fields, kind)), args)


def created(document: Document, typed: Typed) -> Given:
    """The document to create: the file, what was typed over it, `--set` on top.

    Raises:
        UpdateError: `--set` makes no sense.
    """
    below = () if is_blank(document) else (document,)
    return _edited([*_names(typed.args), *typed.values], document, below, typed)


def updated(document: Document, live: Live, scope: Scope, typed: Typed, report: Novelties) -> Given:
    """What a live resource is to be: as it is, the file over it, what was typed, the updates.

    Nothing has its default unless it had it before. What is taken away is said by an empty value.

    Raises:
        UpdateError: an update makes no sense.
    """
    as_it_is = as_document(live, scope, _form(document, typed.kind))
    below = (as_it_is,) if is_blank(document) else (document, as_it_is)
    edited = _edited(typed.values, document, below, typed)
    _refuse_renaming(edited, as_it_is)
    cleared = dict(_cleared(as_it_is.data, edited.data, typed.kind))
    for at, empty in cleared.items():
        pointer.put(edited.data, at, empty)
    report.cleared |= {edited.label(at).span for at in cleared}
    return edited


def as_document(live: Live, scope: Scope, form: Form | None = None) -> Document:
    """A live resource as a file would say it, without the service's own fields."""
    kind = kind_of(live.address)
    shown = resources.resource(live, scope, form)
    if form is not None and kind.form_of(shown) is not form:
        shown.pop("type", None)  # a flat deployment has none
    data = _writable(shown, form_schema(kind, shown, form))
    return source.load(f"<{live.address}>", source.dump(data), Report())[0]


def form_schema(kind: Kind, data: Data, form: Form | None = None) -> Schema:
    """The schema of the form that a document has."""
    ladder = [one for _, one in schema.forms(schema.resolved(kind.schema))]
    return ladder[kind.forms.index(form or kind.form_of(data))]


@dataclass(slots=True)
class Novelties(Report):
    """What a change brings about, and nothing else.

    `known` was said of the resource before the change; `cleared` are places of empty values that
    stand for "take it away".
    """

    known: frozenset[tuple[str, str]] = frozenset()
    cleared: set[Span] = field(default_factory=set)

    def add(self, *diagnostics: Diagnostic) -> None:
        """Keep what is new."""
        Report.add(self, *(found for found in diagnostics if not self._old(found)))

    def _old(self, found: Diagnostic) -> bool:
        emptied = found.primary is not None and found.primary.span in self.cleared
        return emptied or (found.rule.code, found.message) in self.known


def _names(args: EditArgs) -> Iterator[Value]:
    names = {"name": args.name, "endpoint_name": args.endpoint_name, "version": args.version}
    for name, text in names.items():
        if text is not None:
            yield Value((name,), text, _NAMES[name], text)


def _rebased(typed: Iterable[Value], document: Document, kind: Kind) -> list[Value]:
    """Paths of the command line, which start here, as paths that start at the document's file."""
    folder = document.folder
    return [
        replace(one, data=os.path.relpath(one.data, folder))
        if folder != Path() and field_of(kind, one.at).get("x-mlctl-path") and is_local(one.data)
        else one
        for one in typed
    ]


def _edited(
    said: Iterable[Value], document: Document, below: tuple[Document, ...], typed: Typed
) -> Given:
    """`said` over the documents `below`, and what the generic update arguments make of that."""
    based = _rebased(said, document, typed.kind)
    laid = over(based, *below)
    updates = _updates(typed.args)
    if not updates:
        return laid
    data = copy.deepcopy(laid.data)
    known = form_schema(typed.kind, data)
    touched = update(data, updates, known, force_string=typed.args.force_string)
    return lay(data, [*based, *(_value(one, known) for one in touched)], *below)


def _updates(args: EditArgs) -> list[Update]:
    """The generic update arguments, in the order in which they were typed."""
    found = [
        (one.position, Update(verb, one.values))
        for verb, flags in (
            (Verb.SET, args.set_),
            (Verb.ADD, args.add),
            (Verb.REMOVE, args.remove),
        )
        for one in flags or ()
    ]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _value(touched: Touched, known: Schema) -> Value:
    """How an update looks on the command line; a secret's value is not shown."""
    inner: Schema = known
    for step in touched.at:
        inner = inner.get("properties", {}).get(step, {})
    secret = inner.get("x-ms-secret")
    text = f"{dotted(touched.at)}={'***' if secret else touched.text}"
    shown = text if touched.verb is Verb.SET else touched.text
    return Value(touched.at, None, touched.verb.value, shown)


def _refuse_renaming(edited: Given, live: Document) -> None:
    for name in _NAMES:
        if live.data.get(name) != edited.data.get(name):
            raise UpdateError(
                f"`{name}` cannot be changed: it is what the resource is known by."
                " Create another one under the new name."
            )


def _cleared(
    before: Mapping[str, Data], after: Mapping[str, Data], kind: Kind
) -> Iterator[tuple[Pointer, Data]]:
    """The fields that were taken away, each with the value that says so.

    For the plan silence means "keep" where a field has no default.
    """
    for one in kind.form_of(after).fields:
        was, now = pointer.get(before, one.at), pointer.get(after, one.at)
        kept = one.absent is Absent.KEEP and one.mutability is not Mutability.READ_ONLY
        if kept and was not in (None, "") and now in (None, ""):
            empty = _empty(one)
            if empty is not None:
                yield one.at, empty


def _empty(one: Field) -> Data:
    """What says that a field has no value; None where its absence says it."""
    if one.codec == "identities":
        return None
    if "none" in one.enum:
        return "none"
    if one.schema.get("type") == "object":
        return {}
    if one.schema.get("type") == "string" and one.codec in ("text", "folded", "plain"):
        return ""
    raise UpdateError(f"`{dotted(one.at)}` cannot be taken away; give it another value.")


def _form(document: Document, kind: Kind) -> Form | None:
    """The form that the file speaks; None where it leaves that open."""
    if is_blank(document) or ("settings" in document.data and "type" not in document.data):
        return None
    return kind.form_of(document.data)


def _writable(data: Mapping[str, Data], known: Schema) -> dict[str, Data]:
    """Without what the service alone sets."""
    kept = {}
    for name, value in data.items():
        inner = known.get("properties", {}).get(name, {})
        if not read_only(inner):
            kept[name] = _writable(value, inner) if isinstance(value, dict) else value
    return kept
