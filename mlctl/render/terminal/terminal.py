"""Text for a terminal: the width of characters, and escapes for those that could control it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from mlctl import inert, masking
from mlctl.render.terminal.style import SEQUENCES

_TAB = 4
_JOINERS = "\u200c\u200d"  # parts of emoji and of scripts


def clean(text: str) -> str:
    """`text` on one line for people: without secrets, and with escapes (`\\x1b`) for what could
    control a terminal or an agent."""
    return inert.line(masking.mask(text))


def clean_lines(text: str, *, color: bool = False) -> str:
    """`text` of several lines, each as by `clean`; with `color` mlctl's own styles are kept."""
    return inert.lines(masking.mask(text), SEQUENCES if color else frozenset())


def cells(text: str) -> list[tuple[str, int]]:
    """Each character of a line as it is shown, and how many columns it takes."""
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
    """How many columns `shown` takes."""
    return sum(columns for _, columns in line)


def _width(glyph: str) -> int:
    if len(glyph) > 1 or glyph.isascii():
        return len(glyph)
    if unicodedata.category(glyph) in ("Mn", "Me") or glyph in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(glyph) in "WF" else 1
