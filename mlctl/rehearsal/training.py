"""A rehearsal of a training: its command on a node, killed, and on another node with its outputs.

`outputs`, `logs` and the job's own outputs are kept over a loss; all else is not. The metrics that
MLflow has got are kept, too, for its server is elsewhere.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlctl.rehearsal.deployment import copy_code
from mlctl.rehearsal.outcome import Content, Place, snapshot
from mlctl.rehearsal.process import MARK, Interpreter, TooLate, without_network

_KEPT = ("outputs", "logs")
_CHUNK = 1 << 16
_ROOT = Path(__file__).parents[2]
_START = """\
import sys
sys.path.insert(0, {folder!r})
from mlctl.rehearsal.worker.trainer import watch
sys.path.remove({folder!r})
watch()
"""


@dataclass(frozen=True, slots=True)
class Training:
    """A command and its code. `command` may name `${{outputs.NAME}}`."""

    command: str
    code: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a life ends: at a line event, or in the `write`-th write to what is kept."""

    line: int | None = None
    write: int | None = None
    size: int = 0  # bytes that the file may have


@dataclass(frozen=True, slots=True)
class Saved:
    """A write: what, how, where in the code, after how many line events and seconds."""

    path: str
    how: str
    place: Place | None
    events: int
    seconds: float
    kept: bool


@dataclass
class Life:
    """One life of the command on one node."""

    code: int = 0
    signal: int | None = None
    held: Place | None = None
    events: int = 0
    seconds: float = 0.0
    writes: list[Saved] = field(default_factory=list)
    log: str = ""


@dataclass
class Trained:
    """A run: its lives, and what is in the kept folders in the end."""

    folder: Path
    lives: list[Life]
    files: dict[str, Content]
    metrics: list[tuple[str, int]]  # name and step, as often as they were logged


def train(
    training: Training,
    interpreter: Interpreter,
    folder: Path,
    environment: Mapping[str, str],
    cuts: tuple[Cut, ...] = (),
) -> Trained:
    """Run the command; after each cut once more, on a new node with the same outputs.

    Raises:
        TooLate: the time is over.
    """
    kept = folder / "kept"
    for name in (*_KEPT, *(f"named/{one}" for one in training.outputs), "mlruns"):
        (kept / name).mkdir(parents=True)
    lives = []
    for number, cut in enumerate((*cuts, Cut()), 1):
        node = folder / "nodes" / f"1-{number}"
        life = _live(training, interpreter, node, kept, environment, cut)
        lives.append(life)
        shutil.rmtree(node, ignore_errors=True)
        if cut != Cut() and life.held is None and life.signal != signal.SIGXFSZ:
            break  # it ended before its cut
    return Trained(folder, lives, snapshot(kept), _metrics(kept))


def _live(
    training: Training,
    interpreter: Interpreter,
    node: Path,
    kept: Path,
    environment: Mapping[str, str],
    cut: Cut,
) -> Life:
    """One life, to its cut or its end."""
    copy_code(node / "code", training.code, kept.parents[2])
    for name in _KEPT:
        shutil.rmtree(node / "code" / name, ignore_errors=True)
        (node / "code" / name).symlink_to(kept / name)
    for name in ("bin", "hook", "tmp", "home"):
        (node / name).mkdir()
    (node / "hook" / "sitecustomize.py").write_text(_START.format(folder=str(_ROOT)))
    for name in ("python", "python3"):
        program = node / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(interpreter.python)} -B "$@"\n')
        program.chmod(0o755)
    report, theirs = os.pipe()
    order = {
        "report": theirs,
        "code": str(node / "code"),
        "kept": [str(kept), str(node / "code" / "outputs")],
        "pause": cut.line,
        "cut": cut.write,
        "bytes": cut.size,
    }
    command = training.command
    for name in training.outputs:
        command = command.replace(f"${{{{outputs.{name}}}}}", str(kept / "named" / name))
    words = [*(without_network() if interpreter.alone else ()), "/bin/sh", "-c", command]
    told = node / "log.txt"
    try:
        with told.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - the user's own command is the point
                words,
                cwd=node / "code",
                env=_variables(training, interpreter, node, kept, environment, order),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs,),
                start_new_session=True,
            )
    finally:
        os.close(theirs)
    life = Life()
    try:
        _listen(process, report, interpreter, life, kept, node)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        os.close(report)
    life.code = code
    shell = code - 128 if code > 128 else None  # noqa: PLR2004 - as shells tell a signal
    life.signal = -code if code < 0 else shell
    life.log = told.read_bytes()[-4000:].decode(errors="replace")
    return life


def _variables(
    training: Training,
    interpreter: Interpreter,
    node: Path,
    kept: Path,
    environment: Mapping[str, str],
    order: Mapping[str, Any],
) -> dict[str, str]:
    before = environment.get("PYTHONPATH")
    home = environment.get("HOME", "")
    return {
        **{key: value for key, value in environment.items() if not key.startswith("MLCTL_")},
        "PYTHONUSERBASE": environment.get("PYTHONUSERBASE", str(Path(home, ".local"))),
        **training.variables,
        "PATH": os.pathsep.join([str(node / "bin"), environment.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join([str(node / "hook"), *([before] if before else [])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(node / "home"),
        "TMPDIR": str(node / "tmp"),
        "MLFLOW_TRACKING_URI": (kept / "mlruns").as_uri(),
        "MLCTL_REHEARSAL_ORDER": json.dumps(order),
        MARK: interpreter.mark,
    }


def _listen(
    process: subprocess.Popen[bytes],
    report: int,
    interpreter: Interpreter,
    life: Life,
    kept: Path,
    node: Path,
) -> None:
    """Hear what the processes of a life tell, until one is held or all have ended."""
    buffer = b""
    start: float | None = None
    while True:
        left = interpreter.ends - time.monotonic()
        if left <= 0 or not select.select([report], [], [], left)[0]:
            raise TooLate
        chunk = os.read(report, _CHUNK)
        if not chunk:
            process.wait()
            return
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "held" in message:
                life.held = Place.of(message["held"])
                return
            if "ended" in message:
                life.events = max(life.events, message["events"])
                life.seconds = max(life.seconds, message["seconds"])
            elif "wrote" in message:
                start = message["at"] if start is None else start
                life.writes.append(_saved(message, start, kept, node))


def _saved(message: Mapping[str, Any], start: float, kept: Path, node: Path) -> Saved:
    path = Path(message["wrote"])
    inside = path.is_relative_to(kept)
    for name in _KEPT:
        link = node / "code" / name
        if path.is_relative_to(link):
            path, inside = kept / name / path.relative_to(link), True
    name = path.relative_to(kept).as_posix() if inside else str(path)
    if not inside and path.is_relative_to(node):
        name = path.relative_to(node).as_posix()
    where = Place.of(message["place"])
    return Saved(name, message["how"], where, message["events"], message["at"] - start, inside)


def _metrics(kept: Path) -> list[tuple[str, int]]:
    """The steps that were logged: of MLflow's file store, and of JSON lines in `outputs`."""
    found = []
    for file in sorted((kept / "mlruns").glob("*/*/metrics/**/*")):
        if file.is_file():
            for line in file.read_text().splitlines():
                words = line.split()
                if len(words) > 2:  # noqa: PLR2004 - a time, a value and a step
                    found.append((file.name, int(words[2])))
    for file in sorted((kept / "outputs").rglob("*.jsonl")):
        for line in file.read_text(errors="replace").splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                step = next((entry[key] for key in ("step", "epoch") if key in entry), None)
                if isinstance(step, int):
                    found.append((file.name, step))
    return found
