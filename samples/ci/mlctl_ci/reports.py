"""Markdown for a comment, as long as its host allows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_LAST = 200  # lines of a log


def failure(title: str, log: str) -> str:
    """A heading and the end of a log, whatever is in it."""
    lines = log.strip().splitlines()[-_LAST:]
    return f"### {title}\n\n<pre>\n{html.escape(chr(10).join(lines), quote=False)}\n</pre>"


def counts(plans: Iterable[Path]) -> str:
    """How much saved plans change, as GitLab's Terraform widget reads it; a replacement is two."""
    sums = [json.loads(one.read_text(encoding="utf-8"))["summary"] for one in plans]
    names = {"create": "add", "update": "change", "delete": "destroy"}
    return json.dumps({name: sum(one[key] for one in sums) for name, key in names.items()})


def cut(text: str, most: int, note: str) -> str:
    """The text and a note below it, in `most` bytes at most (no host counts more than bytes).

    What is folded in goes first, then the last lines.
    """
    tail = f"\n\n{note}"
    if _size(text + tail) <= most:
        return text + tail
    tail = f"\n\nToo long for a comment: it is cut. {note}"
    room = most - _size(tail)
    return "\n".join(_fitting(_without_details(text.splitlines()), room)) + tail


def _size(text: str) -> int:
    return len(text.encode())


def _without_details(lines: Iterable[str]) -> Iterator[str]:
    """The lines outside `<details>`; what stands in a fence ends nothing."""
    fence, inside = "", False
    for line in lines:
        inside = inside or line.startswith("<details>")
        if not inside:
            yield line
        if fence:
            fence = "" if line == fence else fence
        elif found := re.match("```+", line):
            fence = found[0]
        elif line == "</details>":
            inside = False


def _fitting(lines: Iterable[str], room: int) -> Iterator[str]:
    """The first lines that fit, and the end of a `<pre>` that is open then."""
    end = "</pre>"
    room -= _size(end) + 1
    preformatted = False
    for line in lines:
        room -= _size(line) + 1
        if room < 0:
            break
        preformatted = line == "<pre>" or (preformatted and line != end)
        yield line
    if preformatted:
        yield end
