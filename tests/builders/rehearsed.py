"""Rehearsals of scripts, in a folder of the test's."""

from __future__ import annotations

import os
import re
import select
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlctl.rehearsal.inputs import Inputs
from mlctl.rehearsal.process import MARK, Interpreter, without_network
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.rehearsal import Rehearsal, rehearse
from mlctl.rehearsal.stage import KillSchedule, Stage
from mlctl.rehearsal.training.job import from_script
from mlctl.rehearsal.training.rehearsal import TrainingPlan, TrainingRehearsal, rehearse_training
from tests.builders.paths import SAMPLES

FOLDER = SAMPLES / "rehearsal"
INPUT = FOLDER / "input"
_LONG = 300.0  # seconds; a rehearsal takes a few


def interpreter(*, alone: bool = True) -> Interpreter:
    """This Python, without a network where that can be had."""
    ends = time.monotonic() + _LONG
    network = alone and bool(without_network())
    return Interpreter(sys.executable, network, 0, uuid.uuid4().hex, ends)


def stage(folder: Path, **more: Any) -> Stage:
    """Where a rehearsal runs."""
    return Stage(interpreter(**more), folder, dict(os.environ))


def deployment(script: Path, **settings: Any) -> Deployment:
    """A script on two nodes, two files to a mini-batch."""
    return replace(Deployment(script, script.parent, mini_batch_size=2), **settings)


def written(folder: Path, text: str, **settings: Any) -> Deployment:
    """A script of these lines in a folder of its own."""
    script = folder / "code" / "score.py"
    script.parent.mkdir()
    script.write_text(text)
    return deployment(script, **settings)


def numbers(folder: Path, count: int) -> Inputs:
    """Files `0.txt`, `1.txt`, ... with their numbers."""
    (folder / "numbers").mkdir()
    for number in range(count):
        (folder / "numbers" / f"{number}.txt").write_text(f"{number}\n")
    return Inputs.find(folder / "numbers")


def planted(script: Path) -> list[tuple[str, int]]:
    """The codes that the lines of a sample name, with their lines."""
    return [
        (code, number)
        for number, line in enumerate(script.read_text().splitlines(), 1)
        for code in re.findall(r"# (MLC6\d\d)", line)
    ]


def shown(done: Rehearsal) -> list[tuple[str, int]]:
    """The codes and lines of what was found."""
    return [(one.rule.code, one.place.line if one.place else 0) for one in done.evidence]


def of_sample(name: str, folder: Path, plan: KillSchedule = KillSchedule()) -> Rehearsal:
    """The rehearsal of a scoring sample; of one that keeps memory, a mini-batch for each file."""
    script = FOLDER / "scoring" / f"{name}.py"
    size = 1 if name.startswith("remembers") else 2
    told = deployment(script, mini_batch_size=size)
    return rehearse(told, Inputs.find(INPUT), plan, stage(folder))


def training_plan(kills: int = 6, only: int | None = None, **more: Any) -> TrainingPlan:
    """So many kills, or one alone."""
    return TrainingPlan(schedule=KillSchedule(kills=0 if only else kills, only=only), **more)


def training(name: str, folder: Path, only: int | None = None) -> TrainingRehearsal:
    """The rehearsal of a training sample, with six kills or this one alone."""
    told = from_script(FOLDER / "training" / f"{name}.py")
    return rehearse_training(told, stage(folder), training_plan(only=only))


def trained(name: str, folder: Path, only: int | None = None) -> list[tuple[str, int]]:
    """The codes and lines of what a training sample shows."""
    done = training(name, folder, only)
    return [(one.rule.code, one.place.line if one.place else 0) for one in done.evidence]


def marked() -> list[tuple[int, str]]:
    """The processes of rehearsals, with their environment."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            text = (one / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{MARK}=" in text:
            found.append((int(one.name), text))
    return found


def wait_for(pid: int) -> None:
    """Wait until a process is gone, which is not a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 60)[0]
    os.close(descriptor)
