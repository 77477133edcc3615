"""Ctrl-C, SIGTERM and the question before an apply, in real processes and on a real terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import entry_points
from tests.builders.shell import Done, cluster, clusters, environment, finish, inherited, start

STATE = {"MLCTL_LOCAL_DB": "state.db"}


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """An apply of five clusters, one at a time, that is in the middle of its first write."""
    process = start_held(tmp_path)
    yield process
    process.kill()


def start_held(folder: Path, hangup: Any = signal.SIG_DFL) -> subprocess.Popen[str]:
    """Start an apply of five clusters, one at a time, and wait for its first write."""
    clusters(folder / "five", 5)
    entry_points.install(folder)
    with inherited(signal.SIGHUP, hangup):
        process = start(
            *(folder, "apply", "five", "--yes", "--parallelism", "1"),
            *("--backend", "held", *entry_points.SCOPE),
            env=STATE,
        )
    assert (folder / "reached").read_text() == "compute/c00"
    return process


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal and wait until it has been noticed."""
    assert process.stderr is not None
    process.send_signal(number)
    for line in process.stderr:
        if line.startswith("Stop"):
            return


def made(folder: Path) -> list[str]:
    """The clusters that are there."""
    listed = start(folder, "compute", "list", "--query", "[].name", *entry_points.SCOPE, env=STATE)
    return list(finish(listed).json)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_runs_is_finished_and_nothing_new_starts(
    waiting: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    interrupt(waiting, number)
    (tmp_path / "go").write_text("")
    done = finish(waiting)
    assert (done.code, made(tmp_path)) == (8, ["c00"])
    assert "Not started:\n" in done.err
    assert "Run the same command again to do the rest." in done.err


@pytest.mark.slow
def test_a_plan_waits_for_no_apply(waiting: subprocess.Popen[str], tmp_path: Path) -> None:
    done = finish(start(tmp_path, "plan", "five", *entry_points.SCOPE, env=STATE))
    assert (done.code, "Plan: 5 to add" in done.out) == (0, True)
    (tmp_path / "go").write_text("")
    assert finish(waiting).code == 0


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(waiting: subprocess.Popen[str], tmp_path: Path) -> None:
    interrupt(waiting, signal.SIGINT)
    waiting.send_signal(signal.SIGTERM)
    done = finish(waiting)
    assert (done.code, made(tmp_path)) == (-signal.SIGTERM, [])
    assert done.err.startswith("Stopped at once.")


@pytest.mark.slow
def test_under_nohup_a_closed_terminal_stops_nothing(tmp_path: Path) -> None:
    process = start_held(tmp_path, signal.SIG_IGN)
    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").write_text("")
    done = finish(process)
    assert (done.code, len(made(tmp_path))) == (0, 5)


@pytest.mark.slow
def test_a_terminal_that_is_closed_stops_an_apply_after_what_runs(tmp_path: Path) -> None:
    """The terminal is that of the session, so that the kernel sends SIGHUP when it is closed."""
    ours, theirs = os.openpty()
    clusters(tmp_path / "five", 5)
    entry_points.install(tmp_path)
    command = ("apply", "five", "--yes", "--parallelism", "1", "--backend", "held")
    code = (
        "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        " os.execv(sys.executable, [sys.executable, '-m', 'mlctl', *sys.argv[1:]])"
    )
    with inherited(signal.SIGHUP, signal.SIG_DFL):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *command, *entry_points.SCOPE],
            cwd=tmp_path,
            env=environment(tmp_path, **STATE),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    os.close(theirs)
    assert (tmp_path / "reached").read_text() == "compute/c00"
    os.close(ours)
    (tmp_path / "go").write_text("")
    assert process.wait(timeout=60) == 8
    assert made(tmp_path) == ["c00"]


@pytest.mark.slow
def test_what_was_cancelled_is_done_by_the_next_apply(
    waiting: subprocess.Popen[str], tmp_path: Path
) -> None:
    interrupt(waiting, signal.SIGTERM)
    (tmp_path / "go").write_text("")
    finish(waiting)
    again = finish(start(tmp_path, "apply", "five", "--yes", *entry_points.SCOPE, env=STATE))
    assert "Resources: 4 added, 0 changed, 0 destroyed." in again.out


def answered(folder: Path, answer: str, *arguments: str) -> Done:
    """Run a command on a terminal where somebody types an answer."""
    ours, theirs = os.openpty()
    process = start(folder, *arguments, stdin=theirs)
    os.close(theirs)
    os.write(ours, answer.encode())
    out, err = process.communicate(timeout=60)
    os.close(ours)
    return Done(process.returncode, out, err)


def test_yes_is_an_answer(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    done = answered(tmp_path, "yes\n", "apply", "cpu.yml")
    assert (done.code, "Apply complete!" in done.out) == (0, True)
    assert "Only 'yes' will be accepted to approve." in done.err


@pytest.mark.parametrize("answer", ["y\n", "Yes\n", "\n", "no\n", "yes please\n", "\x04"])
def test_only_yes_is(tmp_path: Path, answer: str) -> None:
    cluster(tmp_path / "cpu.yml")
    done = answered(tmp_path, answer, "apply", "cpu.yml")
    assert (done.code, "Cancelled: nothing was changed." in done.err) == (8, True)


def test_ctrl_c_is_no_answer_either(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    ours, theirs = os.openpty()
    process = start(tmp_path, "apply", "cpu.yml", stdin=theirs)
    assert process.stderr is not None
    seen = ""
    while not seen.endswith("Enter a value: "):
        seen += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    os.close(ours)
    assert (done.code, "Cancelled: nothing was changed." in done.err) == (8, True)


@pytest.mark.slow
def test_delete_takes_y_as_az_does(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    finish(start(tmp_path, "apply", "cpu.yml", "--yes"))
    assert answered(tmp_path, "y\n", "compute", "delete", "-n", "cpu").code == 0
    assert finish(start(tmp_path, "compute", "list")).json == []


def test_a_terminal_sees_how_it_ended(tmp_path: Path) -> None:
    clusters(tmp_path / "five", 5)
    ours, theirs = os.openpty()
    nobody = subprocess.DEVNULL
    process = start(tmp_path, "apply", "five", "--yes", stdin=nobody, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # Linux's way to say that the other end of a terminal is closed
        pass
    assert process.wait(timeout=60) == 0
    assert b"Resources: 5 added, 0 changed, 0 destroyed." in seen
