"""One thing that a rehearsal has shown."""

from __future__ import annotations

from dataclasses import dataclass

from mlctl.diagnostics import Rule
from mlctl.rehearsal.outcome import Place


@dataclass(frozen=True, slots=True)
class Evidence:
    """A rule that was broken: in one sentence, at a line, by which kill (None: without any)."""

    rule: Rule
    message: str
    place: Place | None
    kill: int | None = None


def once(found: list[Evidence]) -> list[Evidence]:
    """The first evidence of each rule at each line."""
    kept: dict[tuple[str, Place | None], Evidence] = {}
    for one in found:
        kept.setdefault((one.rule.code, one.place), one)
    return list(kept.values())
