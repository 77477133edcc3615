"""`mlctl finish`, from the shell: what it says, writes and ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.shell import Run

ENDPOINT = ("-n", "heart-classifier-batch", "--seconds-per-file", "60")


@pytest.fixture
def staged(mlctl: Run, sample: Path) -> Run:
    """The sample, applied, and forty files; an outage begins after 30 minutes, for two hours."""
    assert mlctl("apply", sample, "--yes").code == 0
    Path("images").mkdir()
    for number in range(40):
        Path("images", f"f{number:02}.txt").write_text(str(number))
    return mlctl


def outage(mlctl: Run) -> None:
    nodes = {"metadata": {"gap_seconds": 300}, "data": [2] * 2 + [0] * 30 + [2] * 200}
    Path("trace.json").write_text(json.dumps(nodes))
    assert mlctl("local", "preemption", "set", "--trace", "trace.json").code == 0


def test_a_job_meets_its_deadline_through_an_outage(staged: Run) -> None:
    outage(staged)
    done = staged(
        *("finish", *ENDPOINT, "--input", "images", "--name", "night", "--deadline", "90m"),
        *("--policy", "uniform-progress", "--shards", "8", "--yes", "--notify", "cat > told.json"),
    )
    assert done.code == 0, done.err
    assert "policy" in done.out
    assert "each of 40 inputs has its rows, and no row occurs twice" in done.err
    assert done.out.splitlines()[-1].startswith("night: done; 8 of 8 shards")
    told = json.loads(Path("told.json").read_text())
    assert told["outcome"] == "done"
    assert {run["tier"] for run in told["runs"]} == {"low_priority", "dedicated"}
    left = staged("compute", "list", "-o", "json").json
    assert [cluster["name"] for cluster in left] == ["low-pri-cluster"]
    rows = next(Path("night-results").rglob("predictions.csv")).read_text().splitlines()
    assert len(rows) == 20
    assert staged("finish", "show", "night", "-o", "json").json["spent"] == told["spent"]
    page = staged("finish", "show", "night", "-o", "html").out
    assert "dedicated" in page
    assert 'class="area curve1"' in page  # the band of the forecast
    log = staged("finish", "log", "night").out
    assert "making compute/low-pri-cluster-dedicated" in log
    assert "removed compute/low-pri-cluster-dedicated" in log
    assert staged("finish", "list").out.startswith("night: done")


def test_the_page_of_a_calm_job_reaches_to_its_deadline_and_lists_no_losses(staged: Run) -> None:
    line = ("finish", *ENDPOINT, "--input", "images", "--name", "calm", "--deadline", "30m")
    done = staged(*line, "--policy", "remaining", "--weather", "calm", "--shards", "2", "--yes")
    assert done.code == 0, done.err
    page = staged("finish", "show", "calm", "-o", "html").out
    along = page.partition('<p class="along">')[2].partition("</p>")[0]
    assert "<span>30m00s</span>" in along
    assert "What was lost" not in page


def test_too_small_a_budget_ends_it_before_a_step(staged: Run) -> None:
    done = staged(
        *("finish", *ENDPOINT, "--files", "40", "--name", "poor", "--max-cost", "0.005"),
        *("--shards", "8", "--yes", "--policy", "remaining"),
    )
    assert done.code == 12
    assert "poor: over budget" in done.out
    assert staged("finish", "show", "poor", "-o", "json").json["spent"] <= 0.005 + 0.0025


def test_what_is_late_has_a_code_of_its_own(staged: Run) -> None:
    outage(staged)
    done = staged(
        *("finish", *ENDPOINT, "--files", "40", "--name", "late", "--deadline", "30m"),
        *("--shards", "4", "--yes", "--policy", "remaining"),
    )
    assert done.code == 11
    assert "late: late (done after" in done.out


def test_it_asks_before_it_begins_and_takes_no_name_twice(staged: Run) -> None:
    line = ("finish", *ENDPOINT, "--files", "4", "--name", "twice", "--shards", "1")
    assert staged(*line).code == 8
    assert not staged("job", "list", "-o", "json").json
    assert staged(*line, "--yes").code == 0
    again = staged(*line, "--yes")
    assert again.code == 1
    assert "choose another --name" in again.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--policy", "deadline"), "--policy deadline needs a --deadline"),
        (("--shards", "few"), "`few` is neither a positive number nor auto"),
        (("--policy", "hope"), "`hope` is no policy"),
    ],
)
def test_what_makes_no_sense_is_refused(staged: Run, flags: tuple[str, ...], words: str) -> None:
    done = staged("finish", *ENDPOINT, "--files", "4", *flags, "--yes")
    assert done.code == 1
    assert words in done.err


def test_an_unknown_job_is_said_to_be_unknown(staged: Run) -> None:
    for verb in ("show", "log", "resume"):
        done = staged("finish", verb, "nobody")
        assert done.code == 1
        assert "there is no job `nobody`: see mlctl finish list" in done.err


@pytest.mark.slow
def test_another_process_goes_on_after_a_kill(staged: Run) -> None:
    line = ("finish", *ENDPOINT, "--input", "images", "--name", "killed", "--shards", "20")
    command = [sys.executable, "-m", "mlctl", *line, "--yes", "--policy", "remaining"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for text in process.stderr:
            if "[3/20 shards" in text:
                os.kill(process.pid, signal.SIGKILL)
                break
        process.stderr.read()
    held = staged("finish", "resume", "killed")
    assert held.code == 10  # the lease of the dead process lasts for a minute
    assert staged("lock", "break", "--project", "finish/killed", "--yes").code == 0
    done = staged("finish", "resume", "killed")
    assert done.code == 0, done.err
    assert "each of 40 inputs has its rows, and no row occurs twice" in done.err
    shards = [run["shard"] for run in staged("finish", "show", "killed", "-o", "json").json["runs"]]
    assert shards == list(range(20))


@pytest.mark.slow
def test_sigterm_leaves_it_and_gives_its_lease_back(staged: Run) -> None:
    line = ("finish", *ENDPOINT, "--files", "4000", "--name", "left", "--shards", "500", "--yes")
    command = [sys.executable, "-m", "mlctl", *line, "--policy", "remaining", "--weather", "calm"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for text in process.stderr:
            if "[3/500 shards" in text:
                process.terminate()
                break
        assert "To resume: mlctl finish resume left" in process.stderr.read()
    assert process.returncode == 8
    assert staged("finish", "cancel", "left", "--yes").out.startswith("left: cancelled")


def test_what_is_refused_of_the_forecast_is_refused_before_files_are_applied(
    mlctl: Run, sample: Path
) -> None:
    Path("images").mkdir()
    Path("images", "a.txt").touch()
    done = mlctl("finish", sample, "--input", "images", "--yes", "--setting", "nonsense=1")
    assert done.code == 1
    assert "nonsense" in done.err
    assert mlctl("compute", "list", "-o", "json").json == []
