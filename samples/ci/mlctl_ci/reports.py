"""Markdown for a comment, as long as its host allows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_LAST = 200  # lines of a log
_STALE = 4  # the exit code of an apply whose workspace has changed
_ENDED = re.compile(r"(?m)^== (.+): exit code (\d+) ==$")
_SECTIONS = re.compile(r"(?ms)^== ([^\n]+) ==$\n(.*?)(?=^== \1: exit code \d+ ==$)")
# The first resource of a list of what is stale, differs, or failed.
_RESOURCE = re.compile(r"(?m)^(?:ERROR: |  )([a-z]+(?:-[a-z]+)*/[\w./:-]*\w)")


def failure(title: str, log: str) -> str:
    """A heading and the end of a log, whatever is in it."""
    lines = log.strip().splitlines()[-_LAST:]
    return f"### {title}\n\n<pre>\n{html.escape(chr(10).join(lines), quote=False)}\n</pre>"


def folded(log: str) -> str:
    """The end of a log, folded in."""
    lines = log.strip().splitlines()[-_LAST:]
    text = html.escape(chr(10).join(lines), quote=False)
    return f"<details><summary>The log</summary>\n\n<pre>\n{text}\n</pre>\n\n</details>"


def environments(log: str, word: Callable[[int], str]) -> Iterator[str]:
    """What happened in each environment, a line each: the resource that it is about comes first.

    `word` says what an exit code means.
    """
    ended = {name: int(code) for name, code in _ENDED.findall(log)}
    whole = "Nothing was started in any environment." in log
    for name, text in _SECTIONS.findall(log):
        resource = next(iter(_RESOURCE.findall(text)), "")
        begun = not whole and not text.startswith("Not started")
        what = word(ended.get(name, 0)) if begun or ended.get(name) else "not started"
        first = f"`{resource}`: " if resource and ended.get(name) else ""
        change = " Nothing was written here." if begun and ended.get(name) == _STALE else ""
        yield f"- {_inert(name)}: {first}{what}.{change}"
    if whole:
        yield "\nAll plans are checked before the first is started: nothing was written anywhere."


def _inert(name: str) -> str:
    return f"**{re.sub(r'[^A-Za-z0-9_. -]', '?', name)}**"


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
