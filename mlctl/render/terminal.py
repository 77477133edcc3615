"""Text for a terminal: the width of characters, and escapes for those that could control it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_TAB = 4
_JOINERS = "\u200c\u200d"  # parts of emoji and of scripts; harmless
_CONTROLLING = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, format (bidi), surrogates, separators

# What build agents take for a command in any program's output. Azure Pipelines looks for `##vso[`
# and GitHub's runner for `##[` anywhere in a line, and for `::` at its begin (actions/runner,
# ActionCommand.cs).
_AGENT_COMMAND = re.compile(r"#(?P<last>#)(?=(?:vso)?\[)", re.IGNORECASE)


def clean(text: str) -> str:
    """`text` on one line, with escapes for what could control a terminal or an agent: `\\x1b`."""
    safe = text if text.isascii() and text.isprintable() else "".join(map(_visible, text))
    safe = _AGENT_COMMAND.sub(r"#\\x23", safe) if has_agent_command(safe) else safe
    return f"\\x3a{safe.lstrip()[1:]}" if safe.lstrip().startswith("::") else safe


def has_agent_command(text: str) -> bool:
    """Whether a build agent would take a part of `text` for a command."""
    return "##" in text and _AGENT_COMMAND.search(text) is not None


def cells(text: str) -> list[tuple[str, int]]:
    """Each character of a line as it is shown, and how many columns it takes."""
    column = 0
    shown: list[tuple[str, int]] = []
    escaped = (
        {found.start("last") for found in _AGENT_COMMAND.finditer(text)} if "##" in text else set()
    )
    for index, character in enumerate(text):
        glyph = " " * (_TAB - column % _TAB) if character == "\t" else _visible(character)
        glyph = r"\x23" if index in escaped else glyph
        width = _width(glyph)
        shown.append((glyph, width))
        column += width
    return shown


def width(shown: Iterable[tuple[str, int]]) -> int:
    """How many columns `shown` takes."""
    return sum(columns for _, columns in shown)


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) not in _CONTROLLING:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  # one byte


def _width(glyph: str) -> int:
    if len(glyph) > 1 or glyph.isascii():
        return len(glyph)
    if unicodedata.category(glyph) in ("Mn", "Me") or glyph in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(glyph) in "WF" else 1
