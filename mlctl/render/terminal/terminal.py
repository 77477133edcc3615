"""Text for a terminal: the width of characters, and escapes for control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from enum import Enum

from mlctl import inert, masking
from mlctl.dataclasses import dataclass


class Style(Enum):
    """The parameters of an SGR sequence (ECMA-48, 8.3.117)."""

    BOLD = "1"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    MAGENTA = "35"
    GRAY = "90"
    BOLD_RED = "1;31"
    BOLD_YELLOW = "1;33"
    BOLD_BLUE = "1;34"
    BOLD_CYAN = "1;36"
    BLUE_BOLD = "34;1"  # the same as BOLD_BLUE, in the order in which az writes it


@dataclass(frozen=True, slots=True)
class Styler:
    """Applies styles if `color` is true, else returns text unchanged."""

    color: bool

    def apply(self, text: str, style: Style) -> str:
        """Return `text` in a style; empty text stays empty."""
        return f"\x1b[{style.value}m{text}\x1b[0m" if self.color and text else text


# Every sequence that a styler writes.
SEQUENCES = frozenset({"\x1b[0m", *(f"\x1b[{style.value}m" for style in Style)})


_TAB = 4
_JOINERS = "\u200c\u200d"  # parts of emoji and of scripts


def clean(text: str) -> str:
    """Return `text` on one line for people, without secrets or control characters.

    Escapes (`\x1b`) replace whatever could control a terminal or an agent.
    """
    return inert.line(masking.mask(text))


def clean_lines(text: str, *, color: bool = False) -> str:
    """Clean each line of `text`; with `color`, mlctl's own styles are kept."""
    return inert.lines(masking.mask(text), SEQUENCES if color else frozenset())


def cells(text: str) -> list[tuple[str, int]]:
    """Return each character of a line as shown, with its columns."""
    column = 0
    line: list[tuple[str, int]] = []
    escaped = inert.command_positions(text)
    for index, character in enumerate(text):
        glyph = " " * (_TAB - column % _TAB) if character == "\t" else inert.visible(character)
        glyph = escaped.get(index, glyph)
        width = _width(glyph)
        line.append((glyph, width))
        column += width
    return line


def width(line: Iterable[tuple[str, int]]) -> int:
    """Count the columns that `shown` takes."""
    return sum(columns for _, columns in line)


def _width(glyph: str) -> int:
    if len(glyph) > 1 or glyph.isascii():
        return len(glyph)
    if unicodedata.category(glyph) in ("Mn", "Me") or glyph in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(glyph) in "WF" else 1
