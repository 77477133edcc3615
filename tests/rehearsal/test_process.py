"""No process is left, whatever it did to get away."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mlctl.rehearsal.descendants import running, running_below, sweep
from mlctl.rehearsal.process import Process, TooLate
from mlctl.rehearsal.scoring.deployment import lay_out
from tests.builders import rehearsed

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


def test_a_worker_is_gone_when_it_is_ended(tmp_path: Path) -> None:
    process = worker(tmp_path, "def run(mini_batch):\n    return mini_batch\n")
    mark = process.interpreter.mark
    assert running(mark) == [process.popen.pid]
    process.end()
    assert running(mark) == []


def test_a_child_that_its_dead_parent_left_is_found_by_its_mark_and_ended(tmp_path: Path) -> None:
    process = worker(tmp_path, RUNS_AWAY)
    mark = process.interpreter.mark
    process.send(run=["a"])
    assert process.receive()["rows"] == ["a"]
    process.popen.kill()
    process.popen.wait()
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
time.sleep(60)
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
    assert running_below(process.popen.pid) == {int(pid)}
    process.end()
    rehearsed.wait_for(int(pid))
    assert running_below(os.getpid()) <= others


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
