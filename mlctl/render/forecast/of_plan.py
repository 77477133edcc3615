"""The forecast of a plan: a table for a terminal, and for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.render.forecast.words import Column, cells, chance, grid, time, usd
from mlctl.render.terminal.style import Styler
from mlctl.render.terminal.terminal import clean

_COLUMNS: tuple[Column, ...] = (
    ("Forecast", lambda row: f"    {row['name']}"),
    ("nodes", lambda row: f"{row['nodes']} {clean(row['tier'])}"),
    ("USD until done", lambda row: usd(row["until_done"]["cost"]["value"]).removesuffix(" USD")),
    ("after", lambda row: time(row["until_done"]["time_s"]["value"])),
    ("95 % within", lambda row: time(row["until_done"]["time_p95_s"]["value"])),
    ("P(cancelled)", lambda row: chance(row["cancelled"])),
)
_IN_MARKDOWN: Column = ("forecast", lambda row: f"`{clean(row['deployment'])}` {row['name']}")
_NOTHING = "Forecast: the plan changes no deployment that scores files.\n"
_SIDES = {"planned": "as planned", "now": "now"}


def human(data: Mapping[str, Any], *, color: bool) -> str:
    """The lines for a terminal."""
    if not data["deployments"]:
        return _NOTHING
    shown = [(one["deployment"], _rows(one)) for one in data["deployments"]]
    head, *told = grid(cells(_COLUMNS, [row for _, rows in shown for row in rows]), Styler(color))
    lines, drawn = [head], iter(told)
    for name, rows in shown:
        lines += [f"  {clean(name)}", *(next(drawn) for _ in rows)] if rows else []
    return "\n".join([*lines, *_reasons(data), _note(data)]) + "\n"


def markdown(data: Mapping[str, Any]) -> str:
    """The lines as a table for a pull request."""
    if not data["deployments"]:
        return _NOTHING
    columns = (_IN_MARKDOWN, *_COLUMNS[1:])
    rows = [row for one in data["deployments"] for row in _rows(one)]
    heads, told = cells(columns, rows)
    table = [heads, ("---", *["--:"] * (len(heads) - 1)), *told]
    lines = ["| " + " | ".join(one.replace("|", "\\|") for one in row) + " |" for row in table]
    more = [line.strip().replace("<", "&lt;") for line in (*_reasons(data), _note(data))]
    return "\n".join([*(lines if told else []), "", *more]).lstrip() + "\n"


def _rows(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A deployment's lines of the table."""
    return [
        {"deployment": one["deployment"], "name": name, **one[side]}
        for side, name in _SIDES.items()
        if one[side] is not None
    ]


def _reasons(data: Mapping[str, Any]) -> Iterator[str]:
    for one in data["deployments"]:
        if one["error"]:
            yield f"  no forecast of {clean(one['deployment'])}: {clean(one['error'])}"


def _note(data: Mapping[str, Any]) -> str:
    files = {one["planned"]["files"] for one in data["deployments"] if one["planned"]}
    jobs = f"A job of {' or '.join(map(str, sorted(files)))} files" if files else "A job"
    return (
        f"{jobs}, in the weather {clean(data['weather']['name'])}; {data['runs']} histories each."
        " `mlctl simulate` tells more."
    )
