"""Reindent values that take several lines without changing their meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

from mlctl.source.gaps import Gaps

_HEADER = re.compile(r"(?:[&!]\S*[ \t]+)*[|>]([-+0-9]*)")


def reindent(text: str, indent: int) -> list[str]:
    """Reindent a plain or quoted scalar, whose indentation is not content."""
    first, *lines = text.split("\n")
    return [_ended(first) if lines else first, *_moved(lines, lambda _: indent)]


def flow(text: str, shift: int) -> list[str]:
    """Reindent a flow collection, whose lines keep their indentation to each other."""
    first, *lines = text.split("\n")
    return [_ended(first) if lines else first, *_moved(lines, lambda old: max(0, old + shift))]


def block_scalar(gaps: Gaps, end: int, column: int, indent: int) -> list[str]:
    """Reindent a block scalar from `gaps` to `end`; its parent moves from `column` to `indent`.

    Raises:
        OddLayout: it ends with the text, without a line break, which would change its value.
    """
    start = gaps.at
    header, *content = gaps.text[start:end].split("\n")
    indicators = _HEADER.match(header)
    chomping = indicators[1] if indicators else ""
    if content and not content[-1].strip(" "):
        content.pop()
    elif content and end >= len(gaps.text) and "-" not in chomping:
        raise gaps.odd("a block scalar ends without a line break")
    digits = re.sub(r"\D", "", chomping)
    old = column + int(digits) if digits else _indentation(content)
    new = indent + int(digits) if digits else indent + 2
    while content and "+" not in chomping and _is_blank(content[-1], old):
        content.pop()
    gaps.take_until(start + len("\n".join([header, *content])))
    moved = ["" if _is_blank(line, old) else " " * new + line[old:] for line in content]
    return [header.rstrip(), *moved]


def _moved(lines: list[str], indentation: Callable[[int], int]) -> list[str]:
    moved = []
    for line in lines:
        wide = line.expandtabs()
        text = line.lstrip(" \t")
        moved.append(
            _ended(" " * indentation(len(wide) - len(wide.lstrip(" "))) + text) if text else ""
        )
    return moved


def _ended(line: str) -> str:
    """Strip blanks at the end of a line, unless the last may be escaped."""
    bare = line.rstrip(" \t")
    return line if bare.endswith("\\") else bare


def _indentation(content: list[str]) -> int:
    return next((len(line) - len(line.lstrip(" ")) for line in content if line.strip(" ")), 0)


def _is_blank(line: str, indentation: int) -> bool:
    return not line.strip(" ") and len(line) <= max(indentation, 0)
