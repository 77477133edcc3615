"""Advice on the settings of a job, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlctl import inert
from mlctl.render.forecast import Column, cells, chance, grid, scalar, time, usd
from mlctl.render.style import Styler
from mlctl.render.terminal import clean

_WIDTH, _HEIGHT = 48, 10


def as_json(data: Mapping[str, Any]) -> str:
    """The advice as JSON, ASCII only."""
    return inert.as_json(data, indent=2) + "\n"


def human(data: Mapping[str, Any], *, color: bool) -> str:
    """The rows, a scatter of cost against time, and the recommendation with its margin."""
    rows = [{**row, "mark": _mark(data, at)} for at, row in enumerate(data["rows"])]
    columns = [one for one in _COLUMNS if one[0] != "P(late)" or rows[0]["late"] is not None]
    head = (
        f"{clean(data['deployment'])} on {clean(data['cluster'])}, {clean(data['weather'])}:"
        f" {data['configurations']} configurations, {data['histories']} histories"
    )
    table = "\n".join(grid(cells(columns, rows), Styler(color)))
    return "\n\n".join([head, table, _scatter(rows), recommendation(data)]) + "\n"


def recommendation(data: Mapping[str, Any]) -> str:
    """What to change, why, and by which margin."""
    at = data["recommended"]
    if at is None:
        return "No configuration keeps what was asked for; the cheapest are shown."
    row, margin = data["rows"][at], data["margin"]
    if not row["settings"]:
        text = "Keep the files as they are"
    else:
        text = "Set " + ", ".join(f"{name}: {scalar(to)}" for name, to in row["settings"].items())
    done = row["until_done"]
    text += (
        f": {usd(done['cost']['value'])} until done, after {time(done['time_s']['value'])} on"
        f" average, cancelled in {chance(row['cancelled'])} of the cases."
    )
    for name, other in (("now", "what there is"), ("next", "the next best")):
        if margin[name] is not None:
            text += f" {_margin(margin[name], other)}"
    cores = row["quota_cores"]
    return f"{text} Its cluster needs a quota of {cores} {_tier(row)} cores."


def _tier(row: Mapping[str, Any]) -> str:
    return str(row["tier"]).replace("_", "-")


def _margin(of: Mapping[str, Any], other: str) -> str:
    low, high = of["low"], of["high"]
    if low is None or high is None or low <= 0 <= high:
        return f"It cannot be told apart from {other}."
    return f"It is {usd(of['value'])} cheaper than {other} ({usd(low)} to {usd(high)}, paired)."


def _mark(data: Mapping[str, Any], at: int) -> str:
    here = "now" if at == 0 else ""
    return "best" if at == data["recommended"] else here


def _settings(row: Mapping[str, Any]) -> str:
    told = f"{_tier(row)}, {row['nodes']} nodes, mini-batches of {row['mini_batch_size']}"
    return f"{told}, {clean(row['policy'])}"


_COLUMNS: tuple[Column, ...] = (
    ("", lambda row: row["mark"]),
    ("configuration", _settings),
    ("P(cancelled)", lambda row: chance(row["cancelled"], interval=True)),
    ("P(late)", lambda row: chance(row["late"])),
    ("cost of a run", lambda row: usd(row["cost"]["value"])),
    ("until done", lambda row: usd(row["until_done"]["cost"]["value"])),
    ("after", lambda row: time(row["until_done"]["time_s"]["value"])),
    ("p95", lambda row: time(row["until_done"]["time_p95_s"]["value"])),
)


def _scatter(rows: Sequence[Mapping[str, Any]]) -> str:
    """Cost until done against the 95th percentile of the time: a number for each row."""
    points = [
        (row["until_done"]["time_p95_s"]["value"], row["until_done"]["cost"]["value"])
        for row in rows
    ]
    (left, right), (low, high) = ((min(one), max(one)) for one in zip(*points, strict=True))
    canvas = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for number, (seconds, cost) in enumerate(points, 1):
        column = round((seconds - left) / ((right - left) or 1) * (_WIDTH - 1))
        line = round((high - cost) / ((high - low) or 1) * (_HEIGHT - 1))
        canvas[line][column] = str(number)
    told = [usd(high), *[""] * (_HEIGHT - 2), usd(low)]
    size = max(map(len, told))
    lines = [
        f"{label:>{size}} │{''.join(line)}".rstrip()
        for label, line in zip(told, canvas, strict=True)
    ]
    axis = f"{'':>{size}}  {time(left)}{time(right):>{max(_WIDTH - len(time(left)), 1)}}"
    return "\n".join(
        ["cost until done against the 95th percentile of the time, by row", *lines, axis]
    )
