"""No process is left, whatever it did to get away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mlctl.rehearsal.process import Process, TooLate, running, sweep
from mlctl.rehearsal.scoring.deployment import lay_out
from mlctl.rehearsal.worker.node import running_below
from tests.builders import rehearsed
from tests.builders.paths import ROOT

RUNS_AWAY = """\
import os, subprocess, sys
def run(mini_batch):
    ready, told = os.pipe()
    text = "import os, sys; os.write(int(sys.argv[1]), b'x'); sys.stdin.read()"
    hold, stay = os.pipe()
    os.set_inheritable(stay, True)
    subprocess.Popen(
        [sys.executable, "-c", text, str(told)], stdin=hold, pass_fds=(told, stay),
        start_new_session=True,
    )
    os.read(ready, 1)
    return mini_batch
"""


def worker(folder: Path, text: str) -> Process:
    """A worker that has imported a script of these lines."""
    deployment = rehearsed.written(folder, text)
    lay_out(folder / "node", deployment)
    script = folder / "node" / "code" / "score.py"
    process = Process.start(
        rehearsed.interpreter(), script, folder / "node", dict(os.environ), "worker"
    )
    node = str(folder / "node")
    process.send(init=True, output=node, logs=node, stand_ins=False)
    assert "up" in process.receive()
    assert process.receive()["done"] == "init"
    return process


def children(pid: int) -> list[int]:
    """The processes that one has begun itself."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_worker_is_gone_when_it_is_ended(tmp_path: Path) -> None:
    process = worker(tmp_path, "def run(mini_batch):\n    return mini_batch\n")
    mark = process.interpreter.mark
    assert process.popen.pid in running(mark)
    process.end()
    assert running(mark) == []


def test_a_worker_is_ended_once_since_its_number_may_be_anothers_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = worker(tmp_path, "def run(mini_batch):\n    return mini_batch\n")
    process.end()
    monkeypatch.setattr("mlctl.rehearsal.process.end_tree", pytest.fail)
    process.end()


def test_a_child_that_its_dead_parent_left_is_found_by_its_mark_and_ended(tmp_path: Path) -> None:
    process = worker(tmp_path, RUNS_AWAY)
    mark = process.interpreter.mark
    process.send(run=["a"])
    assert process.receive()["rows"] == ["a"]
    (scorer,) = children(process.popen.pid)
    process.popen.kill()
    process.popen.wait()
    rehearsed.wait_for(scorer)
    assert len(running(mark)) == 1
    assert sweep(mark) == 1


FLEES = """\
import subprocess, sys
text = '''
import os, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
time.sleep(120)
'''
def run(mini_batch):
    words = ["/usr/bin/env", "-i", sys.executable, "-c", text]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return [child.stdout.readline().strip()]
"""


def test_a_daemon_without_an_environment_goes_with_its_worker(tmp_path: Path) -> None:
    others = running_below(os.getpid())
    process = worker(tmp_path, FLEES)
    process.send(run=["a"])
    (pid,) = process.receive()["rows"]
    assert int(pid) in running_below(process.popen.pid)
    process.end()
    rehearsed.wait_for(int(pid))
    assert running_below(os.getpid()) <= others


def test_a_daemon_without_an_environment_goes_when_its_worker_ends_first(tmp_path: Path) -> None:
    process = worker(tmp_path, FLEES)
    process.send(run=["a"])
    (pid,) = process.receive()["rows"]
    os.close(process.control)  # as where mlctl is gone: the worker ends at the end of its orders
    assert process.popen.wait() == 0
    rehearsed.wait_for(int(pid))
    os.close(process.report)


KILLED = """\
import os, pathlib, signal, sys
from tests.rehearsal.test_process import FLEES, worker
process = worker(pathlib.Path(sys.argv[1]), FLEES)
process.send(run=["a"])
print(process.receive()["rows"][0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells when a parent is gone")
def test_a_daemon_without_an_environment_goes_where_mlctl_itself_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    mlctl = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    assert mlctl.returncode == -signal.SIGKILL
    rehearsed.wait_for(int(mlctl.stdout))


def test_a_script_that_is_busy_for_long_is_asked_for_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlctl.rehearsal.process._SILENCE_S", 0.05)
    notes: list[str] = []
    process = worker(tmp_path, "def run(mini_batch):\n    while True:\n        pass\n")
    process.interpreter = replace(
        process.interpreter, note=notes.append, ends=time.monotonic() + 1.0
    )
    process.send(run=["a"])
    with pytest.raises(TooLate):
        process.receive()
    process.end()
    (note,) = notes
    assert note.startswith("note: the script has been busy for 0 s at score.py:")
    assert process.place in (["score.py", 2], ["score.py", 3])
