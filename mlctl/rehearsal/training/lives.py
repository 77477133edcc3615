"""The lives of a training job: its command runs, is killed, and runs again with its outputs.

`outputs`, `logs` and the job's own outputs survive a loss; all else is lost. Metrics logged to
MLflow survive too, because its server is elsewhere.
"""

from __future__ import annotations

import csv
import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.rehearsal import folders
from mlctl.rehearsal.evidence import CodeLine
from mlctl.rehearsal.process import Interpreter, Silence, TooLate, end_tree
from mlctl.rehearsal.training.model import Cut, Life, Metrics, Saved, Trained, Training
from mlctl.simulator.control_plane.jobs.mlflow_store import (
    begin_run,
    metric_values,
    sets_experiment,
)

_CHUNK = 1 << 16
KEPT = ("outputs", "logs")
_ROOT = Path(__file__).parents[3]
_START = """\
import sys
sys.path.insert(0, {folder!r})
from mlctl.rehearsal.worker.trainer import watch
sys.path.remove({folder!r})
watch()
"""
_RUN = "5ca1ab1e" * 4  # the run that the service begins for a job
_LAST = 4000  # bytes of a log


@dataclass(frozen=True, slots=True)
class TrainingNode:
    """A process of a training job, with a folder that is lost with it, and one that is kept."""

    training: Training
    folder: Path
    kept_folder: Path
    rank: int

    @property
    def code(self) -> Path:
        """Return the working folder of the command."""
        return self.folder / "code"

    @property
    def command(self) -> str:
        """Return the command, with the paths of the job's own outputs."""
        command = self.training.command
        for name in self.training.outputs:
            command = command.replace(
                f"${{{{outputs.{name}}}}}", shlex.quote(str(self.kept_folder / "named" / name))
            )
        return command

    def lay_out(self, python: str) -> None:
        """Create the code with links to kept folders, programs named `python`, and the rest."""
        folders.copy_code(self.code, self.training.code, self.kept_folder.parents[2])
        for name in KEPT:
            shutil.rmtree(self.code / name, ignore_errors=True)
            (self.code / name).symlink_to(self.kept_folder / name)
        for name in ("bin", "hook", "tmp", "home"):
            (self.folder / name).mkdir()
        (self.folder / "hook" / "sitecustomize.py").write_text(_START.format(folder=str(_ROOT)))
        for name in ("python", "python3"):
            program = self.folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -B "$@"\n')
            program.chmod(0o755)

    def variables(self, python: str, environment: Mapping[str, str], run: str) -> dict[str, str]:
        """Return the environment: the user's, the job's, and what the service adds."""
        python_path = environment.get("PYTHONPATH")
        programs = [str(self.folder / "bin"), str(Path(python).parent)]
        training = self.training
        peers = folders.pytorch_peers(self.rank, training.processes, training.ranks)
        declared = {**training.variables, **(peers if training.distributed else {})}
        return {
            **folders.variables(self.folder, environment, declared),
            "PATH": os.pathsep.join([*programs, environment.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join(
                [str(self.folder / "hook"), *([python_path] if python_path else [])]
            ),
            "MLFLOW_TRACKING_URI": (self.kept_folder / "mlruns").as_uri(),
            "MLFLOW_ALLOW_FILE_STORE": "true",
            **({} if sets_experiment(self.training.code) else {"MLFLOW_RUN_ID": run}),
        }

    def name_of(self, path: str) -> str:
        """Return the name of a path below the kept folder, or below the node."""
        full = Path(path)
        for name in KEPT:
            if full.is_relative_to(self.code / name):
                full = self.kept_folder / name / full.relative_to(self.code / name)
        if full.is_relative_to(self.kept_folder):
            return full.relative_to(self.kept_folder).as_posix()
        if full.is_relative_to(self.folder):
            return full.relative_to(self.folder).as_posix()
        return str(full)

    @property
    def log_file(self) -> Path:
        """Return where the command writes its output."""
        return self.folder / "log.txt"

    def log(self) -> str:
        """Read the command's output."""
        exists = self.log_file.is_file()
        return self.log_file.read_bytes().decode(errors="replace") if exists else ""


@dataclass(frozen=True, slots=True)
class RunConditions:
    """How a run is started; `outside` are files that another run has left outside kept folders."""

    interpreter: Interpreter
    environment: Mapping[str, str]
    hash_seed: int = 0
    outside: Collection[str] = ()


def train(
    training: Training, conditions: RunConditions, folder: Path, cuts: Sequence[Cut] = ()
) -> Trained:
    """Run the command, and again after each cut, on new nodes with the same outputs."""
    kept_folder = folder / "kept"
    for name in (*KEPT, *(f"named/{output}" for output in training.outputs)):
        (kept_folder / name).mkdir(parents=True)
    begin_run(kept_folder / "mlruns", _RUN)
    lives: list[Life] = []
    metrics, names = read_metrics(kept_folder)
    for number, cut in enumerate((*cuts, Cut()), 1):
        nodes = [
            TrainingNode(training, folder / "nodes" / f"{rank + 1}-{number}", kept_folder, rank)
            for rank in range(training.ranks)
        ]
        life = _Life(nodes, conditions, cut, _RUN).run_to_end()
        earlier_metrics, (metrics, names) = metrics, read_metrics(kept_folder)
        life.metrics = metrics - earlier_metrics
        last = kept_folder / life.saved[-1].path if life.saved else kept_folder
        life.last_size = last.stat().st_size if last.is_file() else 0
        lives.append(life)
        shutil.rmtree(folder / "nodes", ignore_errors=True)
        if not life.lost:
            break  # also if it ended before its cut
    files = {
        name: content
        for name, content in folders.snapshot(kept_folder).items()
        if not name.startswith("mlruns/")
    }
    return Trained(kept_folder, lives, files, metrics, names)


class _Life:
    """One life: started, listened to, ended."""

    def __init__(
        self, nodes: Sequence[TrainingNode], conditions: RunConditions, cut: Cut, run: str
    ) -> None:
        self.nodes, self.conditions, self.cut, self.run = nodes, conditions, cut, run
        self.life = Life()
        self.start: float | None = None
        self.cut_process: int | None = None
        self.cut_end: int | None = None  # a descriptor that tells when that process has ended
        self.programs: set[int] = set()
        self.ended: set[int] = set()
        self.silence = Silence(conditions.interpreter.note)

    def run_to_end(self) -> Life:
        """Run to the cut or the end."""
        report, theirs = os.pipe()
        try:
            process = self._start(theirs)
        finally:
            os.close(theirs)
        try:
            self._listen(process, report)
        finally:
            end_tree(process.pid)
            self.life.code = process.wait()
            os.close(report)
            if self.cut_end is not None:
                os.close(self.cut_end)
        self.life.log = "".join(node.log() for node in self.nodes)[-_LAST:]
        return self.life

    def _start(self, report: int) -> subprocess.Popen[bytes]:
        interpreter = self.conditions.interpreter
        for node in self.nodes:
            node.lay_out(interpreter.python)
        return interpreter.start_command(
            ["/bin/sh", "-c", self.nodes[0].command],
            [self._process(node, report) for node in self.nodes],
            self.nodes[0].folder / "command.json",
            self.conditions.environment,
            (report,),
        )

    def _process(self, node: TrainingNode, report: int) -> dict[str, Any]:
        """Describe one process to the program that starts the command."""
        cut = self.cut if node.rank == self.cut.rank else Cut()
        order = {
            "report": report,
            "inode": os.fstat(report).st_ino,
            "rank": node.rank,
            "code": str(node.code),
            "kept": [str(node.kept_folder), *(str(node.code / name) for name in KEPT)],
            "outside": sorted(self.conditions.outside),
            "pause": cut.line,
            "change": cut.change,
            "bytes": cut.size,
        }
        interpreter = self.conditions.interpreter
        return {
            "folder": str(node.code),
            "log": str(node.log_file),
            "variables": interpreter.environment(
                {
                    **node.variables(interpreter.python, self.conditions.environment, self.run),
                    "PYTHONHASHSEED": str(self.conditions.hash_seed),
                    "MLCTL_REHEARSAL_ORDER": json.dumps(order),
                }
            ),
        }

    def _listen(self, process: subprocess.Popen[bytes], report: int) -> None:
        """Read the processes' messages until one of them is lost or all have ended."""
        buffer = b""
        ends = self.conditions.interpreter.ends
        while not self.life.lost:
            remaining = ends - time.monotonic()
            watched = [report] if self.cut_end is None else [report, self.cut_end]
            if remaining <= 0:
                raise TooLate
            ready = select.select(watched, [], [], self.silence.bounded(remaining))[0]
            if not ready:
                self.silence.ask(self.programs - self.ended)
                continue
            if report not in ready:
                self._cut_ends()
                continue
            chunk = os.read(report, _CHUNK)
            if not chunk:
                self._cut_ends()
                process.wait()
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                self._note(json.loads(line))

    def _cut_ends(self) -> None:
        """End the life if the process with the cut file was killed; else it needed less."""
        if self.cut_process is not None:
            self.life.lost = self.cut_process not in self.ended
            self.cut_process = None
        if self.cut_end is not None:
            os.close(self.cut_end)
            self.cut_end = None

    def _note(self, message: Mapping[str, Any]) -> None:
        life = self.life
        if "held" in message:
            life.lost, life.stopped_at = True, CodeLine.from_message(message["held"])
            life.events = max(life.events, self.cut.line or 0)
        elif "cut" in message:
            life.cut, life.stopped_at = message["cut"], CodeLine.from_message(message["place"])
            self._cut_ends()  # from a former process of the command
            self.cut_process = message["pid"]
            with suppress(ProcessLookupError, AttributeError):  # gone already, or not Linux
                self.cut_end = os.pidfd_open(message["pid"])
        elif "up" in message:
            self.programs.add(message["up"])
        elif "busy" in message:
            self.silence.answered(message["busy"])
        elif "read" in message:
            life.read.append((message["read"], CodeLine.from_message(message["place"])))
        elif "ended" in message:
            self._note_end(message)
        elif "wrote" in message:
            life.writes.append(self._saved(message))
            if message["rank"] == 0:
                life.events = max(life.events, message["events"])

    def _note_end(self, message: Mapping[str, Any]) -> None:
        self.ended.add(message["ended"])
        if message["rank"] == 0:
            life = self.life
            life.events = max(life.events, message["events"])
            life.seconds = max(life.seconds, message["seconds"])
            life.slept = max(life.slept, message["slept"])

    def _saved(self, message: Mapping[str, Any]) -> Saved:
        self.start = message["at"] if self.start is None else self.start
        node = self.nodes[message["rank"]]
        return Saved(
            path=node.name_of(message["wrote"]),
            operation=message["how"],
            place=CodeLine.from_message(message["place"]),
            events=message["events"],
            seconds=message["at"] - self.start,
            change=message["change"],
            source=node.name_of(message["source"]) if message["source"] else None,
            rank=node.rank,
        )


_STEPS = ("step", "epoch", "global_step", "iteration")
_LOGS = (".jsonl", ".ndjson", ".csv", ".tsv")


def read_metrics(folder: Path) -> tuple[Metrics, frozenset[str]]:
    """Count how often each step of each metric was logged; name the files in `outputs` with it."""
    metrics: Metrics = Counter()
    for file in sorted((folder / "mlruns").glob("*/*/metrics/**/*")):
        if file.is_file():
            metrics.update((file.name, value.step) for value in metric_values(file.name, file))
    names = set()
    for file in sorted(path for path in (folder / "outputs").rglob("*") if path.suffix in _LOGS):
        steps = list(_read_steps(file))
        if steps:
            metrics.update((file.name, step) for step in steps)
            names.add(file.relative_to(folder).as_posix())
    return metrics, frozenset(names)


def _read_steps(file: Path) -> Iterator[int]:
    """Return the steps of a table with such a column, or of JSON lines."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    entries: Iterator[Any] = _objects(lines)
    if "sv" in file.suffix:
        entries = csv.DictReader(lines, delimiter="\t" if file.suffix == ".tsv" else ",")
    with suppress(csv.Error):
        for entry in entries:
            step = _step(entry)
            if step is not None:
                yield step


def _objects(lines: list[str]) -> Iterator[dict[Any, Any]]:
    for line in lines:
        with suppress(ValueError):  # half a line, too
            entry = json.loads(line)
            if isinstance(entry, dict):
                yield entry


def _step(entry: dict[Any, Any]) -> int | None:
    """Return the step of an entry, under the first known name."""
    for key in _STEPS:
        value = entry.get(key)
        with suppress(TypeError, ValueError):
            if not isinstance(value, bool):
                return int(value)  # type: ignore[arg-type]
    return None
