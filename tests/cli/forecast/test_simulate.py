"""`mlctl simulate`, from the shell: what it shows, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlctl.forecast.batch.study import Study
from tests.builders.forecasts import forecast, weather, work
from tests.builders.paths import LOW_PRIORITY, ROOT
from tests.builders.shell import Run, edit

SCHEMA = ROOT / "schemas" / "output" / "forecast.schema.json"


def test_a_cluster_beyond_the_documented_quotas_is_told(mlctl: Run) -> None:
    work = ("--files", "300", "--seconds-per-file", "8", "--runs", "2")
    line = (str(LOW_PRIORITY), *work, "--override")
    done = mlctl("simulate", *line, "compute.max_instances=900")
    assert "not 900; by the documents" in done.err
    assert "quota" not in mlctl("simulate", *line, "compute.max_instances=90").err


def test_a_forecast_has_the_shape_of_its_schema(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "100", "--seconds-per-file", "8", "--runs", "30", "--deadline", "1h")
    done = mlctl("simulate", sample, *flags, "-o", "json")
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(done.json)
    assert [row["name"] for row in done.json["rows"]] == [
        *("calm", "aws-v100-2023", "stress", "dedicated"),
    ]


def test_one_seed_is_one_forecast_whoever_works_on_it(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "60", "--seconds-per-file", "60", "--runs", "300", "-o", "json")
    alone = mlctl("simulate", sample, *flags)
    assert mlctl("simulate", sample, *flags, "--workers", "2").out == alone.out
    assert mlctl("simulate", sample, *flags, "--seed", "1").out != alone.out


def test_what_never_happened_is_never_said_to_be_impossible(mlctl: Run, sample: Path) -> None:
    rare = ("--runs", "1000", "--weather", weather(rate=1e-9))
    done = mlctl("simulate", sample, "--files", "10", "--seconds-per-file", "1", *rare)
    line = next(line for line in done.out.splitlines() if line.startswith("weather"))
    assert "< 0.3 %" in line
    assert line.count(" 0 %") == 1  # there is always a node at first


def test_what_nothing_can_cancel_has_a_chance_of_0_in_few_histories_too(
    mlctl: Run, sample: Path
) -> None:
    line = ("simulate", sample, "--files", "10", "--seconds-per-file", "1", "--runs", "3")
    for flags in ((), ("--cv", "0.5"), ("--delay-cv", "0.5")):
        rows = mlctl(*line, *flags, "-o", "json").json["rows"]
        of = {row["name"]: row["cancelled"] for row in rows}
        assert of["calm"] == of["dedicated"] == {"value": 0.0, "low": 0.0, "high": 0.0}
        assert of["stress"]["high"] > 0.5
    calm = next(line for line in mlctl(*line).out.splitlines() if line.startswith("calm"))
    assert " 0 %  " in calm
    late = mlctl(*line, "--deadline", "242s").out.splitlines()
    assert next(line for line in late if line.startswith("calm")).count("100 %") == 1


def test_rows_are_a_table_for_a_spreadsheet_too(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "10", "--seconds-per-file", "1", "--runs", "20", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(mlctl("simulate", sample, *flags).out)))
    assert [row["name"] for row in rows] == ["calm", "aws-v100-2023", "stress", "dedicated"]
    assert float(rows[0]["completion_s_p50"]) == float(rows[0]["completion_s_p50_high"])


def test_a_forecast_says_what_it_assumes_and_where_that_is_from(mlctl: Run, sample: Path) -> None:
    told = mlctl("simulate", sample, "--files", "10", "--seconds-per-file", "1", "--runs", "20").out
    assert "A allocation_s 180:" in told
    assert "D low_priority_price 0.03223: USD for an hour of a Spot VM, which moves" in told
    flags = ("--files", "10", "--seconds-per-file", "1", "--runs", "20")
    told = mlctl("simulate", sample, *flags, "--low-priority-ratio", "0.5").out
    assert "A low_priority_price 0.1465: --low-priority-ratio 0.5 of the dedicated" in told


def refused(mlctl: Run, *flags: str | Path) -> str:
    done = mlctl("simulate", *flags)
    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err
    return done.err


FILES = ("--files", "10", "--seconds-per-file", "8")


def test_a_timeout_that_ends_every_attempt_is_refused(mlctl: Run, sample: Path) -> None:
    edit(sample / "deployment.yml", "timeout: 300", "timeout: 10")
    told = refused(mlctl, sample, *FILES)
    assert "sample/deployment.yml:17:14: a mini-batch takes 16 s, and its timeout of 10 s" in told
    assert "mini_batch_size of 1 or less" in told


def test_a_cluster_that_is_nowhere_is_refused(mlctl: Run, sample: Path) -> None:
    told = refused(mlctl, sample / "deployment.yml", *FILES)
    assert "deployment.yml:7:10: the cluster low-pri-cluster is neither in the files nor in" in told


def test_a_price_that_nobody_knows_is_refused(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "STANDARD_DS3_v2", "Standard_Q9_v7")
    assert "low-pri-cluster.yml:4:7: the price of `Standard_Q9_v7`" in refused(
        mlctl, sample, *FILES
    )
    assert "the Spot price of `Standard_Q9_v7` is unknown in eastus: give --spot-price" in refused(
        mlctl, sample, *FILES, "--price", "1"
    )
    stated = ("--price", "1", "--low-priority-ratio", "0.3")
    assert mlctl("simulate", sample, *FILES, *stated, "--runs", "5").code == 0


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((), "the amount of work is unknown"),
        (("--files", "0", "--seconds-per-file", "1"), "the number of files must be 1 or more"),
        (("--files", "10"), "the duration of the work is unknown"),
        ((*FILES, "--mini-batches", "3"), "exclude each other"),
        ((*FILES, "--policy", "hope"), "`hope` is not a policy; use resubmit"),
        ((*FILES, "--policy", "deadline"), "--policy deadline needs a --deadline"),
        ((*FILES, "--deployment", "batch-deployment/a/b"), "no deployment batch-deployment/a/b"),
        ((*FILES, "--override", "compute.max=8"), "max"),
        ((*FILES, "--deadline", "2m"), "the deadline of 120 s is over before the first node"),
        ((*FILES, "--weather", "nowhere.json"), "nowhere.json"),
        ((*FILES, "--setting", "alloc=1"), "There is no setting `alloc`"),
        ((*FILES, "--override", "compute.max_instances=0"), "The most nodes that the cluster"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_a_sentence(
    mlctl: Run, sample: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("simulate", sample, *flags)
    assert done.code == 1
    assert why in done.err + done.out


@pytest.mark.parametrize("value", ["0", "-1", "1" + 30 * "0", "many"])
@pytest.mark.parametrize(
    "field",
    [
        "compute.max_instances",
        "batch-deployment.resources.instance_count",
        "batch-deployment.settings.mini_batch_size",
        "batch-deployment.settings.max_concurrency_per_instance",
    ],
)
def test_a_number_that_cannot_be_is_refused_where_the_rules_are_left_out_too(
    mlctl: Run, sample: Path, field: str, value: str
) -> None:
    flags = (*FILES, "--runs", "5", "--ignore", "MLC", "--override", f"{field}={value}")
    if value == "many":
        assert mlctl("simulate", sample, *flags).code == 0
    else:
        assert f"for a forecast, `{field.rpartition('.')[2]}` must" in refused(
            mlctl, sample, *flags
        )


def test_a_price_that_no_sum_can_hold_is_refused(mlctl: Run, sample: Path) -> None:
    stated = ("--price", "1e308", "--low-priority-ratio", "1")
    assert "must be 1e+09 USD at most" in refused(mlctl, sample, *FILES, *stated)
    advised = mlctl("advise", sample, *FILES, *stated)
    assert (advised.code, "must be 1e+09 USD at most" in advised.err) == (1, True)


def test_a_trace_of_zeros_is_refused(mlctl: Run, sample: Path) -> None:
    Path("times.json").write_text("[0, 0]")
    told = refused(mlctl, sample, "--files", "10", "--trace", "times.json")
    assert "the trace of service times has only zeros" in told


def test_a_forecast_is_a_page_of_its_own(mlctl: Run, sample: Path) -> None:
    done = mlctl("simulate", sample, *work(2, 8, 600), "--runs", "20", "-o", "html")
    assert done.code == 0, done.err
    assert done.out.startswith("<!doctype html>")
    for words in ("P(cancelled)", "Done by when", "What it costs until done", "Assumptions"):
        assert words in done.out
    assert done.out.count('<div class="lanes">') == 2


def test_the_history_of_a_forecast_is_that_of_the_local_cloud(mlctl: Run, sample: Path) -> None:
    storm = weather(rate=2.0, shocks={"per_hour": 1.0, "fraction": 0.6})
    flags = ("--files", "300", "--seconds-per-mini-batch", "60")
    told = ("--weather", storm, "--runs", "3", "--seed", "7", "--run", "2")
    mlctl("simulate", sample, *flags, *told, "--events", "forecast.jsonl")
    mlctl("local", "reset", "--seed", "7/2", "--yes")
    mlctl("apply", sample, "--yes")
    mlctl("local", "preemption", "set", "--weather", storm)
    work = (*flags, "--job-name", "forecast")
    mlctl("batch-endpoint", "invoke", "-n", "heart-classifier-batch", *work)
    mlctl("job", "stream", "-n", "forecast", "--events", "local.jsonl")
    assert '"PREEMPT"' in Path("local.jsonl").read_text()
    assert Path("forecast.jsonl").read_bytes() == Path("local.jsonl").read_bytes()


def test_a_forecast_says_what_it_hangs_on(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "100", "--seconds-per-file", "60", "--runs", "40", "--sensitivity")
    data = mlctl("simulate", sample, *flags, "-o", "json").json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(data)
    rows = {row["name"]: row for row in data["sensitivity"]}
    assert {"shocks", "outages", "cv", "low_priority_price", "single_node"} <= {*rows}
    ratio = rows["low_priority_price"]
    assert ratio["high"]["cost"] == pytest.approx(4 * ratio["low"]["cost"])
    assert ratio["high"]["cost_difference"]["low"] > 0
    told = mlctl("simulate", sample, *flags).out
    assert "Besides the price of low priority the cost depends most on " in told
    assert "low_priority_price" not in told.split("depends most on")[1].split(".\n")[0]
    assert "What it depends on" in mlctl("simulate", sample, *flags, "-o", "html").out


def test_policies_stand_beside_each_other(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "100", "--seconds-per-file", "60", "--runs", "300", "--deadline", "3h")
    names = ("resubmit", "once", "fallback:2", "deadline", "remaining", "dedicated")
    plans = (part for name in names for part in ("--policy", name))
    rows = forecast(mlctl, sample, *flags, *plans)
    of = {name: rows[f"aws-v100-2023, {name}"] for name in names[1:-1]}
    of["resubmit"] = rows["aws-v100-2023"]
    assert of["deadline"]["late"]["value"] == 0
    assert of["once"]["until_done"]["not_done"] > 0
    assert (
        of["remaining"]["until_done"]["cost"]["value"]
        <= of["resubmit"]["until_done"]["cost"]["value"]
    )
    assert (
        of["fallback:2"]["until_done"]["cost"]["value"] < rows["dedicated"]["cost"]["mean"]["value"]
    )


def test_a_job_that_fails_says_so_beside_what_is_cancelled(mlctl: Run, sample: Path) -> None:
    size = "  mini_batch_size: 2\n"
    edit(sample / "deployment.yml", size, f"{size}  error_threshold: 0\n")
    flags = ("--files", "20", "--seconds-per-file", "1", "--runs", "20", "--sensitivity")
    line = ("simulate", sample, *flags, "--fail-probability", "1")
    done = mlctl(*line)
    assert "P(failed)  P(not done)" in done.out
    assert "Dedicated, it is not done by day 90" in done.out
    data = mlctl(*line, "-o", "json").json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(data)
    assert {row["failed"]["value"] for row in data["rows"]} == {1.0}
    ends = [row[end] for row in data["sensitivity"] for end in ("low", "high")]
    assert {end["p_not_done"]["value"] for end in ends} == {1.0}
    assert "P(not done)" in done.out.split("what it depends on")[1]
    for output in ("html", "csv"):
        assert mlctl(*line, "-o", output).code == 0


@pytest.mark.slow
def test_as_many_runs_as_the_precision_needs(mlctl: Run, sample: Path) -> None:
    flags = ("--files", "100", "--seconds-per-file", "60", "--precision", "0.03")
    rows = forecast(mlctl, sample, *flags, "--tier", "low_priority")
    for row in rows.values():
        found = row["cancelled"]
        assert found["high"] - found["value"] <= 0.03
    assert rows["stress"]["runs"] > rows["calm"]["runs"]


ROWS = ["calm ", "aws-v100-2023 ", "stress ", "dedicated "]


@pytest.mark.parametrize(("chunk", "shown"), [(2, 1), (40, 4)])
@pytest.mark.parametrize("output", ["human", "html", "csv"])
def test_a_forecast_that_is_stopped_tells_what_it_has_learned(
    mlctl: Run,
    sample: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    chunk: int,
    shown: int,
    output: str,
) -> None:
    stop_at(monkeypatch, chunk)
    flags = ("--files", "60", "--seconds-per-file", "60", "-o", output)
    done = mlctl("simulate", sample, *flags)
    assert done.code == 1
    assert "stopped: the numbers are those of the histories simulated" in done.err
    table = re.sub("[,<]", " ", done.out.split("ssumptions")[0]).replace("p_dedicated", "")
    assert [name for name in ROWS if name in table] == ROWS[:shown]


def test_a_study_stopped_at_what_it_hangs_on_tells_the_rest(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(monkeypatch, 45)
    flags = ("--files", "60", "--seconds-per-file", "60", "--runs", "50", "--sensitivity")
    done = mlctl("simulate", sample, *flags)
    assert done.code == 1
    assert "stopped: the numbers are those of the histories simulated" in done.err
    assert "Dedicated takes" in done.out
    assert "What it depends on" not in done.out


def stop_at(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """Press Ctrl-C when so many pieces of studies have begun."""
    carried_out, chunks = Study.histories, list[range]()

    def stopped(study: Study, numbers: range) -> Any:
        chunks.append(numbers)
        if len(chunks) == chunk:
            raise KeyboardInterrupt
        return carried_out(study, numbers)

    monkeypatch.setattr(Study, "histories", stopped)


@pytest.mark.slow
def test_ctrl_c_of_a_forecast_by_workers_tells_what_it_has_learned_and_leaves_none(
    sample: Path, tmp_path: Path
) -> None:
    flags = ("--files", "60", "--seconds-per-file", "60", "--runs", "1000000", "--workers", "2")
    words = (sys.executable, "-m", "mlctl", "simulate", str(sample), *flags)
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        process = subprocess.Popen(words, stdout=out, stderr=err, start_new_session=True)
    workers: list[int] = []
    while sum(map(seconds_of, workers)) < 1:  # several pieces are carried out in that time
        time.sleep(0.01)
        workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(60) == 1
    told = (tmp_path / "err").read_text()
    assert "the numbers are those of the histories simulated until then" in told
    assert "Traceback" not in told
    assert "dedicated" in (tmp_path / "out").read_text()
    assert not any(Path(f"/proc/{one}").exists() for one in workers)


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def seconds_of(process: int) -> float:
    """The time of the processor that a process has taken."""
    user, system = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


LIMITED = ("--files", "60", "--seconds-per-file", "60", "--runs", "100")


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (("--max-cost", "0.0001"), "USD until it is done; 0.0001 USD are allowed"),
        (("--deadline", "15m"), "it misses the deadline in 100% of cases"),
    ],
)
def test_a_job_that_does_not_keep_its_limits_is_refused(
    mlctl: Run, sample: Path, limit: tuple[str, ...], why: str
) -> None:
    done = mlctl("simulate", sample, *LIMITED, *limit)
    assert (done.code, why in done.err) == (5, True), done.err
    plan = ("plan", sample, "--simulate", *LIMITED, *limit)
    refused = mlctl(*plan)
    assert (refused.code, why in refused.err) == (5, True), refused.err


def test_a_job_that_keeps_its_limits_is_not_refused(mlctl: Run, sample: Path) -> None:
    limits = ("--max-cost", "1000", "--deadline", "80d")
    assert mlctl("simulate", sample, *LIMITED, *limits).code == 0
    assert mlctl("plan", sample, "--simulate", *LIMITED, *limits).code == 0


def test_a_policy_may_ask_what_a_job_costs_until_it_is_done(mlctl: Run, sample: Path) -> None:
    policy = (
        "policies:\n  - name: cheap\n    rule: cost.until_done <= `0.0001`\n    message: dear\n"
    )
    Path("policies.yml").write_text(policy)
    Path("mlctl.yml").write_text("policies: [policies.yml]\n")
    assert mlctl("plan", sample).code == 0  # nothing is known without a forecast
    refused = mlctl("plan", sample, "--simulate", *LIMITED)
    assert (refused.code, "cheap" in refused.err) == (5, True), refused.err
