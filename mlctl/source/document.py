"""A document: plain data, and the position of each key and value."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from mlctl import pointer
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Label, Report, SourceText, Span
from mlctl.inert import in_yaml, needs_quotes
from mlctl.pointer import Data, Pointer
from mlctl.source.decode import decode
from mlctl.source.plain import PlainPart, read_plain

if TYPE_CHECKING:
    from mlctl.source.composed import Positions

STDIN = "<stdin>"


@dataclass(frozen=True, eq=False)
class Document:
    """The `index`-th document of a stream as plain data, with the positions of its values.

    Positions are found on demand by composing the document's part of the text again (`begin` to
    `end`, from `line`): most documents need none.
    """

    source: SourceText
    data: dict[str, Data]
    index: int = 0
    line: int = 0
    begin: int = 0
    end: int | None = None

    @property
    def folder(self) -> Path:
        """The folder to which its relative paths are relative."""
        return Path() if self.source.name == STDIN else Path(self.source.name).parent

    @property
    def raw(self) -> str | None:
        """The text if it has all values unescaped; None otherwise."""
        text = self.source.text
        return None if "\\" in text or type(self) is not Document else text

    def may_hold(self, piece: str) -> bool:
        """Whether a text in the document may contain `piece`, judged by the file as a whole."""
        raw = self.raw
        return raw is None or piece in raw

    @property
    def may_hold_secrets(self) -> bool:
        """Whether a value may be a secret, judged by the file as a whole."""
        return self.raw is None or self.source.may_hold_secrets

    @property
    def place(self) -> str:
        """The file, and the number of the document unless it is the first."""
        return f"{self.source.name}#{self.index + 1}" if self.index else self.source.name

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """Return a label at the value at `at`, or at its key; else at the nearest key above."""
        span = self._positions.span(at, key=key)
        while span is None and at:
            at = at[:-1]
            span = self._positions.span(at, key=True)
        return Label(span or Span(self.source, self.line, 0, self.line, 0), text)

    def holders(self, at: Pointer) -> list[tuple[Document, Pointer]]:
        """Return the documents of files that set a value, uppermost first, and its places."""
        return [] if pointer.get(self.data, at) is None else [(self, at)]

    def written(self, at: Pointer) -> str | None:
        """Return the scalar at `at` as written (`1.10`, `yes`); None for anything else."""
        return self._positions.written(at)

    def from_environment(self, at: Pointer) -> bool:  # noqa: ARG002  # here no value is
        """Whether the value at `at` comes from an environment variable."""
        return False

    @cached_property
    def _positions(self) -> Positions:
        from mlctl.source.composed import Positions  # noqa: PLC0415 - most documents need none

        return Positions(self.source, self.source.text[self.begin : self.end], self.line)


@dataclass(frozen=True, eq=False)
class DocumentView(Document):
    """A document that shows another one, the `whole`, or a part of it, at other pointers."""

    whole: Document | None = None

    def within_whole(self, at: Pointer) -> Pointer:
        """Return where a value is in the whole document."""
        return at

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """Return a label in the whole document."""
        assert self.whole is not None
        return self.whole.label(self.within_whole(at), text, key=key)

    def holders(self, at: Pointer) -> list[tuple[Document, Pointer]]:
        """Return the documents of files that set the value in the whole document."""
        assert self.whole is not None
        return self.whole.holders(self.within_whole(at))

    def written(self, at: Pointer) -> str | None:
        """Return the text of a scalar as written."""
        assert self.whole is not None
        return self.whole.written(self.within_whole(at))

    def from_environment(self, at: Pointer) -> bool:
        """Whether the value comes from an environment variable."""
        assert self.whole is not None
        return self.whole.from_environment(self.within_whole(at))


def load(name: str, raw: bytes | str, report: Report, *, explicit: bool = True) -> list[Document]:
    """Return the documents of a text; `name` is the path as the user gave it.

    Findings go to `report`. Reading stops at the first syntax error; the documents above it are
    returned. Empty documents are left out; a text without any others is an error if the file was
    named (`explicit`), but not if it was found in a folder.
    """
    source = decode(name, raw, report)
    if source is None:
        return []
    parts = read_plain(source.text)
    if parts:
        return [_document(source, index, part) for index, part in enumerate(parts)]
    from mlctl.source.composed import read_composed  # noqa: PLC0415 - most texts need none

    numbered = read_composed(source, report, explicit=explicit)
    return [_document(source, index, part) for index, part in numbered]


def _document(source: SourceText, index: int, part: PlainPart) -> Document:
    return Document(source, part.data, index, part.line, part.begin, part.end)


def plain(text: str) -> Data:
    """Parse `text` as YAML (its first document); return the text itself if it is not YAML."""
    readable = decode("", text, Report())
    if readable is None:
        return text
    from mlctl.source.composed import first_value  # noqa: PLC0415 - as above

    return first_value(readable, text)


def dump(data: Data) -> str:
    """Write `data` as YAML, with keys in their order."""
    return yaml.dump(data, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)


def dump_inert(data: Data) -> str:
    """Write `data` as YAML that no terminal and no build agent interprets."""
    try:
        text = yaml.dump(data, Dumper=_InertDumper, sort_keys=False, allow_unicode=True)
    except UnicodeEncodeError:  # half of a surrogate pair, which libyaml does not accept
        text = yaml.dump(data, Dumper=_SlowInertDumper, sort_keys=False)
    return in_yaml(text)


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _InertDumper(_DUMPER):  # type: ignore[misc,valid-type]  # which of the two is not known
    """Writes whatever would be interpreted in double quotes, the style with escapes."""


class _SlowInertDumper(yaml.SafeDumper):
    """The same with PyYAML's own emitter."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if needs_quotes(text) else None
    )


_InertDumper.add_representer(str, _represent_text)
_SlowInertDumper.add_representer(str, _represent_text)
