"""Find expressions in jobs and components: `${{inputs.data}}`, `$[[--rate ${{inputs.rate}}]]`.

An expression stands for a value that is known when the job runs. The names allowed depend on its
place:

- in a command: `inputs.NAME`, `outputs.NAME`, and `search_space.NAME` in the trial of a sweep
- in a step of a pipeline: `parent.inputs.NAME`, `parent.outputs.NAME`, `parent.jobs.STEP` and
  `parent.jobs.STEP.outputs.NAME`
- in a path: `name` and `default_datastore`, and the names of inputs and outputs

A part in `$[[...]]` is left out if an optional input in it has no value. Source:
learn.microsoft.com/azure/machine-learning/concept-expressions
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from mlctl.dataclasses import dataclass

PARENT, INPUTS, OUTPUTS, JOBS, SEARCH_SPACE = "parent", "inputs", "outputs", "jobs", "search_space"
SIDES = (INPUTS, OUTPUTS)
ROOTS = (PARENT, INPUTS, OUTPUTS, SEARCH_SPACE, "name", "default_datastore")

_EXPRESSION = re.compile(r"\$\{\{(?P<path>[^{}]*)\}\}")
_OPTIONAL = re.compile(r"\$\[\[.*?\]\]", re.DOTALL)
_OPENS = re.compile(r"\$\{\{|\$\[\[")
_NO_PART = (sys.maxsize, sys.maxsize)
_LONGEST_SHOWN = 200  # characters shown of an unclosed expression
_NAMES = re.compile(r"[\w-]+(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression in a text: its names, and its place (half-open, in characters).

    `optional` says whether it is in a part that is left out if an input has no value.
    """

    path: tuple[str, ...]
    start: int
    end: int
    optional: bool = False

    @property
    def text(self) -> str:
        """The expression as written, without blanks."""
        return spelt(*self.path)


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that begins like an expression or optional part but is not one, and its place."""

    text: str
    start: int
    end: int


def spelt(*path: str) -> str:
    """Write an expression with these names."""
    return "${{" + ".".join(path) + "}}"


def find(text: str) -> Iterator[Expression]:
    """Find the expressions of a text, in order."""
    if "${{" not in text:
        return
    last = text.rfind("]]") + 2  # later openings have no end either
    parts = iter([*(match.span() for match in _OPTIONAL.finditer(text, 0, last)), _NO_PART])
    part_start, part_end = next(parts)
    for match in _EXPRESSION.finditer(text):
        start, end = match.span()
        while part_end <= start:
            part_start, part_end = next(parts)
        path = match["path"].strip()
        if _NAMES.fullmatch(path):
            optional = part_start < start and end < part_end
            yield Expression(tuple(path.split(".")), start, end, optional)


def only(text: str) -> Expression | None:
    """Return the expression if the text consists of nothing else; otherwise None."""
    expression = next(find(text.strip()), None)
    return (
        expression
        if expression is not None and expression.end - expression.start == len(text.strip())
        else None
    )


def broken(text: str) -> Iterator[Broken]:
    """Find expressions that are not closed, or have no names."""
    last = text.rfind("]]")
    for opening in _OPENS.finditer(text):
        start = opening.start()
        if opening[0] == "$[[":
            if last < start:
                end = _line_end(text, start)
                yield Broken(text[start:end], start, end)
            continue
        whole = _EXPRESSION.match(text, start)
        if whole is None:
            end = _line_end(text, start)
            yield Broken(text[start:end], start, end)
        elif not _NAMES.fullmatch(whole["path"].strip()):
            yield Broken(whole[0], start, whole.end())


def _line_end(text: str, start: int) -> int:
    """Return the end of the line, or of enough of it to recognize the place."""
    end = text.find("\n", start, start + _LONGEST_SHOWN)
    return min(len(text), start + _LONGEST_SHOWN) if end < 0 else end
