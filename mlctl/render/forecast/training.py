"""Forecasts of training jobs for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.render.forecast.batch import assumptions
from mlctl.render.forecast.words import Column, Grid, cells, chance, grid, plain_usd, time, value_of
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted

_NARROW, _WIDE = 60, 120


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """Render the forecast for a terminal: its subject, rows, intervals and assumptions."""
    width, styler = max(min(width, _WIDE), _NARROW), Styler(color)
    parts = [
        subject(data["scenario"]),
        "\n".join(grid(rows(data), styler)),
        *_intervals(data, styler),
        assumptions(data, width),
    ]
    return "\n\n".join(parts) + "\n"


def subject(of: Mapping[str, Any]) -> str:
    """Describe in a line the job, its steps and its nodes."""
    nodes = counted(of["nodes"], "node")
    steps = f"{of['steps']} steps of {time(of['seconds_per_step'])}"
    return (
        f"{clean(of['job'])} on {clean(of['cluster'])}: {steps}, on {nodes} of {clean(of['size'])}"
    )


def rows(data: Mapping[str, Any]) -> Grid:
    """Return the rows as table cells."""
    return cells(_COLUMNS, data["rows"])


_COLUMNS: tuple[Column, ...] = (
    ("", lambda row: clean(row["name"])),
    ("every", lambda row: every(row["checkpoint_every"])),
    ("mean", lambda row: time(value_of(row["time_s"]["mean"]))),
    ("p50", lambda row: time(value_of(row["time_s"]["p50"]))),
    ("p95", lambda row: time(value_of(row["time_s"]["p95"]))),
    ("P(cancelled)", lambda row: chance(row["cancelled"])),
    ("P(not done)", lambda row: chance(row["not_done"])),
    ("cost USD", lambda row: plain_usd(value_of(row["cost"]))),
    ("else spent", lambda row: plain_usd(value_of(row["spent"]))),
    ("restarts", lambda row: f"{row['interruptions']['value']:.2f}"),
    ("points", lambda row: f"{row['points']['value']:.1f}"),
    ("repeated", lambda row: f"{row['repeated_points']:.1f}"),
    ("lost node-h", lambda row: f"{row['lost_node_hours']:.3f}"),
    ("exact mean", lambda row: time(row["exact"] and row["exact"]["time_s"])),
)


def every(steps: int) -> str:
    """Format an interval between checkpoints, in steps."""
    return f"{steps}" if steps else "never"


def intervals(data: Mapping[str, Any]) -> tuple[str, Grid] | None:
    """Say how the checkpoint intervals were found, and return their table; None without any."""
    document = data["intervals"]
    if document is None:
        return None
    method = (
        "in closed form"
        if document["exact"]
        else f"by histories, because there are {document['why_not']}"
    )
    rate = f"{document['losses_per_hour']:.3g} interruptions an hour"
    title = f"checkpoint intervals in {clean(document['weather'])} ({rate}), {method}"
    return title, cells(_INTERVALS, document["rows"])


_INTERVALS: tuple[Column, ...] = (
    ("", lambda row: row["name"]),
    ("every", lambda row: every(row["checkpoint_every"])),
    ("mean", lambda row: time(value_of(row["time_s"]))),
    ("slower than the best by", lambda row: _saved(row["saves_s"])),
)


def _intervals(data: Mapping[str, Any], styler: Styler) -> Iterator[str]:
    titled = intervals(data)
    if titled is not None:
        title, table = titled
        yield "\n".join([styler.apply(title, Style.BOLD), *grid(table, styler)])


def _saved(of: Mapping[str, Any] | None) -> str:
    if of is None:
        return "-"
    if of["low"] == of["high"]:
        return time(of["value"])
    if of["low"] <= 0 <= of["high"]:
        return "no measurable difference"
    return f"{time(of['value'])} ({time(of['low'])} to {time(of['high'])})"
