"""Forecasts and advice as HTML pages, from the data of `schemas/output`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, log
from typing import Any

from mlctl.render.forecast import advice as forecast_advice
from mlctl.render.forecast import training as training_forecast
from mlctl.render.forecast.batch import LEGEND, SOURCES, grids, sentence, subject, tornado_table
from mlctl.render.forecast.words import scalar, time, usd
from mlctl.render.page import html as page
from mlctl.render.page.svg import Axis, Bar, Curve, Lane, Point, Stretch, Swing

_TICKS = 5
_LEAST = 1e-9


def batch(data: Mapping[str, Any]) -> str:
    """Return the page of a batch job."""
    return page.document(page.Page("Forecast", subject(data["scenario"]), tuple(_parts(data))))


def training(data: Mapping[str, Any]) -> str:
    """Return the page of a training job."""
    lead = training_forecast.subject(data["scenario"])
    return page.document(
        page.Page("Forecast of a training job", lead, tuple(_training_parts(data)))
    )


def advice(data: Mapping[str, Any]) -> str:
    """Return the page of advice on a batch job."""
    lead = forecast_advice.subject(data)
    return page.document(page.Page("Advice", lead, tuple(_advice_parts(data))))


def _parts(data: Mapping[str, Any]) -> Iterator[page.Part]:
    yield page.Prose("", (sentence(data),))
    yield from _compare(data)
    first, means, second = grids(data)
    yield page.HtmlTable("Time, chance and cost", *first, LEGEND)
    yield page.HtmlTable("Means", *means)
    yield page.HtmlTable("Nodes and work", *second)
    for line in data["timelines"]:
        yield _timeline(line)
    if data["sensitivity"]:
        if data["sentence"]["low_priority"]["cost"] is not None:
            rows = tuple(
                Swing(
                    factor["name"],
                    factor["low"]["cost"],
                    factor["high"]["cost"],
                    f"{scalar(factor['low']['value'])}: {usd(factor['low']['cost'])}",
                    f"{scalar(factor['high']['value'])}: {usd(factor['high']['cost'])}",
                )
                for factor in data["sensitivity"]
                if factor["low"]["cost"] is not None and factor["high"]["cost"] is not None
            )
            base = data["sentence"]["low_priority"]["cost"]
            note = "Cost until done; each assumption from low to high, on the same draws."
            yield page.Tornado("What it depends on", base, rows, note)
        yield page.HtmlTable("Under each assumption", *tornado_table(data))
    yield _assumptions(data)


def _compare(data: Mapping[str, Any]) -> Iterator[page.Part]:
    """Compare the rows in charts: when they are done, and what they cost."""
    rows = [row for row in data["rows"] if any(at["time_s"] for at in row["curve"])]
    curves = [
        Curve(
            row["name"],
            tuple((log(at["time_s"]), at["share"]) for at in row["curve"] if at["time_s"]),
        )
        for row in rows
    ]
    places = [exp(place) for curve in curves for place, _ in curve.places]
    if not places:
        return
    deadline = data["deadline_s"]
    ends = [*places, deadline] if deadline else places
    axis = Axis("time until done, logarithmic", time(min(ends)), time(max(ends)))
    line = (f"deadline {time(deadline)}", log(deadline)) if deadline else None
    yield page.Curves("Done by when", tuple(curves), axis, line)
    means = {row["name"]: row["until_done"] for row in rows if row["until_done"]["cost"]}
    pairs = {name: (of["time_s"]["value"], of["cost"]["value"]) for name, of in means.items()}
    points = tuple(
        Point(name, log(max(at, _LEAST)), log(max(cost, _LEAST)), marked=True)
        for name, (at, cost) in pairs.items()
    )
    times, costs = zip(*pairs.values(), strict=True)
    yield page.Scatter(
        "What it costs until done, and how long that takes",
        points,
        Axis("time until done, on average", time(min(times)), time(max(times))),
        Axis("cost until done", usd(min(costs)), usd(max(costs))),
        "Both scales are logarithmic.",
    )


def _training_parts(data: Mapping[str, Any]) -> Iterator[page.Part]:
    yield page.HtmlTable("Time, chance and cost", *training_forecast.rows(data))
    intervals = training_forecast.intervals(data)
    if intervals is not None:
        yield page.HtmlTable("Checkpoint intervals", *intervals[1], intervals[0])
    for row in data["rows"]:
        every = training_forecast.every(row["checkpoint_every"])
        title = f"Time to the end: {row['name']}, checkpoint every {every}"
        note = f"{row['runs']} histories; restarts {row['interruptions']['value']:.2f} on average"
        bins = row["histogram"]
        rows = tuple(
            Bar(f"{time(bin_['from_s'])} – {time(bin_['to_s'])}", bin_["runs"], str(bin_["runs"]))  # noqa: RUF001  # a range
            for bin_ in bins
        )
        yield page.Histogram(title.replace("every never", "never"), rows, note)
    yield _assumptions(data)


def _advice_parts(data: Mapping[str, Any]) -> Iterator[page.Part]:
    yield page.Prose("", tuple(forecast_advice.recommendation(data)))
    yield page.HtmlTable("Configurations", *forecast_advice.rows(data))
    if len(data["options"]) > 1:
        yield page.HtmlTable("Considered", *forecast_advice.options(data))
    if forecast_advice.points(data):
        marks = forecast_advice.points(data)
        points = tuple(  # a label beside a mark must be short: the table has the rest
            Point(
                f"# {mark.row + 1}" if mark.marked and mark.row is not None else mark.label,
                *mark[1:3],
                mark.marked,
            )
            for mark in marks
        )
        across, up = forecast_advice.ends(data)
        yield page.Scatter(
            "Cost until done against the time",
            points,
            Axis("95th percentile of the time until done", *across),
            Axis("cost until done", *up),
            forecast_advice.POINTS,
        )
    yield _assumptions(data)


def _timeline(line: Mapping[str, Any]) -> page.Timeline:
    lanes = tuple(
        Lane(
            f"node {node['node']}",
            tuple(
                Stretch(spell["state"], spell["from_s"], spell["to_s"]) for spell in node["spells"]
            ),
        )
        for node in line["nodes"]
    )
    length = line["seconds"]
    ticks = tuple(time(length * at / (_TICKS - 1)) for at in range(_TICKS))
    title = f"The {line['quantile']} history ({line['row']}, run {line['run']})"
    return page.Timeline(title, length, lanes, ticks)


def _assumptions(data: Mapping[str, Any]) -> page.HtmlTable:
    rows = tuple(
        (
            assumption["name"],
            "" if isinstance(assumption["value"], dict) else scalar(assumption["value"]),
            assumption["source"],
            assumption["why"],
        )
        for assumption in data["assumptions"]
    )
    note = f"{SOURCES}."
    return page.HtmlTable(
        "Assumptions", ("assumption", "value", "source", "why"), rows, note, numbers=False
    )
