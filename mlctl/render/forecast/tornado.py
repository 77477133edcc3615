"""The assumptions that a forecast depends on most, as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlctl.render.forecast.words import (
    Column,
    Grid,
    cells,
    chance,
    grid,
    plain_usd,
    scalar,
    time,
    usd,
)
from mlctl.render.terminal.terminal import Styler, clean


def hangs(rows: Sequence[Mapping[str, Any]] | None) -> str:
    """Name the three assumptions that change the cost most, if measurably.

    The price of low priority is excluded: it scales the cost by itself, and is always first.
    """
    if rows is None:
        return ""
    moving = [row for row in rows if row["name"] != _PRICE and any(map(_moves, _ends(row)))]
    factors = [
        f"{clean(row['name'])} ({' to '.join(usd(end['cost']) for end in _ends(row))})"
        for row in moving[:_NAMED]
    ]
    if not factors:
        return " Besides the price of low priority no assumption changes the cost measurably."
    return f" Besides the price of low priority the cost depends most on {', '.join(factors)}."


_PRICE, _NAMED = "low_priority_price", 3


def _ends(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return row["low"], row["high"]


def _moves(end: Mapping[str, Any]) -> bool:
    """Whether the paired interval of the difference in cost is on one side of 0."""
    if end["cost_difference"] is None:
        return False
    low, high = (end["cost_difference"][name] for name in ("low", "high"))
    return low is not None and high is not None and (low > 0 or high < 0)


_NOT_DONE: Column = (
    "P(not done)",
    lambda row: _sides(row, lambda side: chance(side["p_not_done"])),
)
_TORNADO: tuple[Column, ...] = (
    ("", lambda row: clean(row["name"])),
    ("from", lambda row: scalar(row["low"]["value"])),
    ("to", lambda row: scalar(row["high"]["value"])),
    ("P(cancelled)", lambda row: _sides(row, lambda side: chance(side["cancelled"]))),
    _NOT_DONE,
    ("until done", lambda row: _sides(row, lambda side: plain_usd(side["cost"]))),
    ("after", lambda row: _sides(row, lambda side: time(side["time_s"]))),
)


def _sides(row: Mapping[str, Any], text_of: Callable[[Mapping[str, Any]], str]) -> str:
    return f"{text_of(row['low'])} .. {text_of(row['high'])}"


def table(data: Mapping[str, Any]) -> Grid:
    """Return the assumptions and their effects as a table."""
    rows = data["sensitivity"]
    done = not any(side["p_not_done"]["value"] for row in rows for side in _ends(row))
    columns = [column for column in _TORNADO if column is not _NOT_DONE or not done]
    return cells(columns, rows)


def lines(data: Mapping[str, Any], styler: Styler) -> Iterator[str]:
    """Render the table for a terminal, under its title; nothing without one."""
    if data["sensitivity"]:
        head = "what it depends on: each assumption from low to high, on the same draws"
        yield "\n".join([head, *grid(table(data), styler)])
