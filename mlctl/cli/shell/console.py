"""Text for people on stderr, whatever is in it: cleaned, so that nothing obeys it."""

from __future__ import annotations

import sys

from mlctl.render.terminal.terminal import clean_lines


def say(text: str, *, color: bool = False) -> None:
    """Print lines on stderr; with `color` mlctl's own styles in them are kept."""
    sys.stderr.write(clean_lines(text.rstrip("\n"), color=color) + "\n")


def ask(prompt: str) -> None:
    """Print a prompt on stderr; the answer is typed behind it."""
    sys.stderr.write(clean_lines(prompt))
    sys.stderr.flush()
