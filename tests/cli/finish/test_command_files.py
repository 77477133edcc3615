"""`mlctl finish PATH`: files as they will be applied; and deadlines that are dates."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.builders.shell import Run

WORK = ("--files", "20", "--seconds-per-file", "60", "--shards", "2", "--policy", "remaining")


def test_files_are_applied_and_their_deployment_takes_the_job(mlctl: Run, sample: Path) -> None:
    done = mlctl("finish", sample, *WORK, "--name", "night", "--yes")
    assert done.code == 0, done.err
    assert done.out.index("Apply complete!") < done.out.index("20 files in 2 shards")
    assert "on heart-classifier-batch/classifier-xgboost" in done.out
    assert done.out.splitlines()[-1].startswith("night: done; 2 of 2 shards")
    again = mlctl("finish", sample, *WORK, "--name", "again", "--yes")
    assert again.code == 0, again.err
    assert again.err.count("local backend") == 1


def test_work_of_unknown_duration_is_refused_before_files_are_applied(
    mlctl: Run, sample: Path
) -> None:
    done = mlctl("finish", sample, "--files", "20", "--yes")
    assert (done.code, "the duration of the work is unknown" in done.err) == (1, True)
    assert not mlctl("compute", "list", "-o", "json").json


def test_it_asks_for_the_plan_before_anything_is_written(mlctl: Run, sample: Path) -> None:
    done = mlctl("finish", sample, *WORK, "--name", "night")
    assert done.code == 1
    assert "cannot ask for approval here" in done.err
    assert "batch-deployment/heart-classifier-batch/classifier-xgboost" in done.out
    assert "By the policy" not in done.out
    assert not mlctl("compute", "list", "-o", "json").json


@pytest.mark.parametrize(
    ("name", "says"),
    [("empty", "the input `empty` has no files"), ("nowhere", "there is no input `nowhere`")],
)
def test_an_input_that_is_not_there_is_refused_before_files_are_applied(
    mlctl: Run, sample: Path, name: str, says: str
) -> None:
    Path("empty").mkdir()
    done = mlctl("finish", sample, "--input", f"./{name}", "--seconds-per-file", "60", "--yes")
    assert (done.code, says in done.err) == (1, True), done.err
    assert not mlctl("compute", "list", "-o", "json").json


def test_files_without_a_deployment_are_refused(mlctl: Run, sample: Path) -> None:
    done = mlctl("finish", sample / "low-pri-cluster.yml", *WORK, "--yes")
    assert done.code == 1
    assert "the files declare 0 batch deployments (none); choose one with -n ENDPOINT" in done.err


@pytest.mark.parametrize(
    ("date", "seconds"),
    [("2026-01-01 06:00+00:00", 6 * 3600.0), ("2026-01-01T07:30+02:00", 5.5 * 3600.0)],
)
def test_a_deadline_may_be_a_date(mlctl: Run, sample: Path, date: str, seconds: float) -> None:
    assert mlctl("apply", sample, "--yes").code == 0
    line = ("finish", "-n", "heart-classifier-batch", *WORK, "--name", "night", "--yes")
    assert mlctl(*line, "--deadline", date).code == 0
    shown = mlctl("finish", "show", "night", "-o", "json").json
    assert shown["began"] + shown["deadline_s"] == pytest.approx(seconds, abs=1)


def test_a_date_without_a_zone_is_of_this_machine(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    assert mlctl("apply", sample, "--yes").code == 0
    line = ("finish", "-n", "heart-classifier-batch", *WORK, "--name", "night", "--yes")
    assert mlctl(*line, "--deadline", "2026-01-01 06:00").code == 0
    shown = json.loads(mlctl("finish", "show", "night", "-o", "json").out)
    assert shown["began"] + shown["deadline_s"] == pytest.approx(11 * 3600.0, abs=1)
    monkeypatch.undo()
    time.tzset()


def test_a_date_that_has_passed_is_refused(mlctl: Run, sample: Path) -> None:
    assert mlctl("apply", sample, "--yes").code == 0
    line = ("finish", "-n", "heart-classifier-batch", *WORK, "--name", "night", "--yes")
    done = mlctl(*line, "--deadline", "2025-11-24 06:00")
    assert done.code == 1
    assert "`2025-11-24 06:00` is in the past" in done.err
