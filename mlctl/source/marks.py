"""Positions in the text of a YAML file, as the parsers give them, and the errors that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from yaml.events import Event

from mlctl.diagnostics import Rule


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
    """The text cannot be read any further: the rule that it breaks, where, and a hint."""

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
    """Where `event` begins, or ends. Parsers always set marks, though their type is optional."""
    return cast("Mark", event.end_mark if end else event.start_mark)


def inside(mark: Mark, lines: list[str], above: int = 0) -> TextPosition:
    """`mark` as a position in `lines`, `above` lines further down.

    libyaml adds a line break at the end of the text; its marks may be on the line after that.
    """
    line = mark.line + above
    if line < len(lines):
        return TextPosition(mark.index, line, mark.column)
    return TextPosition(mark.index, len(lines) - 1, len(lines[-1]))
