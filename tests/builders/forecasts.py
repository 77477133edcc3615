"""Forecasts from the shell, and whether a number is as near to the truth as its runs allow."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

from tests.builders.shell import Run

AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
EXACT = (
    "--setting",
    "billing_granularity_s=0",
    "--override",
    "compute.idle_time_before_scale_down=0",
)
RUNS = 2000
HOUR = 3600


def weather(file: str = "weather.json", **told: Any) -> str:
    """A file of weather, under its name."""
    Path(file).write_text(json.dumps(told))
    return file


def work(nodes: int, mini_batches: int, seconds: float) -> tuple[str, ...]:
    """Mini-batches of one file, one at a time on each node, that no timeout ends."""
    deployment = {
        "resources.instance_count": nodes,
        "settings.mini_batch_size": 1,
        "settings.max_concurrency_per_instance": 1,
        "settings.retry_settings.timeout": 10_000_000,
    }
    flags = [f"batch-deployment.{name}={value}" for name, value in deployment.items()]
    flags.append(f"compute.max_instances={nodes}")
    overrides = (part for flag in flags for part in ("--override", flag))
    return (*overrides, "--files", str(mini_batches), "--seconds-per-mini-batch", str(seconds))


def forecast(mlctl: Run, sample: Path, *flags: str) -> dict[str, Any]:
    """The rows of a forecast by name, of the sample's deployment."""
    done = mlctl("simulate", sample, *flags, "-o", "json")
    assert done.code == 0, done.err
    return {row["name"]: row for row in done.json["rows"]}


def near(found: float, truth: float, spread: float, runs: int = RUNS) -> bool:
    """Whether a mean of so many runs of this standard deviation is within z < 4 of the truth."""
    return abs(found - truth) < 4 * spread / sqrt(runs)


def runs(count: int = RUNS) -> tuple[str, ...]:
    return ("--runs", str(count), "--tier", "low_priority")
