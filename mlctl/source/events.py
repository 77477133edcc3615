"""The parsers' events: limits of what is read, positions, and errors that have them."""

from __future__ import annotations

import re
from typing import Protocol, cast

from yaml.events import Event
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Rule

try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML was built without libyaml
    CParser = None  # type: ignore[assignment,misc]

MAX_FILE_VALUES = 500_000  # keys count as values; a resource has about 25
MAX_PARTS = 100_000  # documents per file, including empty ones
MAX_VALUES = 100_000  # per document, with aliases expanded
MAX_CHARACTERS = 8 * 1024 * 1024  # per document, with aliases expanded
_BIG = 100_000  # characters
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Mark(Protocol):
    """A position as the parsers give it: zero-based, in code points."""

    @property
    def index(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A `Mark` that no parser made."""

    index: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class MarkedRange:
    """The range between two marks, and a remark on it."""

    start: Mark
    end: Mark
    text: str = ""


class SourceError(Exception):
    """The text cannot be read any further: the broken rule, the place, and a hint."""

    def __init__(
        self,
        rule: Rule,
        message: str,
        at: MarkedRange,
        hint: str | None = None,
        related: tuple[MarkedRange, ...] = (),
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.at = at
        self.hint = hint
        self.related = related


def mark(event: Event, *, end: bool = False) -> Mark:
    """Return where `event` begins, or ends. Parsers always set marks, though typed optional."""
    return cast("Mark", event.end_mark if end else event.start_mark)


def position_in(mark: Mark, lines: list[str], above: int = 0) -> TextPosition:
    """Return `mark` as a position in `lines`, `above` lines further down.

    libyaml adds a line break at the end of the text; its marks may be on the line after that.
    """
    line = mark.line + above
    if line < len(lines):
        return TextPosition(mark.index, line, mark.column)
    return TextPosition(mark.index, len(lines) - 1, len(lines[-1]))


class _PlainParser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def spells_surrogates(text: str) -> bool:
    """Whether characters are escaped as surrogate pairs, as in JSON."""
    return "\\u" in text and _SURROGATE.search(text) is not None


def parser(text: str) -> CParser | _PlainParser:
    """Return the parser for a text: libyaml's, or PyYAML's own if the two disagree.

    They disagree on tabs and on escaped surrogates, and `az` uses PyYAML's; it is too slow for big
    texts.
    """
    odd = "\t" in text or spells_surrogates(text)
    if CParser is None or (odd and len(text) < _BIG):
        return _PlainParser(text)
    return CParser(text)
