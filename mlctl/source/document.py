"""One document: plain data, and the position of each key and value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from yaml.events import ScalarEvent

from mlctl.diagnostics import Diagnostic, Label, Report, SourceText, Span
from mlctl.inert import in_yaml, needs_quotes
from mlctl.pointer import Data, Pointer
from mlctl.source import rules
from mlctl.source.compose import StreamPart, YamlNode, compose, resolved
from mlctl.source.construct import Builder
from mlctl.source.decode import decode
from mlctl.source.marks import MarkedRange, SourceError
from mlctl.source.plain import read_plain
from mlctl.source.syntax import explain

STDIN = "<stdin>"


@dataclass(frozen=True, eq=False)
class Document:
    """The `index`-th document of a stream as plain data, with the positions of its values.

    Positions are found on demand, by composing the document's part of the text (`begin` to `end`,
    from `line`) again: most documents need none.
    """

    source: SourceText
    data: dict[str, Data]
    index: int = 0
    line: int = 0
    begin: int = 0
    end: int | None = None

    @property
    def folder(self) -> Path:
        """The folder that its relative paths are relative to."""
        return Path() if self.source.name == STDIN else Path(self.source.name).parent

    @property
    def raw(self) -> str | None:
        """The text that has all values as they are; None where some are spelt otherwise."""
        text = self.source.text
        return None if "\\" in text or type(self) is not Document else text

    def may_hold(self, piece: str) -> bool:
        """Whether a text of the document may have `piece` in it, by one look at the file."""
        raw = self.raw
        return raw is None or piece in raw

    @property
    def may_hold_secrets(self) -> bool:
        """Whether a value may be a secret, by one look at the file."""
        return self.raw is None or self.source.may_hold_secrets

    @property
    def place(self) -> str:
        """The file, and the number of the document if it is not the first."""
        return f"{self.source.name}#{self.index + 1}" if self.index else self.source.name

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """A label at the value at `at`, or at its key; else at the nearest key above."""
        found = self._find(at)
        while found is None and at:
            at, key = at[:-1], True
            found = self._find(at)
        if found is None:
            return Label(Span(self.source, self.line, 0, self.line, 0), text)
        name, node = found
        return Label(self._builder.span(name if key and name else node), text)

    def written(self, at: Pointer) -> str | None:
        """The text of the scalar at `at` as written (`1.10`, `yes`); None for anything else."""
        found = self._find(at)
        node = resolved(found[1]) if found else None
        return str(node.value) if isinstance(node, ScalarEvent) else None

    def from_environment(self, at: Pointer) -> bool:  # noqa: ARG002  # here no value is
        """Whether the value at `at` comes from a variable of the environment."""
        return False

    def _find(self, at: Pointer) -> tuple[ScalarEvent | None, YamlNode] | None:
        return self._builder.find(self._root, at) if self._root else None

    @cached_property
    def _root(self) -> YamlNode | None:
        return next((part.root for part in compose(self.source.text[self.begin : self.end])), None)

    @cached_property
    def _builder(self) -> Builder:
        return Builder(self.source, Report(), self.line)


def load(name: str, raw: bytes | str, report: Report, *, explicit: bool = True) -> list[Document]:
    """The documents of a text; `name` is the path as the user gave it.

    Findings go to `report`. Reading stops at the first syntax error; the documents above it are
    returned. Empty documents are left out; a text of nothing else is an error if the file was named
    (`explicit`), not if it was found in a folder.
    """
    source = decode(name, raw, report)
    if source is None:
        return []
    return _plain_documents(source) or _documents(source, report, explicit=explicit)


def _plain_documents(source: SourceText) -> list[Document]:
    """The documents of a text without anything odd; none where there is something to report."""
    return [
        Document(source, part.data, index, part.line, part.begin, part.end)
        for index, part in enumerate(read_plain(source.text) or ())
    ]


def _documents(source: SourceText, report: Report, *, explicit: bool) -> list[Document]:
    builder = Builder(source, report)
    documents, empty = [], True
    for index, part in enumerate(_parts(builder)):
        if part is not None and _holds_nothing(part.root):
            continue
        empty = False
        if part is None:
            break
        data = builder.value(part.root)
        if isinstance(data, dict):
            documents.append(Document(source, data, index, part.line, part.begin, part.end))
        else:
            report.add(_no_mapping(data, builder.span(part.root)))
    if empty and explicit:
        hint = "describe a resource in it, or leave it out"
        start = Label(Span(source, 0, 0, 0, 0))
        report.add(Diagnostic(rules.EMPTY, f"`{source.name}` holds no document", start, hint))
    return documents


def plain(text: str) -> Data:
    """The value of `text` as YAML (of its first document); the text itself if it is not YAML."""
    readable = decode("", text, Report())
    if readable is None:
        return text
    builder = Builder(readable, Report())
    part = next(_parts(builder), None)
    return text if part is None else builder.value(part.root)


def dump(data: Data) -> str:
    """`data` as YAML text, keys in their order."""
    return yaml.dump(data, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)


def dump_inert(data: Data) -> str:
    """As `dump`, to be printed: no terminal and no build agent obeys the text."""
    try:
        text = yaml.dump(data, Dumper=_InertDumper, sort_keys=False, allow_unicode=True)
    except UnicodeEncodeError:  # half of a surrogate pair, which libyaml does not take
        text = yaml.dump(data, Dumper=_SlowInertDumper, sort_keys=False)
    return in_yaml(text)


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _InertDumper(_DUMPER):  # type: ignore[misc,valid-type]  # which of the two is not known
    """Writes what would be obeyed in double quotes, the style that has escapes."""


class _SlowInertDumper(yaml.SafeDumper):
    """The same by PyYAML's own emitter."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if needs_quotes(text) else None
    )


_InertDumper.add_representer(str, _represent_text)
_SlowInertDumper.add_representer(str, _represent_text)


def _parts(builder: Builder) -> Iterator[StreamPart | None]:
    """The documents of the text; None, and a finding, where it cannot be read any further."""
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


def _holds_nothing(root: YamlNode) -> bool:
    return (
        isinstance(root, ScalarEvent)
        and root.value == ""
        and root.implicit[0]
        and root.tag is None
        and root.anchor is None
    )


def _no_mapping(data: Data, span: Span) -> Diagnostic:
    kind = "a list" if isinstance(data, list) else "a single value"
    hint = "write `key: value` lines; part several resources by `---` lines"
    return Diagnostic(
        rules.NOT_A_MAPPING, f"the document is {kind}, not a mapping", Label(span), hint
    )
