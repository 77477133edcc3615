"""Forecasts of training jobs for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.render.forecast.batch import assumptions
from mlctl.render.forecast.words import Grid, chance, grid, plain_usd, time, value_of
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
    heads = (
        *(
            "",
            "every",
            "mean",
            "p50",
            "p95",
            "P(cancelled)",
            "P(not done)",
            "cost USD",
            "else spent",
        ),
        *("restarts", "points", "repeated", "lost node-h", "exact mean"),
    )
    return heads, tuple(_row(row) for row in data["rows"])


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    times, exact = row["time_s"], row["exact"]
    return (
        clean(row["name"]),
        every(row["checkpoint_every"]),
        *(time(value_of(times[name])) for name in ("mean", "p50", "p95")),
        chance(row["cancelled"]),
        chance(row["not_done"]),
        plain_usd(value_of(row["cost"])),
        plain_usd(value_of(row["spent"])),
        f"{row['interruptions']['value']:.2f}",
        f"{row['points']['value']:.1f}",
        f"{row['repeated_points']:.1f}",
        f"{row['lost_node_hours']:.3f}",
        "-" if exact is None else time(exact["time_s"]),
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
    lines = tuple(
        (
            interval["name"],
            every(interval["checkpoint_every"]),
            time(value_of(interval["time_s"])),
            _saved(interval["saves_s"]),
        )
        for interval in document["rows"]
    )
    return title, (("", "every", "mean", "slower than the best by"), lines)


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
