"""Advice on the settings of a job for people, from `schemas/output/advice.schema.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mlctl.render.charts import scatter
from mlctl.render.forecast import Column, Grid, cells, chance, grid, scalar, time, usd
from mlctl.render.style import Styler
from mlctl.render.terminal import clean

_NARROW, _WIDE, _HEIGHT = 60, 120, 12
POINTS = "Each configuration by its cost until done and the 95th percentile of its time."


class Mark(NamedTuple):
    """A configuration in the scatter: seconds across, USD up; the recommended one is marked."""

    label: str
    x: float
    y: float
    row: int | None
    marked: bool


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The rows, a scatter of cost against time, and the recommendation with its margin."""
    width = max(min(width, _WIDE), _NARROW)
    parts = [
        subject(data),
        "\n".join(grid(rows(data), Styler(color))),
        _scatter(data, width),
        "\n".join(recommendation(data)),
    ]
    return "\n\n".join(parts) + "\n"


def subject(data: Mapping[str, Any]) -> str:
    """What the advice is on, in a line: the deployment, the cluster, and how much was tried."""
    return (
        f"{clean(data['deployment'])} on {clean(data['cluster'])}, {clean(data['weather'])}:"
        f" {data['configurations']} configurations, {data['histories']} histories"
    )


def rows(data: Mapping[str, Any]) -> Grid:
    """The configurations as a table of cells; their numbers are those of the scatter."""
    found = [
        {**row, "mark": _mark(data, at), "number": at + 1} for at, row in enumerate(data["rows"])
    ]
    dated = data["wishes"]["deadline_s"] is not None
    return cells([one for one in _COLUMNS if one[0] != "P(late)" or dated], found)


def recommendation(data: Mapping[str, Any]) -> list[str]:
    """What to change, why, and by which margin: a sentence or two each."""
    return list(_recommendation(data))


def points(data: Mapping[str, Any]) -> list[Mark]:
    """The marks of the scatter, in the order of the rows."""
    return [
        Mark(
            _settings(row),
            row["until_done"]["time_p95_s"]["value"],
            row["until_done"]["cost"]["value"],
            at,
            at == data["recommended"],
        )
        for at, row in enumerate(data["rows"])
    ]


def _recommendation(data: Mapping[str, Any]) -> Iterator[str]:
    at = data["recommended"]
    if at is None:
        yield "No configuration keeps what was asked for; the cheapest are shown."
        return
    row, margin = data["rows"][at], data["margin"]
    if not row["settings"]:
        text = "Keep the files as they are"
    else:
        text = "Set " + ", ".join(f"{name}: {scalar(to)}" for name, to in row["settings"].items())
    done = row["until_done"]
    yield (
        f"{text}: {usd(done['cost']['value'])} until done, after {time(done['time_s']['value'])} on"
        f" average, cancelled in {chance(row['cancelled'])} of the cases."
    )
    for name, other in (("now", "what there is"), ("next", "the next best")):
        if margin[name] is not None:
            yield _margin(margin[name], other)
    yield f"Its cluster needs a quota of {row['quota_cores']} {_tier(row)} cores."


def _tier(row: Mapping[str, Any]) -> str:
    return str(row["tier"]).replace("_", "-")


def _margin(of: Mapping[str, Any], other: str) -> str:
    low, high = of["low"], of["high"]
    if low is None or high is None or low <= 0 <= high:
        return f"In cost it cannot be told apart from {other}."
    if high < 0:
        return (
            f"It is {usd(-of['value'])} dearer than {other} ({usd(-high)} to {usd(-low)}, paired)."
        )
    return f"It is {usd(of['value'])} cheaper than {other} ({usd(low)} to {usd(high)}, paired)."


def _mark(data: Mapping[str, Any], at: int) -> str:
    here = "now" if at == 0 else ""
    return "best" if at == data["recommended"] else here


def _settings(row: Mapping[str, Any]) -> str:
    nodes = "1 node" if row["nodes"] == 1 else f"{row['nodes']} nodes"
    told = f"{_tier(row)}, {nodes}, mini-batches of {row['mini_batch_size']}"
    return f"{told}, {clean(row['policy'])}"


_COLUMNS: tuple[Column, ...] = (
    ("", lambda row: row["mark"]),
    ("#", lambda row: f"{row['number']}"),
    ("configuration", _settings),
    ("P(cancelled)", lambda row: chance(row["cancelled"], interval=True)),
    ("P(late)", lambda row: chance(row["late"])),
    ("cost of a run", lambda row: usd(row["cost"]["value"])),
    ("until done", lambda row: usd(row["until_done"]["cost"]["value"])),
    ("after", lambda row: time(row["until_done"]["time_s"]["value"])),
    ("p95", lambda row: time(row["until_done"]["time_p95_s"]["value"])),
)


def _scatter(data: Mapping[str, Any], width: int) -> str:
    found = points(data)
    drawn = scatter(
        [(one.x, one.y, f"{one.row + 1}" if one.row is not None else "·") for one in found],
        width=width,
        height=_HEIGHT,
        x=ends([one.x for one in found], time),
        y=ends([one.y for one in found], usd),
    )
    return f"{POINTS}\n{drawn}".rstrip()


def ends(values: Sequence[float], told: Callable[[float], str]) -> tuple[str, str]:
    """The least and the most of the values in words."""
    return told(min(values)), told(max(values))
