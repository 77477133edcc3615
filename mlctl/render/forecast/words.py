"""The words and tables of forecasts: times, amounts, chances, rows of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mlctl.render.terminal.terminal import Style, Styler, clean

UNKNOWN = "-"
_HOUR, _MINUTE = 3600, 60
Grid = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
# The columns of a table: a head, and the cell's text for a row.
Column = tuple[str, Callable[[Mapping[str, Any]], str]]


def time(seconds: float | None) -> str:
    """Format seconds as `45s`, `12m30s`, `2h05m` or `3d04h`; at most two units."""
    if seconds is None:
        return UNKNOWN
    if seconds < 2 * _MINUTE:
        return f"{seconds:.3g}s"
    if seconds < 2 * _HOUR:
        whole = round(seconds)
        return f"{whole // _MINUTE}m{whole % _MINUTE:02}s"
    minutes = round(seconds / _MINUTE)
    if minutes < 48 * 60:
        return f"{minutes // 60}h{minutes % 60:02}m"
    hours = round(seconds / _HOUR)
    return f"{hours // 24}d{hours % 24:02}h"


def usd(amount: float | None) -> str:
    """Format an amount in USD, to the cent or to three digits below a dollar."""
    return UNKNOWN if amount is None else f"{plain_usd(amount)} USD"


def plain_usd(amount: float | None) -> str:
    """Format an amount without its unit."""
    if amount is None:
        return UNKNOWN
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.3g}"


def value_of(estimate: Mapping[str, Any] | None) -> float | None:
    """Return the value of an estimate, or None."""
    return None if estimate is None else estimate["value"]


def outcomes(columns: Iterable[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Drop the columns of outcomes that no row has: a failed job, one that is never done."""
    absent = {
        FAILED[0]: not any(row["failed"]["value"] for row in rows),
        NOT_DONE[0]: not any(row["until_done"]["not_done"] for row in rows),
        SWITCHED[0]: not any(row["until_done"]["p_dedicated"]["value"] for row in rows),
        NO_NODE[0]: not any(row["until_done"]["p_waited"]["value"] for row in rows),
    }
    return [column for column in columns if not absent.get(column[0])]


def chance(of: Mapping[str, Any] | None, *, interval: bool = False) -> str:
    """Format a chance in percent; if never observed, `< 0.3 %` (the bound); 0 % is certain."""
    if of is None:
        return UNKNOWN
    value, low, high = (100 * of[name] for name in ("value", "low", "high"))
    if value == low == high:
        return f"{_percent(value)} %"
    if not value:
        return f"< {_percent(high)} %"
    if of["value"] == 1:
        return f"> {_percent(low)} %"
    text = f"{_percent(value)} %"
    return f"{text} ({_percent(low)} to {_percent(high)})" if interval else text


def _percent(value: float) -> str:
    """Format with two digits, or one decimal near 100."""
    near = _NEARLY_ALL <= value < _ALL
    return f"{value:.1f}" if near else f"{value:.0f}" if value >= _TWO_DIGITS else f"{value:.2g}"


_TWO_DIGITS, _NEARLY_ALL, _ALL = 10, 99, 99.95


FAILED: Column = ("P(failed)", lambda row: chance(row["failed"]))
NOT_DONE: Column = ("P(not done)", lambda row: chance(row["until_done"]["p_not_done"]))

SWITCHED: Column = ("P(dedicated)", lambda row: chance(row["until_done"]["p_dedicated"]))
NO_NODE: Column = ("P(no node)", lambda row: chance(row["until_done"]["p_waited"]))


def between(of: Mapping[str, Any] | None, words: Callable[[float | None], str]) -> str:
    """Format the interval of an estimate: `7.9 to 8.6`; "" if it is certain."""
    if of is None or of["low"] == of["high"]:
        return UNKNOWN
    if of["high"] is None:
        return f"{words(max(of['low'], 0.0))} or more" if of["low"] is not None else "not known"
    return f"{words(max(of['low'], 0.0))} to {words(of['high'])}"


def scalar(value: object) -> str:
    """Format a value of an assumption."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case float():
            return f"{value:g}"
        case _:
            return clean(str(value))


def cells(columns: Sequence[Column], rows: Sequence[Any]) -> Grid:
    """Return the cells of a table: every column of every row."""
    heads = tuple(head.strip() for head, _ in columns)
    return heads, tuple(tuple(cell(row) for _, cell in columns) for row in rows)


def grid(table: Grid, styler: Styler) -> list[str]:
    """Return the lines of a table: a bold head, then the rows."""
    heads, rows = table
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for line in (heads, *rows):
        first, *columns = zip(line, widths, strict=True)
        padded = [f"{first[0]:<{first[1]}}", *(f"{text:>{size}}" for text, size in columns)]
        lines.append("  ".join(padded).rstrip())
    return [styler.apply(lines[0], Style.BOLD), *lines[1:]]
