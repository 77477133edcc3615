"""The deviations that are expected: one file lists them, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from conformance.card import Card
from conformance.form import Deviation

LISTED = Path(__file__).with_name("deviations.toml")


class Direction(Enum):
    """What is held against the cards."""

    EMULATOR = "emulator"
    BACKEND = "backend"


@dataclass(frozen=True, slots=True)
class Expected:
    """A deviation on purpose.

    `cards` is a pattern of ids and `at` one of places (`/body/properties/scoringUri`), in which `*`
    stands for anything; `kind` is that of the cards, "" for all. `before` is a day: the service
    answered so until then.
    """

    direction: Direction
    at: str
    reason: str
    cards: str = "*"
    kind: str = ""
    before: str = "9999"

    def covers(self, card: Card, deviation: Deviation) -> bool:
        """Whether a deviation of a card is this one."""
        is_dated = str(card.source.get("recorded", "")) < self.before
        of_kind = is_dated and self.kind in ("", card.kind)
        return of_kind and fnmatchcase(card.id, self.cards) and fnmatchcase(deviation.at, self.at)


@lru_cache
def listed(direction: Direction) -> tuple[Expected, ...]:
    """The deviations that are expected in one direction."""
    rows = tomllib.loads(LISTED.read_text(encoding="utf-8")).get("deviation", [])
    return tuple(
        Expected(**{**row, "direction": direction, "at": at})
        for row in rows
        for at in ([row["at"]] if isinstance(row["at"], str) else row["at"])
        if row["direction"] == direction.value
    )


def unexpected(
    card: Card, deviations: Iterable[Deviation], expected: Iterable[Expected]
) -> Iterator[Deviation]:
    """The deviations of a card that are not expected."""
    entries = tuple(expected)
    for deviation in deviations:
        if not any(entry.covers(card, deviation) for entry in entries):
            yield deviation
