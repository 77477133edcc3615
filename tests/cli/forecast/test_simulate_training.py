"""`mlctl simulate training`, from the shell: against closed forms at fixed seeds."""

from __future__ import annotations

import csv
import io
import json
from math import expm1
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlctl.forecast.training import study as training
from mlctl.forecast.training.study import TrainingStudy
from mlctl.render.forecast import training as training_forecast
from tests.builders.forecasts import far
from tests.builders.paths import ROOT
from tests.builders.shell import Run

HOUR = 3600
AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
EXACT = (
    *("--setting", "billing_granularity_s=0"),
    *("--override", "job.limits.timeout=1000000000"),
    *("--override", "compute.idle_time_before_scale_down=0"),
    *("--price", "1", "--low-priority-ratio", "0.2"),
)
WORK = ("--steps", "100", "--seconds-per-step", "60")
RUNS = 2000


@pytest.fixture
def files() -> tuple[Path, Path]:
    return ROOT / "samples/training/job.yml", ROOT / "samples/training/cluster.yml"


def weather(**told: Any) -> tuple[str, str]:
    """A file of weather that is named by a flag."""
    Path("weather.json").write_text(json.dumps({"name": "mine", **told}))
    return "--weather", "weather.json"


def forecast(mlctl: Run, files: tuple[Path, Path], *flags: str) -> dict[str, Any]:
    done = mlctl("simulate", "training", *files, *EXACT, *flags, "-o", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


def rows(found: dict[str, Any]) -> dict[str, Any]:
    return {f"{row['name']}/{row['checkpoint_every']}": row for row in found["rows"]}


@pytest.mark.slow
def test_steps_without_checkpoints_take_as_long_as_the_closed_form_says(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    flags = (*WORK, *AT_ONCE, *weather(rate=0.5), "--runs", str(RUNS), "--seed", "3")
    row = rows(forecast(mlctl, files, *flags))["mine/0"]
    truth = expm1(0.5 * 100 / 60) / 0.5 * HOUR
    assert truth / 60 == pytest.approx(156.117, abs=1e-3)
    assert row["exact"]["time_s"] == pytest.approx(truth)
    assert row["exact"]["points"] == pytest.approx(155.4675, abs=1e-4)
    assert far(row["time_s"]["mean"], truth) < 4
    assert far(row["points"], 155.4675) < 4
    assert far(row["cost"], truth / HOUR * 0.2) < 4
    assert far(row["interruptions"], expm1(0.5 * 100 / 60)) < 4


@pytest.mark.slow
def test_checkpoints_a_restore_and_the_way_to_a_node_are_in_both(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    flags = (*WORK, *weather(rate=0.8), "--runs", str(RUNS), "--checkpoint-every", "10")
    more = ("--seconds-per-checkpoint", "30", "--seconds-to-restore", "90", "--seed", "5")
    row = rows(forecast(mlctl, files, *flags, *more))["mine/10"]
    exact = row["exact"]
    assert far(row["time_s"]["mean"], exact["time_s"]) < 4
    assert far(row["points"], exact["points"]) < 4
    assert far(row["cost"], exact["cost"]) < 4
    assert far(row["interruptions"], exact["interruptions"]) < 4


@pytest.mark.slow
def test_checkpoints_that_cost_nothing_leave_as_many_points_as_counting_says(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    flags = (*WORK, *AT_ONCE, *weather(rate=0.5), "--runs", str(RUNS), "--checkpoint-every", "10")
    row = rows(forecast(mlctl, files, *flags))["mine/10"]
    assert row["exact"]["points"] == pytest.approx(103.8509, abs=1e-4)
    assert far(row["points"], 103.8509) < 4


def test_without_losses_nothing_is_repeated(mlctl: Run, files: tuple[Path, Path]) -> None:
    found = rows(forecast(mlctl, files, *WORK, "--checkpoint-every", "25", "--runs", "3"))
    for name in ("calm/25", "dedicated/25"):
        assert found[name]["time_s"]["mean"]["value"] == 180 + 60 + 6000
        assert (found[name]["repeated_points"], found[name]["points"]["value"]) == (0, 100)
    assert found["dedicated/25"]["cost"]["value"] == pytest.approx(6060 / HOUR)
    assert found["calm/25"]["cost"]["value"] == pytest.approx(6060 / HOUR * 0.2)


def test_the_best_interval_stands_beside_young_s_and_daly_s(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    """Steps of 1 s and checkpoints of 10 s at 0.2 an hour: 593.35 in closed form, Young's 600."""
    work = ("--steps", "60000", "--seconds-per-step", "1", "--seconds-per-checkpoint", "10")
    found = forecast(mlctl, files, *work, *AT_ONCE, *weather(rate=0.2), "--runs", "2")
    told = found["intervals"]
    every = {one["name"]: one["checkpoint_every"] for one in told["rows"]}
    assert told["exact"]
    assert every["Young"] == 600
    assert every["Daly"] == pytest.approx(593.35, abs=1)
    assert every["best"] == pytest.approx(593.35, abs=10)
    assert min(one["saves_s"]["value"] for one in told["rows"] if one["saves_s"]) >= 0


def test_losses_that_come_together_are_tried_by_the_engine(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    shared = weather(shocks={"per_hour": 0.5, "fraction": 1})
    flags = ("--checkpoint-every", "50", "--seconds-per-checkpoint", "30", "--runs", "100")
    told = forecast(mlctl, files, *WORK, *flags, *shared)["intervals"]
    assert not told["exact"]
    assert told["why_not"] == "losses that are shared"
    assert {one["name"] for one in told["rows"]} == {"best", "Young", "Daly", "given", "none"}
    none = next(one for one in told["rows"] if one["name"] == "none")
    assert none["saves_s"]["low"] > 0


def test_a_limit_of_time_cancels(mlctl: Run, files: tuple[Path, Path]) -> None:
    limit = ("--override", "job.limits.timeout=6100", "--runs", "200")
    row = rows(forecast(mlctl, files, *WORK, *weather(rate=0.5), *limit))["mine/0"]
    assert row["exact"] is None
    truth = 1 - 2.718281828 ** (-0.5 * 6000 / HOUR)  # one loss is one too many
    assert row["cancelled"]["low"] < truth < row["cancelled"]["high"]


def test_a_serverless_job_has_nodes_of_its_own(mlctl: Run) -> None:
    spot = ROOT / "samples/training/spot-job.yml"
    prices = ("--price", "1", "--low-priority-ratio", "0.2")
    done = mlctl("simulate", "training", spot, *WORK, *prices, "--runs", "5", "-o", "json")
    assert done.code == 0, done.err
    assert done.json["scenario"]["cluster"] == "serverless"
    calm = next(row for row in done.json["rows"] if row["name"] == "calm")
    assert calm["cost"]["value"] == pytest.approx(6060 / HOUR * 0.2)


@pytest.mark.slow
def test_one_seed_is_one_forecast_whoever_works_at_it(mlctl: Run, files: tuple[Path, Path]) -> None:
    flags = (*WORK, "--runs", "300", "--price", "1")
    one, two = (
        mlctl("simulate", "training", *files, *flags, "--workers", str(count), "-o", "json").out
        for count in (1, 2)
    )
    assert one == two


def test_a_forecast_is_a_table_for_people_and_for_spreadsheets(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    flags = (*WORK, "--checkpoint-every", "0", "--checkpoint-every", "10", "--runs", "20")
    told = mlctl("simulate", "training", *files, *flags, "--price", "1")
    assert "checkpoint intervals in aws-v100-2023" in told.out
    assert "100 steps of 60s, on 1 node of Standard_D4s_v3" in told.out
    done = mlctl("simulate", "training", *files, *flags, "--price", "1", "-o", "csv")
    lines = list(csv.DictReader(io.StringIO(done.out)))
    assert [line["checkpoint_every"] for line in lines] == ["0", "10"] * 4


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--seconds-per-step", "60"), "give --steps N"),
        (("--steps", "9"), "give --seconds-per-step S"),
        (
            (*WORK, "--override", "compute.size=Standard_D4x_v5"),
            "the price of `Standard_D4x_v5` is not known",
        ),
        ((*WORK, "--price", "1", "--override", "job.limits.timeout=60"), "<command line>:1:12: "),
        (
            (*WORK, "--price", "1", "--override", "job.resources.instance_count=3"),
            "the job wants 3 nodes at once, and its cluster has 2",
        ),
    ],
)
def test_what_cannot_be_forecast_is_said_in_a_sentence(
    mlctl: Run, files: tuple[Path, Path], flags: tuple[str, ...], told: str
) -> None:
    done = mlctl("simulate", "training", *files, *flags)
    assert done.code == 1
    assert told in done.err
    assert "Traceback" not in done.err


def test_files_without_a_training_job_are_refused(mlctl: Run) -> None:
    done = mlctl("simulate", "training", ROOT / "samples/training/cluster.yml", *WORK)
    assert done.code == 1
    assert "the files declare no command job" in done.err


SCHEMA = ROOT / "schemas" / "output" / "training-forecast.schema.json"


def test_a_forecast_of_a_training_has_the_shape_of_its_schema(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    for more in ((), weather(rate=0.5), ("--tier", "dedicated")):
        found = forecast(mlctl, files, *WORK, "--runs", "5", *more)
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)


def test_a_forecast_of_a_training_is_a_page_of_its_own(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    flags = (*WORK, "--checkpoint-every", "10", "--runs", "20", *weather(rate=0.5))
    done = mlctl("simulate", "training", *files, *flags, "-o", "html")
    assert done.code == 0, done.err
    assert done.out.startswith("<!doctype html>")
    for words in ("Checkpoint intervals", "mine, checkpoint every 10", "Young", "Assumptions"):
        assert words in done.out


def stopped_after(monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    """Let Ctrl-C come while the chunk of histories after so many is carried out."""
    carried_out, left = TrainingStudy.histories, iter(range(chunks))

    def until(study: TrainingStudy, numbers: range) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return carried_out(study, numbers)

    monkeypatch.setattr(TrainingStudy, "histories", until)


def test_a_forecast_of_a_training_that_is_stopped_tells_what_it_has_learned(
    mlctl: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_after(monkeypatch, 2)
    done = mlctl("simulate", "training", *files, *WORK, "--runs", "400", "-o", "json")
    assert done.code == 1
    assert "stopped: the numbers are of the histories that were carried out" in done.err
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(done.json)
    assert [(row["name"], row["runs"]) for row in done.json["rows"]] == [("calm", 50)]
    assert done.json["intervals"] is None


def test_a_forecast_that_is_stopped_among_the_intervals_tells_its_rows(
    mlctl: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "intervals", stopped)
    done = mlctl("simulate", "training", *files, *WORK, "--runs", "5")
    assert done.code == 1
    assert "dedicated" in done.out
    assert "checkpoint intervals" not in done.out


@pytest.mark.parametrize("timeout", ["1" + 310 * "0", "1" + 400 * "0", "soon"])
def test_a_timeout_that_is_no_length_of_time_is_refused(mlctl: Run, timeout: str) -> None:
    files = [ROOT / "samples" / "training" / name for name in ("job.yml", "cluster.yml")]
    flags = ("--ignore", "MLC", "--override", f"job.limits.timeout={timeout}")
    done = mlctl("simulate", "training", *files, *WORK, *flags, "--runs", "5")
    assert (done.code, "is no length of time" in done.err) == (1, True)


def test_what_is_never_done_is_an_outcome_of_its_own_and_is_in_no_mean(
    mlctl: Run, files: tuple[Path, Path]
) -> None:
    """A step of six days, where nodes last for two hours, is not done in 90 days."""
    lossy = weather(rate=0.5)
    hopeless = ("--steps", "1", "--seconds-per-step", str(144 * HOUR), "--runs", "2")
    data = forecast(mlctl, files, *hopeless, *lossy, "--tier", "low_priority")
    row = rows(data)["mine/0"]
    assert (row["not_done"]["value"], row["cancelled"]["value"]) == (1, 0)
    assert (row["time_s"]["mean"], row["cost"], row["histogram"]) == (None, None, [])
    assert row["spent"]["value"] > 10
    text = training_forecast.human(data, width=120, color=False)
    assert "P(not done)" in text
    assert "90d" not in text


def test_a_job_beyond_its_limit_of_time_is_in_no_mean(mlctl: Run, files: tuple[Path, Path]) -> None:
    limit = ("--override", "job.limits.timeout=6100", "--runs", "200", "--tier", "low_priority")
    row = rows(forecast(mlctl, files, *WORK, *AT_ONCE, *weather(rate=0.5), *limit))["mine/0"]
    assert row["time_s"]["mean"]["value"] == pytest.approx(6000, rel=0.002)
    assert row["cost"]["value"] == pytest.approx(6000 / HOUR * 0.2, rel=0.002)
    assert row["not_done"]["value"] == 0
    assert row["spent"]["value"] == pytest.approx(6100 / HOUR * 0.2, rel=0.02)
