"""What a rehearsal costs beside the script alone, and how long twenty kills take."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.commands import ROOT
from bench.figure import Effort, Figure, at_most, beside
from mlctl.rehearsal.inputs import Inputs, mini_batches
from mlctl.rehearsal.process import Interpreter, without_network
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.rehearsal import rehearse
from mlctl.rehearsal.scoring.run import RunOrder, ScoringRun
from mlctl.rehearsal.stage import KillSchedule, Stage

# Ten milliseconds that are no sleep, which a rehearsal would pass over.
SCRIPT = """\
import threading

idle = threading.Event()


def run(mini_batch):
    idle.wait(0.010)
    return mini_batch
"""
ALONE = """\
import sys
sys.path.insert(0, sys.argv[1])
import score
for number in range(int(sys.argv[2])):
    score.run([str(number)])
"""
SAMPLES = ROOT / "samples" / "rehearsal"


def figures(effort: Effort) -> Iterator[Figure]:
    """All figures."""
    count = 200 if effort.quick else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = written(folder, count)
        ours = rehearsed(folder, inputs)
        theirs = alone(folder / "code", count)
        yield beside(
            f"rehearse {count:,} mini-batches of 10 ms", ours, theirs, "the script alone", 1.2
        )
        yield at_most("rehearse 20 kills of a sample", kills(folder / "kills", 20), "s", 15)


def written(folder: Path, count: int) -> Inputs:
    """The script, and as many inputs."""
    (folder / "code").mkdir()
    (folder / "code" / "score.py").write_text(SCRIPT)
    (folder / "in").mkdir()
    for number in range(count):
        (folder / "in" / f"{number}.txt").touch()
    return Inputs.find(folder / "in")


def interpreter() -> Interpreter:
    """This Python, for as long as it takes."""
    ends = time.monotonic() + 600
    return Interpreter(sys.executable, bool(without_network()), 0, uuid.uuid4().hex, ends)


def rehearsed(folder: Path, inputs: Inputs) -> float:
    """The seconds of one calm run on two workers, with all that is done around it."""
    deployment = Deployment(folder / "code" / "score.py", folder / "code", mini_batch_size=1)
    batches = mini_batches(inputs.names, 1)
    order = RunOrder(key="b", inputs=inputs, mini_batches=batches, order=range(len(batches)))
    begun = time.perf_counter()
    done = ScoringRun(deployment, order, interpreter(), folder / "run", dict(os.environ)).run()
    assert len(done.scored) == len(batches)
    return time.perf_counter() - begun


def alone(code: Path, count: int) -> float:
    """The seconds of two processes that do half of it each."""
    begun = time.perf_counter()
    words = [sys.executable, "-c", ALONE, str(code), str(count // 2)]
    both = [subprocess.Popen(words) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    return time.perf_counter() - begun


def kills(folder: Path, count: int) -> float:
    """The seconds of a whole rehearsal of the first sample."""
    script = SAMPLES / "scoring" / "appends.py"
    deployment = Deployment(script, script.parent, mini_batch_size=2)
    stage = Stage(interpreter(), folder, dict(os.environ))
    begun = time.perf_counter()
    done = rehearse(deployment, Inputs.find(SAMPLES / "input"), KillSchedule(kills=count), stage)
    assert [one.rule.code for one in done.evidence] == ["MLC603"]
    return time.perf_counter() - begun
