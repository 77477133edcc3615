"""`mlctl rehearse` of trainings: what it prints, how it ends, what it leaves."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.paths import SAMPLES
from tests.builders.rehearsed import FOLDER, INPUT, marked, wait_for
from tests.builders.shell import Run

JOB = SAMPLES / "training" / "job.yml"
MOMENTUM = FOLDER / "training" / "momentum.py"
HANGS = """\
import os
told = os.open(os.environ["TOLD"], os.O_WRONLY)
os.write(told, b"x")
os.close(told)
os.read(os.open(os.environ["NEVER"], os.O_RDWR), 1)
"""


@pytest.fixture
def mlctl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    return shell.inside(tmp_path, monkeypatch, capsys)


@pytest.mark.slow
def test_a_job_is_rehearsed_by_its_command(mlctl: Run, tmp_path: Path) -> None:
    job = SAMPLES / "training" / "job.yml"
    done = mlctl("rehearse", job, "--kill", "1", "-o", "json")
    assert done.code == 0
    assert [one["code"] for one in done.json["diagnostics"]] == ["MLC654"]
    assert [life["exit_code"] for life in done.json["runs"][0]["lives"]] == [-9, 0]


def test_a_training_that_fails_says_so_with_its_log(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import nothere\n")
    done = mlctl("rehearse", "train.py")
    assert done.code == 1
    assert "the command fails without any loss (exit code 1)" in done.err
    assert "No module named 'nothere'" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_of_a_training_is_left_when_it_is_stopped(number: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HANGS)
    for name in ("told", "never"):
        os.mkfifo(tmp_path / name)
    names = {"TOLD": "told", "NEVER": "never", "TMPDIR": "."}
    process = shell.start(
        *(tmp_path, "rehearse", "train.py"),
        env={key: str(tmp_path / name) for key, name in names.items()},
    )
    with (tmp_path / "told").open("rb") as told:
        assert told.read(1) == b"x"
    children = [pid for pid, text in marked() if str(tmp_path) in text]
    assert children
    process.send_signal(number)
    process.communicate(timeout=60)
    for pid in children:
        wait_for(pid)
    assert [pid for pid, text in marked() if str(tmp_path) in text] == []
    if number != signal.SIGKILL:
        assert process.returncode == 1
        assert list(tmp_path.glob("mlctl-rehearsal-*")) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing.py",), "there is no script `nothing.py`"),
        (("train.py", "--timeout", "0"), "'0' is not a valid value"),
        (("train.py", "--python", "nopython"), "there is no program `nopython`"),
        (("train.py", "--steps", "3"), "the number of steps cannot be set"),
        (("train.py", "--steps", "0"), "--steps"),
        (("train.py", "--seconds-per-step", "3"), "the number of steps is missing"),
        (("train.py", "--weather", "stress"), "a weather needs to know how long"),
        (("train.py", "--nodes", "2"), "only a job with `distribution"),
        (("train.py", "--input", "."), "so it is a training script, whose inputs are named in"),
        (("train.py", "--keep", "."), "cannot make the folder `.`"),
        (("bad.py",), 'bad.py", line 2'),
        (("train.py", "--kill-at-any-time", "--preempt", "9"), "a weather decides when"),
        (
            (FOLDER / "scoring" / "appends.py", "--input", INPUT, "--steps", "3"),
            "for training jobs",
        ),
    ],
)
def test_a_training_that_cannot_be_rehearsed_is_one_sentence(
    words: tuple[str, ...], says: str, mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    (tmp_path / "train.py").write_text("print('hello')\n")
    (tmp_path / "bad.py").write_text("x = 1\nwhile x(:\n")
    done = mlctl("rehearse", *words)
    assert done.code == 1
    assert says in done.err
    assert done.out == ""
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.slow
def test_a_training_is_killed_anywhere_and_says_how_to_see_it_again(mlctl: Run) -> None:
    given = ("rehearse", MOMENTUM, "--kill-at-any-time", "--seed", "1", "--kills", "3")
    done = mlctl(*given)
    assert done.code == 1
    again = f"again: mlctl rehearse {shlex.quote(str(MOMENTUM))} --seed 1 --kill-at-any-time --kill"
    assert again in done.out
    assert done.out.splitlines()[-1] == "Verdict: does not survive: MLC655"


@pytest.mark.slow
def test_losses_of_a_script_come_at_their_steps(mlctl: Run) -> None:
    Path("losses.txt").write_text("3600 1\n9000 1\n")
    given = ("rehearse", JOB, "--steps", "100", "--seconds-per-step", "100")
    done = mlctl(*given, "--script", "losses.txt", "-o", "json")
    assert done.code == 0, done.err
    (run,) = done.json["runs"]
    lines = [life["lines"] for life in run["lives"]]
    whole = done.json["calm"]["lives"][0]["lines"]
    assert len(lines) == 3
    assert lines[-1] < whole * 0.6
