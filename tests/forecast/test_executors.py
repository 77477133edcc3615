"""Who carries histories out: processes of this machine, and a Dask cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path
from typing import NamedTuple

import pytest

from mlctl.forecast import executors
from mlctl.forecast.executors import WorkersError, processes
from mlctl.forecast.gather import histories_of


class Told(NamedTuple):
    """Who carried a history out."""

    process: int


class Asking:
    """A study that says which process carries its histories out."""

    def histories(self, runs: range) -> list[Told]:
        return [Told(os.getpid()) for _ in runs]


class Endless:
    """A study whose histories never end."""

    def histories(self, runs: range) -> list[Told]:
        Path(f"began-{os.getpid()}").touch()
        signal.pause()
        return []


class Deadly:
    """A study that kills the process that carries it out."""

    def histories(self, runs: range) -> list[Told]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []


def test_processes_of_this_machine_share_the_work_and_are_gone_afterwards() -> None:
    with processes(2) as executor:
        (found,) = histories_of([Asking()], 500, executor)
        assert len(found) == 500
        assert os.getpid() not in {one.process for one in found}
        assert active_children()
    assert not active_children()


def test_a_study_that_is_stopped_leaves_no_process_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def stopped_once_both_have_begun() -> None:
        with processes(2) as executor:
            executor.submit(Endless().histories, range(1))
            executor.submit(Endless().histories, range(1))
            executor.submit(Endless().histories, range(1))  # waits, and never begins
            while len([*Path().glob("began-*")]) < 2:
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_once_both_have_begun()
    assert not active_children()
    assert len([*Path().glob("began-*")]) == 2


def test_a_worker_that_is_killed_is_told_in_a_sentence() -> None:
    with (
        pytest.raises(WorkersError, match=r"was killed.*try fewer --workers"),
        processes(2) as executor,
    ):
        histories_of([Deadly()], 3, executor)
    assert not active_children()


KILLED = """
import os, signal, sys, time
from mlctl.forecast.executors import processes
with processes(2) as executor:
    print(*{executor.submit(os.getpid).result() for _ in range(50)}, flush=True)
    signal.pause()
"""


def test_workers_do_not_outlive_a_parent_that_was_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    limit = time.monotonic() + 30
    while any(Path(f"/proc/{one}").exists() and not is_dead(one) for one in workers):
        assert time.monotonic() < limit
        time.sleep(0.01)


def is_dead(process: int) -> bool:
    """Whether a process has ended, though nobody has asked how."""
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True


def test_a_worker_of_a_cluster_needs_this_version_of_mlctl() -> None:
    here = "tcp://host:8786"
    with pytest.raises(WorkersError, match="has no workers: dask worker tcp://host:8786"):
        executors._check_workers(here, {})
    with pytest.raises(WorkersError, match="the worker tcp://a:1 has no mlctl: install"):
        executors._check_workers(here, {"tcp://a:1": ModuleNotFoundError("mlctl")})
    with pytest.raises(WorkersError, match=r"the worker tcp://a:1 has mlctl 0\.0: here it is"):
        executors._check_workers(here, {"tcp://a:1": "0.0"})
