"""`mlctl plan --simulate`, from the shell: what a plan says of the jobs that it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders.forecasts import forecast
from tests.builders.shell import Run, edit

WORK = ("--files", "5000", "--seconds-per-file", "8", "--runs", "50")
NAME = "batch-deployment/heart-classifier-batch/classifier-xgboost"


def told(mlctl: Run, *flags: str | Path) -> Any:
    done = mlctl("plan", *flags, "--simulate", *WORK, "-o", "json")
    assert done.code == 0, done.err
    return done.json["forecast"]


def widened(sample: Path) -> Path:
    """The sample with eight nodes for two."""
    edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 8")
    edit(sample / "deployment.yml", "instance_count: 2", "instance_count: 8")
    return sample


def test_a_plan_ends_with_the_forecast_that_simulate_makes(mlctl: Run, sample: Path) -> None:
    [one] = told(mlctl, sample)["deployments"]
    row = forecast(mlctl, sample, *WORK)["aws-v100-2023"]
    assert (one["deployment"], one["now"], one["error"]) == (NAME, None, None)
    for name in ("until_done", "cancelled"):
        assert one["planned"][name] == row[name]


def test_a_change_stands_beside_what_is_there_now(mlctl: Run, sample: Path) -> None:
    assert mlctl("apply", sample, "--yes").code == 0
    before = forecast(mlctl, sample, *WORK)["aws-v100-2023"]
    [one] = told(mlctl, widened(sample))["deployments"]
    assert (one["planned"]["nodes"], one["now"]["nodes"]) == (8, 2)
    assert one["now"]["until_done"] == before["until_done"]
    means = [one[side]["until_done"]["if_available"]["time_s"] for side in ("planned", "now")]
    assert means[0]["value"] < 4000 < means[1]["value"]
    assert one["now"]["until_done"]["time_s"]["value"] > 9000


def test_a_change_of_the_cluster_alone_changes_the_forecast_too(mlctl: Run, sample: Path) -> None:
    assert mlctl("apply", sample, "--yes").code == 0
    assert told(mlctl, sample)["deployments"] == []
    edit(sample / "low-pri-cluster.yml", "tier: low_priority", "tier: dedicated")
    [one] = told(mlctl, sample)["deployments"]
    assert (one["planned"]["tier"], one["now"]["tier"]) == ("dedicated", "low_priority")


def test_people_read_a_table_and_pull_requests_another(mlctl: Run, sample: Path) -> None:
    assert mlctl("apply", sample, "--yes").code == 0
    plan = ("plan", widened(sample), "--simulate", *WORK)
    lines = mlctl(*plan).out.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("Forecast"))
    assert lines[head + 1] == f"  {NAME}"
    assert lines[head + 2].split()[:4] == ["as", "planned", "8", "low_priority"]
    assert lines[head + 3].split()[:3] == ["now", "2", "low_priority"]
    assert max(map(len, lines[head:])) <= 100
    table = [line for line in mlctl(*plan, "-o", "markdown").out.splitlines() if NAME in line]
    assert f"| `{NAME}` now | 2 low_priority |" in table[-1]
    assert mlctl("plan", sample / "model.yml", "--simulate", *WORK).out.endswith(
        "Forecast: the plan changes no deployment that scores files.\n"
    )


def test_what_cannot_be_forecast_leaves_the_plan_as_it_is(mlctl: Run, sample: Path) -> None:
    slow = ("--simulate", "--files", "9", "--seconds-per-file", "1000")
    done = mlctl("plan", sample, *slow)
    assert done.code == 0
    assert "Plan: 4 to add" in done.out
    assert "no forecast of" in done.out
    assert "deployment.yml:17:14: a mini-batch takes 2000 s" in done.out
    assert "no forecast of" in mlctl("plan", sample, *slow, "-o", "markdown").out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--files", "9"), "--files is about a forecast: add --simulate"),
        (("--simulate",), "--simulate needs --files N"),
        (("--simulate", "--files", "9"), "--simulate needs --seconds-per-file S"),
        (("--simulate", "--destroy"), "--simulate and --destroy exclude each other"),
        (("--simulate", *WORK, "--weather", "nowhere"), "nowhere"),
    ],
)
def test_flags_that_make_no_sense_are_refused(
    mlctl: Run, sample: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("plan", sample, *flags)
    assert (done.code, done.out, why in done.err) == (1, "", True), done.err
