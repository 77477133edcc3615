"""Advice on the settings of a job for people, from `schemas/output/advice.schema.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import log
from typing import Any, NamedTuple

from mlctl.render.forecast.batch import assumptions
from mlctl.render.forecast.words import (
    FAILED,
    NOT_DONE,
    Column,
    Grid,
    cells,
    chance,
    grid,
    outcomes,
    plain_usd,
    scalar,
    time,
    usd,
    value_of,
)
from mlctl.render.page.charts import scatter
from mlctl.render.terminal.terminal import Styler, clean
from mlctl.schema.text import counted

_NARROW, _WIDE, _HEIGHT = 60, 120, 12
POINTS = (
    "Each configuration by its cost until done (up) and the 95th percentile of its time (across);"
    " both scales are logarithmic."
)
_LEAST = 1e-9


class ScatterPoint(NamedTuple):
    """A configuration in the scatter: time across and cost up, as logarithms.

    The recommended one is marked.
    """

    label: str
    x: float
    y: float
    row: int | None
    marked: bool


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """Render the rows, a scatter of cost against time, and the recommendation with its margin."""
    width = max(min(width, _WIDE), _NARROW)
    parts = [
        subject(data),
        "\n".join(grid(rows(data), Styler(color))),
        "\n".join(grid(options(data), Styler(color))) if len(data["options"]) > _TIERS else "",
        _scatter(data, width) if _plottable(data) else "",
        "\n".join(recommendation(data)),
        assumptions(data, width),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def subject(data: Mapping[str, Any]) -> str:
    """Describe in a line the deployment, the cluster, and how much was tried."""
    return (
        f"{clean(data['deployment'])} on {clean(data['cluster'])}, {clean(data['weather'])}:"
        f" {data['configurations']} configurations tried in {data['histories']} histories"
    )


def rows(data: Mapping[str, Any]) -> Grid:
    """Return the configurations as table cells, with the numbers of the scatter."""
    numbered = [
        {**row, "mark": _mark(data, at), "number": at + 1} for at, row in enumerate(data["rows"])
    ]
    absent = {
        "P(late)": data["wishes"]["deadline_s"] is None,
        "between": not any(row["between"] for row in numbered),
    }
    columns = [column for column in _COLUMNS if not absent.get(column[0])]
    return cells(outcomes(columns, numbered), numbered)


def options(data: Mapping[str, Any]) -> Grid:
    """Return the best configuration of each size, region and tier as table cells."""
    rows = data["options"]
    rated = any(row["eviction_rate"] for row in rows)
    columns = [column for column in _OPTIONS if rated or column[0] != _EVICTIONS]
    return cells(outcomes(columns, rows), rows[:_MOST_OPTIONS])


def points(data: Mapping[str, Any]) -> list[ScatterPoint]:
    """Return the marks of the scatter, rows first; only jobs that always end have a place."""
    marks = [
        ScatterPoint(
            _settings(data["rows"][point["row"]])
            if point["row"] is not None
            else _describe_changes(point),
            _log(point["time_p95_s"]),
            _log(point["cost"]),
            point["row"],
            point["row"] is not None and point["row"] == data["recommended"],
        )
        for point in _plottable(data)
    ]
    return sorted(marks, key=lambda point: (point.row is None, point.row or 0))


def recommendation(data: Mapping[str, Any]) -> Iterator[str]:
    """Say what to change, why, and by which margin, in a sentence or two each."""
    at = data["recommended"]
    if at is None and not _plottable(data):
        yield "No configuration gets the job done in every history: none is recommended."
    elif at is None:
        yield "No configuration keeps the limits; the cheapest are shown."
    else:
        row, margin = data["rows"][at], data["margin"]
        yield _what(row)
        now = data["rows"][0]["until_done"]
        if now["not_done"]:
            yield (
                "With today's settings the job is not done by day 90 in "
                f"{chance(now['p_not_done'])} of the cases"
                f" (spent so far: {usd(now['spent'])} on average)."
            )
        for name, rival in (("now", "the current settings"), ("next", "the next best")):
            if margin[name] is not None:
                yield _margin(margin[name], rival)
        if "concurrency" in row["settings"]:
            yield (
                f"That holds if {row['concurrency']} mini-batches at once on a node do not slow"
                " each other down: measure that first."
            )
        if row["between"]:
            yield (
                f"Its {row['min_instances']} permanent nodes cost {usd(row['between'])} from one"
                f" job to the next, with {data['jobs_per_month']:g} jobs a month, which is "
                "included."
            )
        yield f"Its cluster needs a quota of {row['quota_cores']} {_tier(row)} cores."
    yield from _quota(data)
    if data["without_price"]:
        yield f"Not tried, because no price is known: {clean(', '.join(data['without_price']))}."


def _what(row: Mapping[str, Any]) -> str:
    totals, text = row["until_done"], "Keep the current settings"
    if row["settings"]:
        text = f"Set {_describe_changes(row)}"
    return (
        f"{text}: {usd(totals['cost']['value'])} until done, after"
        f" {time(totals['time_s']['value'])} on average, cancelled in"
        f" {chance(row['cancelled'])} of the cases."
    )


def _describe_changes(of: Mapping[str, Any]) -> str:
    return clean(", ".join(f"{name}: {scalar(to)}" for name, to in of["settings"].items()))


def _quota(data: Mapping[str, Any]) -> Iterator[str]:
    """Say what the quota rules out, once per reason, with the number of configurations."""
    over = data["quota"]["over"]
    now = data["rows"][0]["over_quota"]
    if now is not None:
        yield f"The quota is too small for the current settings: {clean(now)}."
    if over:
        why = Counter(entry["why"].partition(":")[0] for entry in over)
        reasons = ", ".join(f"{clean(reason)} ({count})" for reason, count in why.items())
        yield (
            f"For {len(over)} configurations, which were not tried, the quota is too small: "
            f"{reasons}."
        )
    if over or now is not None:
        yield f"Quotas are those of {clean(data['quota']['source'])}."


def _tier(row: Mapping[str, Any]) -> str:
    return str(row["tier"]).replace("_", "-")


def _margin(of: Mapping[str, Any], rival: str) -> str:
    low, high = of["low"], of["high"]
    if low is None or high is None or low <= 0 <= high:
        return f"Its cost does not differ measurably from that of {rival}."
    if high < 0:
        return (
            f"It is {usd(-of['value'])} dearer than {rival} ({usd(-high)} to {usd(-low)}, paired)."
        )
    return f"It is {usd(of['value'])} cheaper than {rival} ({usd(low)} to {usd(high)}, paired)."


def _mark(data: Mapping[str, Any], at: int) -> str:
    label = "now" if at == 0 and not data["rows"][0]["settings"] else ""
    return "best" if at == data["recommended"] else label


def _settings(row: Mapping[str, Any]) -> str:
    nodes = counted(row["nodes"], "node")
    words = [_tier(row), nodes, f"mini-batches of {row['mini_batch_size']}"]
    words += [row["settings"][name] for name in ("size", "location") if name in row["settings"]]
    if "concurrency" in row["settings"]:
        words.append(f"{row['concurrency']} at once")
    if "timeout" in row["settings"]:
        words.append(f"timeout {row['timeout_s']:g} s")
    if row["min_instances"]:
        words.append(f"{row['min_instances']} stay")
    return clean(", ".join([*words, row["policy"]]))


_COLUMNS: tuple[Column, ...] = (
    ("", lambda row: row["mark"]),
    ("#", lambda row: f"{row['number']}"),
    ("configuration", _settings),
    ("P(cancelled)", lambda row: chance(row["cancelled"], interval=True)),
    FAILED,
    NOT_DONE,
    ("P(late)", lambda row: chance(row["late"])),
    ("cost of a run", lambda row: usd(row["cost"]["value"])),
    ("until done", lambda row: usd(value_of(row["until_done"]["cost"]))),
    ("between", lambda row: usd(row["between"])),
    ("after", lambda row: time(value_of(row["until_done"]["time_s"]))),
    ("p95", lambda row: time(value_of(row["until_done"]["time_p95_s"]))),
)


def _fits(row: Mapping[str, Any]) -> str:
    """Whether the quota of its size and region, if known, allows it."""
    if {"size", "location"} & row["settings"].keys():
        return "not known"
    return "fits" if row["over_quota"] is None else "too small"


def _evictions(row: Mapping[str, Any]) -> str:
    """Return the eviction rate of Spot; dedicated nodes have none."""
    rate = row["eviction_rate"] if row["tier"] == "low_priority" else ""
    return f"{rate} %" if rate else "-"


_TIERS, _MOST_OPTIONS, _EVICTIONS = 2, 30, "evictions an hour"
_OPTIONS: tuple[Column, ...] = (
    ("considered", lambda row: clean(row["size"])),
    ("region", lambda row: clean(row["region"])),
    ("tier", _tier),
    ("USD an hour", lambda row: plain_usd(row["price"])),
    ("nodes", lambda row: f"{row['nodes']}"),
    ("quota", _fits),
    (_EVICTIONS, _evictions),
    ("P(cancelled)", lambda row: chance(row["cancelled"])),
    FAILED,
    NOT_DONE,
    ("until done", lambda row: usd(value_of(row["until_done"]["cost"]))),
    ("after", lambda row: time(value_of(row["until_done"]["time_s"]))),
)


def ends(data: Mapping[str, Any]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the words at the ends of the two axes of the scatter: times, then costs."""
    times = [point["time_p95_s"] for point in _plottable(data)]
    costs = [point["cost"] for point in _plottable(data)]
    return (time(min(times)), time(max(times))), (usd(min(costs)), usd(max(costs)))


def _plottable(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the configurations that always finish: the others have no cost until done."""
    return [point for point in data["points"] if point["cost"] is not None]


def _log(number: float) -> float:
    return log(max(number, _LEAST))


def _scatter(data: Mapping[str, Any], width: int) -> str:
    across, up = ends(data)
    marks = [
        (mark.x, mark.y, f"{mark.row + 1}" if mark.row is not None else "·")
        for mark in points(data)
    ]
    drawn = scatter(marks, width=width, height=_HEIGHT, x=across, y=up)
    return f"{POINTS}\n{drawn}".rstrip()
