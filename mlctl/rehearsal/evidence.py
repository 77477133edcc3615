"""What a rehearsal has shown, and the lines of the user's code that it points to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mlctl.diagnostics import Rule


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of the user's code: the file relative to its folder, and the number from 1."""

    file: str
    line: int

    @classmethod
    def from_message(cls, value: list[Any] | None) -> CodeLine | None:
        """From what a worker sends: `[file, line]`."""
        return cls(str(value[0]), int(value[1])) if value else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A rule that was broken: in one sentence, at a line, by which kill (None: without any)."""

    rule: Rule
    message: str
    place: CodeLine | None
    kill: int | None = None


def first_of_each(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The first evidence of each rule at each line."""
    by_place: dict[tuple[str, CodeLine | None], Evidence] = {}
    for item in evidence:
        by_place.setdefault((item.rule.code, item.place), item)
    return tuple(by_place.values())
