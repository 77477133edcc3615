"""A forecast as a page of HTML, from the data of `schemas/output/forecast.schema.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.render import page
from mlctl.render.forecast import (
    LEGEND,
    SOURCES,
    chance,
    grids,
    scalar,
    sentence,
    subject,
    time,
    tornado,
    usd,
)
from mlctl.render.page import Histogram, Page, Part, Prose, Table, Timeline, Tornado
from mlctl.render.svg import Bar, Lane, Spell, Swing

_TICKS = 5


def html(data: Mapping[str, Any]) -> str:
    """The whole page."""
    return page.document(Page("Forecast", subject(data["scenario"]), tuple(_parts(data))))


def _parts(data: Mapping[str, Any]) -> Iterator[Part]:
    yield Prose("", (sentence(data),))
    first, more = grids(data)
    yield Table("Time, chance and cost", *first, LEGEND)
    yield Table("Nodes and work", *more)
    for row in data["rows"]:
        if row["histogram"]:
            yield _histogram(row)
    for line in data["timelines"]:
        yield _timeline(line)
    if data["sensitivity"]:
        yield _tornado(data)
        yield Table("Under each assumption", *tornado(data))
    yield _assumptions(data)


def _histogram(row: Mapping[str, Any]) -> Histogram:
    rows = tuple(
        Bar(f"{time(one['from_s'])} – {time(one['to_s'])}", one["runs"], str(one["runs"]))  # noqa: RUF001  # a range
        for one in row["histogram"]
    )
    cancelled = chance(row["cancelled"], interval=True)
    note = f"{row['completed']} of {row['runs']} first runs completed; P(cancelled) {cancelled}"
    return Histogram(f"Completion of the first run: {row['name']}", rows, note)


def _timeline(line: Mapping[str, Any]) -> Timeline:
    lanes = tuple(
        Lane(
            f"node {one['node']}",
            tuple(Spell(each["state"], each["from_s"], each["to_s"]) for each in one["spells"]),
        )
        for one in line["nodes"]
    )
    length = line["seconds"]
    ticks = tuple(time(length * at / (_TICKS - 1)) for at in range(_TICKS))
    title = f"The {line['quantile']} history ({line['row']}, run {line['run']})"
    return Timeline(title, length, lanes, ticks)


def _tornado(data: Mapping[str, Any]) -> Tornado:
    rows = tuple(
        Swing(
            one["name"],
            one["low"]["cost"],
            one["high"]["cost"],
            f"{scalar(one['low']['value'])}: {usd(one['low']['cost'])}",
            f"{scalar(one['high']['value'])}: {usd(one['high']['cost'])}",
        )
        for one in data["sensitivity"]
    )
    base = data["sentence"]["low_priority"]["cost"]
    note = "Cost until done; each assumption from low to high, on the same draws."
    return Tornado("What it hangs on", base, rows, note)


def _assumptions(data: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            one["name"],
            "" if isinstance(one["value"], dict) else scalar(one["value"]),
            one["source"],
            one["why"],
        )
        for one in data["assumptions"]
    )
    note = f"{SOURCES}."
    return Table("Assumptions", ("assumption", "value", "source", "why"), rows, note, numbers=False)
