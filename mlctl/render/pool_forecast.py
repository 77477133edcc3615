"""Forecasts of Batch Pools for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.render.forecast.batch import assumptions
from mlctl.render.forecast.words import Grid, grid, time, usd
from mlctl.render.terminal.style import Styler
from mlctl.render.terminal.terminal import clean

_NARROW, _WIDE = 60, 120


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The forecast for a terminal: the places side by side, the break-even, the assumptions."""
    width, styler = max(min(width, _WIDE), _NARROW), Styler(color)
    parts = [subject(data), "\n".join(grid(rows(data), styler)), "\n".join(even(data))]
    return "\n\n".join([*filter(None, parts), assumptions(data, width)]) + "\n"


def subject(data: Mapping[str, Any]) -> str:
    """What is forecast, in a line: the pool, its VMs and its jobs."""
    length = f"{time(data['seconds_per_job'])}{' on average' if data['exponential'] else ''}"
    most = f"at most {data['most_jobs_per_day']:.4g} fit"
    vms = "1 VM" if data["vms"] == 1 else f"{data['vms']} VMs"
    return f"{clean(data['pool'])}: {vms}, {data['jobs_per_day']:g} jobs a day ({most}) of {length}"


def rows(data: Mapping[str, Any]) -> Grid:
    """The places as a table of cells."""
    heads = ("", "wait", "95 % within", "exact wait", "until done", "a month", "a job")
    return heads, tuple(_row(row) for row in data["rows"])


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    month, exact = row["cost_per_month"], row["exact_wait_s"]
    return (
        row["name"],
        _mean(row["wait_s"]),
        time(row["wait_p95_s"]),
        "-" if exact is None else time(exact),
        _mean(row["time_s"]),
        "unknown" if month is None else usd(month["value"]),
        "unknown" if month is None else usd(row["cost_per_job"]),
    )


def _mean(of: Mapping[str, Any] | None) -> str:
    return time(None if of is None else of["value"])


def even(data: Mapping[str, Any]) -> list[str]:
    """At which load a cluster costs less than the pool, and what never ended: sentences."""
    return [
        f"{_PLACES[name]} "
        + (
            "costs less than the pool at any load that the pool can take."
            if jobs is None
            else f"costs less than the pool below {jobs:.3g} jobs a day."
        )
        for name, jobs in (data["break_even_jobs_per_day"] or {}).items()
        if jobs != 0
    ] + [
        f"{row['name']}: {row['not_done']} jobs never ended; they are in no mean."
        for row in data["rows"]
        if row["not_done"]
    ]


_PLACES = {
    "cluster, dedicated": "A dedicated cluster",
    "cluster, low priority": "A low-priority cluster",
}
