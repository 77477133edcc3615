"""The forecast of a plan as a table, for a terminal and for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.inert import code_span, prose, table_row
from mlctl.render.forecast.words import (
    FAILED,
    NO_NODE,
    NOT_DONE,
    Column,
    cells,
    chance,
    grid,
    outcomes,
    plain_usd,
    time,
    value_of,
)
from mlctl.render.terminal.terminal import Styler, clean

_COLUMNS: tuple[Column, ...] = (
    ("Forecast", lambda row: f"    {row['name']}"),
    ("nodes", lambda row: f"{row['nodes']} {clean(row['tier'])}"),
    ("USD until done", lambda row: plain_usd(value_of(row["until_done"]["cost"]))),
    ("after", lambda row: time(value_of(row["until_done"]["time_s"]))),
    ("95 % within", lambda row: time(value_of(row["until_done"]["time_p95_s"]))),
    ("P(cancelled)", lambda row: chance(row["cancelled"])),
    FAILED,
    NOT_DONE,
    NO_NODE,
)
_IN_MARKDOWN: Column = (
    "forecast",
    lambda row: f"{code_span(clean(row['deployment']))} {row['name']}",
)
_NOTHING = "Forecast: the plan changes no deployment that scores files.\n"
_SIDES = {"planned": "as planned", "now": "now"}


def human(data: Mapping[str, Any], *, color: bool) -> str:
    """Render the forecast for a terminal."""
    if not data["deployments"]:
        return _NOTHING
    deployments = [
        (deployment["deployment"], _rows(deployment)) for deployment in data["deployments"]
    ]
    all_rows = [row for _, rows in deployments for row in rows]
    head, *drawn_rows = grid(cells(outcomes(_COLUMNS, all_rows), all_rows), Styler(color))
    lines, drawn = [head], iter(drawn_rows)
    for name, rows in deployments:
        lines += [f"  {clean(name)}", *(next(drawn) for _ in rows)] if rows else []
    return "\n".join([*lines, *_reasons(data), _note(data)]) + "\n"


def markdown(data: Mapping[str, Any]) -> str:
    """Render the forecast as a table for a pull request."""
    if not data["deployments"]:
        return _NOTHING
    rows = [row for cell in data["deployments"] for row in _rows(cell)]
    columns = outcomes((_IN_MARKDOWN, *_COLUMNS[1:]), rows)
    heads, rows_of_cells = cells(columns, rows)
    table = [heads, ("---", *["--:"] * (len(heads) - 1)), *rows_of_cells]
    lines = [table_row(cells) for cells in table]
    notes = [*(prose(line.strip()) for line in _reasons(data)), _note(data)]
    return "\n".join([*(lines if rows_of_cells else []), "", *notes]).lstrip() + "\n"


def _rows(deployment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a deployment's rows of the table."""
    return [
        {"deployment": deployment["deployment"], "name": name, **deployment[side]}
        for side, name in _SIDES.items()
        if deployment[side] is not None
    ]


def _reasons(data: Mapping[str, Any]) -> Iterator[str]:
    for entry in data["deployments"]:
        if entry["error"]:
            yield f"  no forecast of {clean(entry['deployment'])}: {clean(entry['error'])}"


def _note(data: Mapping[str, Any]) -> str:
    files = {
        deployment["planned"]["files"]
        for deployment in data["deployments"]
        if deployment["planned"]
    }
    jobs = f"A job of {' or '.join(map(str, sorted(files)))} files" if files else "A job"
    weather = clean(data["weather"]["name"])
    return (
        f"{jobs}, in the weather {weather}; {data['runs']} histories."
        " For details run `mlctl simulate`."
    )
