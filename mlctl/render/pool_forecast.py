"""Forecasts of Batch Pools for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.render.forecast import assumptions, grid, time, usd
from mlctl.render.style import Styler
from mlctl.render.terminal import clean

_NARROW, _WIDE = 60, 120


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The forecast for a terminal: the places side by side, the break-even, the assumptions."""
    width, styler = max(min(width, _WIDE), _NARROW), Styler(color)
    heads = ("", "wait", "95 % within", "exact wait", "until done", "a month", "a job")
    rows = tuple(_row(row) for row in data["rows"])
    parts = [_subject(data), "\n".join(grid((heads, rows), styler)), _even(data)]
    return "\n\n".join([*parts, assumptions(data, width)]) + "\n"


def _subject(data: Mapping[str, Any]) -> str:
    length = f"{time(data['seconds_per_job'])}{' on average' if data['exponential'] else ''}"
    most = f"at most {data['most_jobs_per_day']:.4g} fit"
    vms = "1 VM" if data["vms"] == 1 else f"{data['vms']} VMs"
    return f"{clean(data['pool'])}: {vms}, {data['jobs_per_day']:g} jobs a day ({most}) of {length}"


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    month, exact = row["cost_per_month"], row["exact_wait_s"]
    return (
        row["name"],
        time(row["wait_s"]["value"]),
        time(row["wait_p95_s"]),
        "-" if exact is None else time(exact),
        time(row["time_s"]["value"]),
        "unknown" if month is None else usd(month["value"]),
        "unknown" if month is None else usd(row["cost_per_job"]),
    )


def _even(data: Mapping[str, Any]) -> str:
    lines = []
    for name, jobs in data["break_even_jobs_per_day"].items():
        told = (
            "costs less than the pool at any load that the pool can take"
            if jobs is None
            else f"costs less than the pool below {jobs:.3g} jobs a day"
        )
        lines.append(f"A {name} {told}.")
    return (
        "\n".join(lines)
        .replace("A cluster, dedicated", "A dedicated cluster")
        .replace("A cluster, low priority", "A low-priority cluster")
    )
