"""Forecasts from the shell, and whether a number is as near to the truth as its runs allow."""

from __future__ import annotations

import json
import os
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
    assert done.code in (0, 5), done.err  # 5: a limit is not kept, which is said of it
    return {row["name"]: row for row in done.json["rows"]}


def near(found: float, truth: float, spread: float, runs: int = RUNS) -> bool:
    """Whether a mean of so many runs of this standard deviation is within z < 4 of the truth."""
    return _noted(found, truth, abs(found - truth) / (spread / sqrt(runs))) < 4


def far(of: dict[str, float], truth: float) -> float:
    """How many standard errors, by the interval that the forecast tells, the truth is away."""
    error = max((of["high"] - of["low"]) / 3.92, 1e-9)
    return _noted(of["value"], truth, abs(of["value"] - truth) / error)


def same(found: float, truth: float) -> bool:
    """Whether a number without any chance in it is the true one."""
    return _noted(found, truth, abs(found - truth) / max(abs(truth) * 1e-9, 1e-9)) < 1


def noted_share(hits: int, count: int) -> float:
    """A share of intervals that hold the truth, beside the one that they promise."""
    share = hits / count
    _noted(share, 0.95, abs(share - 0.95) / sqrt(0.95 * 0.05 / count))
    return share


def _noted(found: float, truth: float, z: float) -> float:
    """`z`; the numbers become a row of the table in the file that `FORECAST_TABLE` names."""
    file = os.environ.get("FORECAST_TABLE")
    if file:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[2].partition(" (")[0]
        words = test.removeprefix("test_").replace("_", " ")
        with Path(file).open("a") as table:
            table.write(f"| {words} | {truth:.7g} | {found:.7g} | {z:.2f} |\n")
    return z


def runs(count: int = RUNS) -> tuple[str, ...]:
    return ("--runs", str(count), "--tier", "low_priority")
