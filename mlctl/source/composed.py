"""Read texts with unusual constructs, report on them, and find where values are."""

from __future__ import annotations

from collections.abc import Iterator

import yaml
from yaml.events import ScalarEvent

from mlctl.diagnostics import Diagnostic, Label, Report, SourceText, Span
from mlctl.pointer import Data, Pointer
from mlctl.source import rules
from mlctl.source.compose import StreamPart, YamlNode, compose, resolved
from mlctl.source.construct import Builder
from mlctl.source.events import MarkedRange, SourceError
from mlctl.source.plain import PlainPart
from mlctl.source.syntax import explain


def read_composed(
    source: SourceText, report: Report, *, explicit: bool
) -> list[tuple[int, PlainPart]]:
    """Return the documents of a text with their numbers; errors go to the report."""
    builder = Builder(source, report)
    documents, empty = [], True
    for index, part in enumerate(_parts(builder)):
        if part is not None and (
            isinstance(part.root, ScalarEvent)
            and part.root.value == ""
            and part.root.implicit[0]
            and part.root.tag is None
            and part.root.anchor is None
        ):
            continue
        empty = False
        if part is None:
            break
        data = builder.value(part.root)
        if isinstance(data, dict):
            documents.append((index, PlainPart(data, part.line, part.begin, part.end)))
        else:
            report.add(_no_mapping(data, builder.span(part.root)))
    if empty and explicit:
        hint = "describe a resource in it, or do not pass it"
        start = Label(Span(source, 0, 0, 0, 0))
        report.add(Diagnostic(rules.EMPTY, f"`{source.name}` has no document", start, hint))
    return documents


def first_value(source: SourceText, default: Data) -> Data:
    """Return the value of the first document; `default` if there is none, or it cannot be read."""
    builder = Builder(source, Report())
    part = next(_parts(builder), None)
    return default if part is None else builder.value(part.root)


class Positions:
    """Finds values of one document in `text`, the part of the source from `line` on."""

    def __init__(self, source: SourceText, text: str, line: int) -> None:
        self._builder = Builder(source, Report(), line)
        self._root = next((part.root for part in compose(text)), None)

    def span(self, at: Pointer, *, key: bool) -> Span | None:
        """Return the span of the value at `at`, or of its key; None if it does not exist."""
        entry = self._find(at)
        if entry is None:
            return None
        name, node = entry
        return self._builder.span(name if key and name else node)

    def written(self, at: Pointer) -> str | None:
        """Return the text of the scalar at `at` as written; None for anything else."""
        entry = self._find(at)
        node = resolved(entry[1]) if entry else None
        return str(node.value) if isinstance(node, ScalarEvent) else None

    def _find(self, at: Pointer) -> tuple[ScalarEvent | None, YamlNode] | None:
        return self._builder.find(self._root, at) if self._root else None


def _parts(builder: Builder) -> Iterator[StreamPart | None]:
    """Yield the documents of the text; None, and a finding, if it cannot be read any further."""
    source = builder.source
    try:
        yield from compose(source.text)
    except SourceError as error:
        builder.report.add(_diagnostic(error, builder))
        yield None
    except yaml.MarkedYAMLError as error:
        builder.report.add(_diagnostic(explain(error, source.lines), builder))
        yield None


def _diagnostic(error: SourceError, builder: Builder) -> Diagnostic:
    def label(note: MarkedRange) -> Label:
        return Label(builder.between(note.start, note.end), note.text)

    return Diagnostic(
        error.rule, error.message, label(error.at), error.hint, tuple(map(label, error.related))
    )


def _no_mapping(data: Data, span: Span) -> Diagnostic:
    kind = "a list" if isinstance(data, list) else "a single value"
    hint = "write `key: value` lines; separate resources by `---` lines"
    return Diagnostic(
        rules.NOT_A_MAPPING, f"the document is {kind}, not a mapping", Label(span), hint
    )
