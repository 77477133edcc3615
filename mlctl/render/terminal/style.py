"""Colour and weight of text on a terminal, as ANSI escape sequences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
    """Applies styles where `color` is true, else leaves text as it is."""

    color: bool

    def apply(self, text: str, style: Style) -> str:
        """`text` in a style; empty text stays empty."""
        return f"\x1b[{style.value}m{text}\x1b[0m" if self.color and text else text


# Every sequence that a styler writes.
SEQUENCES = frozenset({"\x1b[0m", *(f"\x1b[{style.value}m" for style in Style)})
