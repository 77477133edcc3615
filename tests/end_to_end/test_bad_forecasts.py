"""What no forecast can be made of: a sentence with its place where it has one, and exit code 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.paths import ROOT
from tests.builders.shell import Run, edit

WORK = ("--files", "100", "--seconds-per-file", "8")
STEPS = ("--steps", "100", "--seconds-per-step", "60", "--runs", "5")
TRAINING = (ROOT / "samples/training/job.yml", ROOT / "samples/training/cluster.yml")


def refused(mlctl: Run, *flags: str | Path) -> str:
    done = mlctl(*flags)
    assert done.code == 1, done.out
    assert "Traceback" not in done.err
    assert "bug in mlctl" not in done.err
    return done.err


@pytest.mark.parametrize("verb", ["simulate", "advise"])
@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--files", "0", "--seconds-per-file", "8"), "the number of files must be 1 or more"),
        (("--files", "10", "--seconds-per-file", "0"), "the duration of the work"),
        (("--files", "10", "--seconds-per-file", "inf"), "`seconds_per_file` must"),
        (("--files", "10", "--seconds-per-file", "1e300"), "no job is forecast for more than 90"),
        ((*WORK, "--price", "inf"), "the price of an hour must be a number, not inf"),
        ((*WORK, "--delay-cv", "inf"), "delay_cv must be between 0 and 1000, not inf"),
        ((*WORK, "--deadline", "2m"), "is over before the first node is ready, after 240 s"),
        ((*WORK, "--override", "compute.size=Standard_Q9_v7"), "the price of `Standard_Q9_v7`"),
    ],
)
def test_a_batch_job_that_cannot_be_forecast_is_a_sentence(
    mlctl: Run, sample: Path, verb: str, flags: tuple[str, ...], why: str
) -> None:
    assert why in refused(mlctl, verb, sample, *flags)


@pytest.mark.parametrize("verb", ["simulate", "advise"])
def test_a_missing_cluster_is_named_at_the_place_that_names_it(
    mlctl: Run, sample: Path, verb: str
) -> None:
    told = refused(mlctl, verb, sample / "deployment.yml", *WORK)
    assert "deployment.yml:7:10: the cluster low-pri-cluster is neither in the files nor" in told


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"rate": "many"}, "`rate` must be a number, 0 or more, at most 60"),
        ({"rate": 1e9}, "`rate` must be a number, 0 or more, at most 60"),
        ({"shocks": {"per_hour": 0, "fraction": 1}}, "`per_hour` must be a number, more than 0"),
        ({"shocks": {"per_hour": 1, "fraction": 0}}, "`fraction` must be a number, more than 0"),
        ({"outages": {"per_hour": 1, "mean_h": 0}}, "`mean_h` must be a number, more than 0"),
        ({"rate": 1, "by_hour": [0] * 24}, "and not all of them 0"),
        ({"gap_seconds": 60, "data": [0, 0, 0]}, "trace"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("simulate", ROOT / "samples/low-priority-batch", *WORK),
        ("advise", ROOT / "samples/low-priority-batch", *WORK),
        ("simulate", "training", *TRAINING, *STEPS),
    ],
    ids=["simulate", "advise", "training"],
)
def test_weather_that_cannot_be_is_a_sentence(
    mlctl: Run, command: tuple[str | Path, ...], told: dict[str, object], why: str
) -> None:
    Path("weather.json").write_text(json.dumps(told))
    assert why in refused(mlctl, *command, "--weather", "weather.json")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--seconds-per-step", "1"), "the amount of work is unknown: give --steps"),
        (("--steps", "10"), "the duration of a step is unknown"),
        ((*STEPS, "--override", "job.limits.timeout=60"), "limits.timeout ends the job after 60 s"),
        ((*STEPS, "--override", "job.resources.instance_count=99"), "it would never start"),
        ((*STEPS, "--seconds-to-restore", "1e300"), "no job is forecast for more than 90 days"),
        ((*STEPS, "--price", "inf"), "the price of an hour must be a number"),
        ((*STEPS, "--delay-cv", "inf"), "delay_cv must be between 0 and 1000"),
    ],
)
def test_a_training_job_that_cannot_be_forecast_is_a_sentence(
    mlctl: Run, flags: tuple[str, ...], why: str
) -> None:
    assert why in refused(mlctl, "simulate", "training", *TRAINING, *flags)


def test_a_quota_that_no_configuration_fits_is_told_at_the_nodes_of_the_cluster(
    mlctl: Run, sample: Path
) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "3", "--dedicated-cores", "3")
    told = refused(mlctl, "advise", sample, *WORK)
    assert "low-pri-cluster.yml:6:16: no configuration fits the quota of local/local" in told
    assert "allows 3 low-priority cores" in told


def test_a_job_that_is_never_done_is_late_whatever_the_deadline(mlctl: Run, sample: Path) -> None:
    Path("storm.json").write_text(json.dumps({"shocks": {"per_hour": 60, "fraction": 1}}))
    edit(sample / "deployment.yml", "timeout: 300", "timeout: 3000")
    flags = ("--files", "4", "--seconds-per-file", "900", "--runs", "3", "--weather", "storm.json")
    line = ("simulate", sample, *flags, "--policy", "once", "--deadline", "300d", "-o", "json")
    (row,) = (one for one in mlctl(*line).json["rows"] if one["name"] == "storm")
    assert (row["until_done"]["not_done"], row["late"]["value"]) == (3, 1)
    assert row["until_done"]["cost"]["value"] == row["until_done"]["spent"]  # of the one run
    told = mlctl(*line[:-2]).out
    assert "the job is not done by day 90 in > 37 % of the cases (spent so far: 0.00" in told
    assert "P(not done)" in told
    assert "done after 90d" not in told


@pytest.mark.slow
def test_jobs_that_never_end_are_counted_and_the_forecast_does(mlctl: Run, sample: Path) -> None:
    """A shock a minute that takes all nodes: no work of half an hour is ever done."""
    Path("storm.json").write_text(json.dumps({"shocks": {"per_hour": 60, "fraction": 1}}))
    edit(sample / "deployment.yml", "timeout: 300", "timeout: 3000")
    storm = ("--weather", "storm.json", "--tier", "low_priority", "-o", "json")
    work = ("--files", "4", "--seconds-per-file", "900", "--runs", "3")
    batch = mlctl("simulate", sample, *work, *storm).json["rows"][1]
    assert batch["until_done"]["not_done"] == batch["runs"] == 3
    training = mlctl("simulate", "training", *TRAINING, *STEPS, *storm).json
    assert training["rows"][1]["cancelled"]["value"] == 1
    assert training["intervals"] is None
