"""Forecasts in a trace of how many nodes there were, from the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.builders.forecasts import AT_ONCE, forecast, near, work
from tests.builders.shell import Run

GAP, EMPTY, FULL = 300, 40, 60  # seconds; points without a node, and points with some
RUNS = 1000
JOB = ("--files", "9", "--seconds-per-file", "1")
LOW = ("--runs", str(RUNS), "--tier", "low_priority")


def trace(nodes: list[Any], **told: Any) -> str:
    """A file in the format of skypilot-org/spot-traces, under its name."""
    data = {"metadata": {"gap_seconds": GAP}, "data": nodes, **told}
    Path("trace.json").write_text(json.dumps(data))
    return "trace.json"


def blocks() -> str:
    return trace([0] * EMPTY + [4] * FULL)


def row(mlctl: Run, sample: Path, *flags: str) -> Any:
    return forecast(mlctl, sample, *AT_ONCE, "--weather", blocks(), *LOW, *flags)["trace"]


def test_a_job_waits_for_nodes_as_long_as_a_trace_has_none(mlctl: Run, sample: Path) -> None:
    """From a place in the gap that chance says, the rest of the gap: on average half of it."""
    told = row(mlctl, sample, *work(1, 1, 60.0))["until_done"]["time_s"]
    total = EMPTY + FULL
    waits = [GAP * left for left in range(1, EMPTY + 1)]
    mean = sum(waits) / total
    spread = (sum(one * one for one in waits) / total - mean**2) ** 0.5
    assert near(told["value"], 60 + mean, spread, RUNS)


def test_where_there_are_nodes_a_job_begins_at_once(mlctl: Run, sample: Path) -> None:
    told = row(mlctl, sample, *work(1, 1, 60.0), "--start", "available")
    assert told["until_done"]["time_s"]["value"] == 60


def test_a_job_is_cancelled_that_meets_the_end_of_the_nodes(mlctl: Run, sample: Path) -> None:
    """Work of 2.5 points does not fit where 1 or 2 are left."""
    told = row(mlctl, sample, *work(1, 1, 2.5 * GAP), "--start", "available")["cancelled"]
    chance = 2 / FULL
    assert near(told["value"], chance, (chance * (1 - chance)) ** 0.5, RUNS)


def test_a_trace_limits_how_many_nodes_work_at_once(mlctl: Run, sample: Path) -> None:
    flags = (*AT_ONCE, *work(8, 16, 60.0), "--runs", "2", "--tier", "low_priority")
    three = forecast(mlctl, sample, *flags, "--weather", trace([3]))["trace"]
    assert three["until_done"]["time_s"]["value"] == 60 * -(-16 // 3)


def test_one_history_of_a_trace_is_the_same_in_the_simulated_cloud(
    mlctl: Run, sample: Path
) -> None:
    told = ("--files", "40", "--seconds-per-mini-batch", "200")
    flags = ("--weather", trace([0, 2, 2, 2, 2, 1, 2, 0]), "--seed", "7", "--run", "3")
    done = mlctl("simulate", sample, *flags, *told, "--runs", "5", "--events", "forecast.jsonl")
    offset = re.search(r"history 3 begins the trace at --offset (\d+)", done.err)
    assert offset
    mlctl("local", "reset", "--seed", "7/3", "--yes")
    mlctl("apply", sample, "--yes")
    mlctl("local", "preemption", "set", "--trace", "trace.json", "--offset", offset[1])
    name = ("-n", "heart-classifier-batch")
    mlctl("batch-endpoint", "invoke", *name, *told, "--job-name", "forecast")
    mlctl("job", "stream", "-n", "forecast", "--events", "local.jsonl")
    assert Path("forecast.jsonl").read_text() == Path("local.jsonl").read_text()


def test_advice_training_and_pools_take_traces_too(mlctl: Run, sample: Path) -> None:
    few = ("--weather", blocks(), "--start", "available", "-o", "json")
    flags = ("--files", "10", "--seconds-per-file", "1", "--runs", "10", "--vary", "tier")
    assert mlctl("advise", sample, *flags, *few).json["weather"] == "trace"
    plan = ("plan", sample, "--simulate", "--files", "10", "--seconds-per-file", "1")
    told = mlctl(*plan, "--weather", blocks(), "--runs", "10", "-o", "json").json["forecast"]
    assert told["weather"]["trace"]["points"] == EMPTY + FULL


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([0] * 9, "the trace never has a node"),
        ([1, None, 2], "no number of nodes at point 2, `null`: a trace is"),
        ([1, 2, -1], "no number of nodes at point 3, `-1`"),
        ([1.5], "no number of nodes at point 1"),
        ([], "the file is not a trace"),
        ("many", "the file is not a trace"),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(
    mlctl: Run, sample: Path, nodes: Any, why: str
) -> None:
    done = mlctl("simulate", sample, *JOB, "--weather", trace(nodes))
    assert (done.code, done.out, why in done.err) == (1, "", True), done.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"data": [1, 2]}', "the file is not a trace"),
        ('{"metadata": {"gap_seconds": 0}, "data": [1]}', "the file is not a trace"),
        ('{"metadata": {"gap', "it is not JSON"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(mlctl: Run, sample: Path, text: str, why: str) -> None:
    Path("trace.json").write_text(text)
    done = mlctl("simulate", sample, *JOB, "--weather", "trace.json")
    assert (done.code, done.out, why in done.err) == (1, "", True), done.err


def test_flags_say_where_something_begins_that_is_there(mlctl: Run, sample: Path) -> None:
    for flags, why in (
        (("--start", "any", "--start", "available"), "--start says the same twice"),
        (("--start", "noon"), "`noon` is no moment"),
        (("--start", "08:30"), "--start HH:MM is for weather that follows the hours"),
    ):
        done = mlctl("simulate", sample, *JOB, *flags)
        assert (done.code, why in done.err) == (1, True), done.err
    refused = mlctl("local", "preemption", "set", "--weather", blocks())
    assert (refused.code, "is a trace: give it by --trace" in refused.err) == (2, True)


def test_weather_of_the_hours_begins_at_the_time_of_day(mlctl: Run, sample: Path) -> None:
    """Nodes are lost in the afternoon alone."""
    hours = [0] * 12 + [1] * 12
    Path("day.json").write_text(json.dumps({"rate": 5, "by_hour": hours}))
    flags = (*AT_ONCE, *work(1, 1, 3600.0), "--weather", "day.json", "--runs", "100")
    lost = {
        start: forecast(mlctl, sample, *flags, "--policy", "once", "--start", start)["day"][
            "cancelled"
        ]["value"]
        for start in ("02:00", "14:00")
    }
    assert lost["02:00"] == 0
    assert lost["14:00"] > 0.95
