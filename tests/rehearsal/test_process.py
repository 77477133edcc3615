"""No process is left, whatever it did to get away."""

from __future__ import annotations

import os
from pathlib import Path

from mlctl.rehearsal.process import Process, running, sweep
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


def test_a_child_that_left_its_group_is_found_and_ended(tmp_path: Path) -> None:
    process = worker(tmp_path, RUNS_AWAY)
    mark = process.interpreter.mark
    process.send(run=["a"])
    assert process.receive()["rows"] == ["a"]
    process.end()
    assert len(running(mark)) == 1
    assert sweep(mark) == 1
