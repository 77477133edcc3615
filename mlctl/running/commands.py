"""Run one command in its own processes and folder: everything that runs here goes through this.

A node's folder has `code` (a copy, which the command may change), `outputs/NAME`, `artifacts` (what
it leaves in `./outputs` and `./logs`, and logs as artifacts), `mlruns` (what MLflow logs),
`log.txt`, and `done.json` once it has completed: what was begun and has none is begun again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.assets import folders
from mlctl.dataclasses import dataclass, replace
from mlctl.kinds.expressions import find
from mlctl.rehearsal.folders import pytorch_peers
from mlctl.rehearsal.process import Interpreter, end_tree
from mlctl.running import environments, images
from mlctl.running.model import RunError, RunNode, RunStatus
from mlctl.simulator.control_plane.jobs.mlflow_store import FOLDER as MLRUNS
from mlctl.simulator.control_plane.jobs.mlflow_store import (
    begin_run,
    gather,
    runs,
    sets_experiment,
)

_OPTIONAL = re.compile(r"\$\[\[(.*?)\]\]", re.DOTALL)
_ARTIFACTS = ("outputs", "logs")
LOG = "log.txt"  # what a command prints
_DONE = "done.json"
_LOCK = ".mlctl-run"  # also what says that all in the folder may be replaced
VALUE_TYPES = ("string", "integer", "number", "boolean")  # outputs that are a text in a file
_FILE_TYPES = ("uri_file", "triton_model", *VALUE_TYPES)
_LONGEST_VALUE = 1 << 16  # characters of an output that is a value
_POLL_S = 0.02
_LAST = 20  # lines of a log that are shown
_TAIL = 1 << 16  # bytes of it that are read for them


@dataclass(frozen=True, slots=True)
class Conditions:
    """How commands run: by which Python, with which variables and limit of output."""

    interpreter: Interpreter
    environment: Mapping[str, str]
    max_output: int = 0
    cancelled: Callable[[], bool] = lambda: False
    root: Path = Path()  # the folder of the run, in which a container reads


def lay_out(folder: Path, code: Path | None, outputs: Mapping[str, str], python: str) -> None:
    """Create an empty folder for a node, with its code and places for its outputs.

    That an earlier run has completed is forgotten first: whenever this is broken off, what is left
    of that run is not taken for whole.

    Raises:
        RunError: the code cannot be copied.
    """
    try:
        forget(folder)
        (folder / "code").mkdir(parents=True)
        if code is not None:
            _copy_code(code, folder / "code")
        for name in ("outputs", "inputs", "tmp"):
            (folder / name).mkdir()
        for name in _ARTIFACTS:
            (folder / "artifacts" / name).mkdir(parents=True)
            shutil.rmtree(folder / "code" / name, ignore_errors=True)
            (folder / "code" / name).symlink_to(folder / "artifacts" / name)
        for name, kind in outputs.items():
            if kind not in _FILE_TYPES:
                (folder / "outputs" / name).mkdir()
        environments.lay_out_programs(folder, python)
    except OSError as error:
        raise RunError(f"`{folder}` cannot be laid out: {error.strerror or error}") from None


def lock(folder: Path) -> int:
    """Make the folder, and a lock on it that the end of this process frees; its descriptor.

    Raises:
        OSError: it cannot be made, holds files of somebody else, or another run is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock_file = folder / _LOCK
    if not lock_file.exists() and any(folder.iterdir()):
        raise OSError(errno.ENOTEMPTY, "it has files that no run has left; name a new one")
    descriptor = os.open(lock_file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OSError(errno.EBUSY, "another run is in it; wait for it, or name another") from None
    return descriptor


def forget(folder: Path) -> None:
    """Remove the folder of a node; whenever this is broken off, it has not completed.

    Raises:
        OSError: it is said to have completed, and that cannot be changed.
    """
    (folder / _DONE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def written_value(folder: Path, output: str) -> str | None:
    """Return the text of an output that is a value; None if the command has written none."""
    place = folder / "outputs" / output
    place = place / "output" if place.is_dir() else place  # as mldesigner writes it
    try:
        with place.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_VALUE).strip()
    except OSError:
        return None


def table_of(places: Sequence[Path], folder: Path) -> Path:
    """Create a folder with an MLTable of the files and folders that the rounds of a loop left.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True)
    paths = [{"file" if files.is_file(place) else "folder": str(place)} for place in places]
    text = json.dumps({"type": "mltable", "paths": paths}, indent=1)  # JSON is YAML
    (folder / "MLTable").write_text(text, encoding="utf-8")
    return folder


def _copy_code(code: Path, target: Path) -> None:
    """Copy a folder without what `.amlignore` excludes, or a single file."""
    if files.is_file(code):
        shutil.copy(code, target / code.name)
        return
    for entry in folders.walk(code, folders.read_ignored(code), prune=True):
        place = target / entry.relative
        if entry.is_folder:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(entry.path, place)


def bind(command: str, values: Mapping[str, str]) -> str:
    """Replace the expressions of a command; `values` are by `inputs.NAME`, `outputs.NAME`, ...

    Raises:
        RunError: one names what has no value.
    """

    def part(match: re.Match[str]) -> str:
        inside = match[1]
        bound = all(".".join(expression.path) in values for expression in find(inside))
        return inside if bound else ""

    command = _OPTIONAL.sub(part, command)
    for expression in reversed(list(find(command))):
        name = ".".join(expression.path)
        if name not in values:
            raise RunError(f"`{expression.text}` in the command has no value")
        command = command[: expression.start] + values[name] + command[expression.end :]
    return command


def output_places(node: RunNode, folder: Path) -> dict[str, str]:
    """Return the texts of the outputs of a command, by `outputs.NAME`."""
    return {f"outputs.{name}": shlex.quote(str(folder / "outputs" / name)) for name in node.outputs}


def run(node: RunNode, command: str, folder: Path, conditions: Conditions) -> tuple[RunStatus, str]:
    """Run a command to its end in its folder; how it ended, and why it failed.

    Raises:
        RunError: it cannot be started.
    """
    interpreter = conditions.interpreter
    begin_run(folder / MLRUNS, _run_id(node), folder / "artifacts", round(time.time() * 1000))
    log = folder / LOG
    limit = conditions.max_output and _size(folder) + conditions.max_output
    words = ["/bin/sh", "-c", command]
    if node.image:
        images.remove(folder)
        own = _variables(node, folder, 0, replace(conditions, environment={})).keys() - {"PATH"}
        words = images.words(node, command, folder, conditions.root, sorted(own))
    processes = [
        {
            "folder": str(folder / "code"),
            "log": str(log if rank == 0 else folder / f"log-{rank}.txt"),
            "variables": interpreter.environment(_variables(node, folder, rank, conditions)),
        }
        for rank in range(node.processes)
    ]
    try:
        process = interpreter.start_command(
            words, processes, folder / "command.json", conditions.environment
        )
    except OSError as error:
        raise RunError(f"the command cannot be started: {error.strerror or error}") from None
    try:
        status, why = _wait(process, node, folder, conditions, limit)
        if status is RunStatus.COMPLETED and _is_full(folder, limit):
            return _over_limit(conditions)
        return status, why
    finally:
        end_tree(process.pid)
        process.wait()
        if node.image:
            images.remove(folder)
        gather(folder, folder / "artifacts")


def _wait(
    process: subprocess.Popen[bytes],
    node: RunNode,
    folder: Path,
    conditions: Conditions,
    limit: int,
) -> tuple[RunStatus, str]:
    began = time.monotonic()
    pause = _POLL_S / 8
    while (code := process.poll()) is None:
        if conditions.cancelled():
            return RunStatus.CANCELED, "it was cancelled"
        if conditions.interpreter.over:
            return RunStatus.CANCELED, "the time for the whole run was over (--timeout)"
        if node.timeout is not None and time.monotonic() - began > node.timeout:
            return RunStatus.CANCELED, f"it took longer than its timeout of {node.timeout:g} s"
        if _is_full(folder, limit):
            return _over_limit(conditions)
        time.sleep(pause)
        pause = min(_POLL_S, pause * 1.5)
    if code == 0:
        return RunStatus.COMPLETED, ""
    why = f"it ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
    is_full = not shutil.disk_usage(folder).free
    return RunStatus.FAILED, f"{why}; no space is left in `{folder}`" if is_full else why


def _over_limit(conditions: Conditions) -> tuple[RunStatus, str]:
    return RunStatus.FAILED, f"it wrote more than {conditions.max_output:,} bytes (--max-output)"


def _is_full(folder: Path, limit: int) -> bool:
    return bool(limit) and _size(folder) > limit


def _size(folder: Path) -> int:
    """Count the bytes below a folder that a command may fill."""
    total = 0
    for name in ("code", "outputs", "artifacts", "tmp", MLRUNS, LOG):
        paths = (folder / name).rglob("*") if (folder / name).is_dir() else (folder / name,)
        for path in paths:
            try:
                total += path.lstat().st_size
            except OSError:
                continue
    return total


def _variables(node: RunNode, folder: Path, rank: int, conditions: Conditions) -> dict[str, str]:
    """Return the environment of a process: the user's, the job's, and what Azure ML sets."""
    user = conditions.environment
    run_id = _run_id(node)
    names_experiment = "set_experiment" in node.command or sets_experiment(folder / "code")
    python = Path(conditions.interpreter.python).parent
    places = (folder / "bin", folder / environments.PACKAGES / "bin", python)
    return {
        **{key: value for key, value in user.items() if not key.startswith("MLCTL_")},
        "PATH": os.pathsep.join([*map(str, places), user.get("PATH", os.defpath)]),
        "TMPDIR": str(folder / "tmp"),
        "AZUREML_RUN_ID": run_id,
        "AZUREML_ROOT_RUN_ID": run_id.partition("_")[0],
        "AZUREML_EXPERIMENT_NAME": "local",
        "MLFLOW_TRACKING_URI": (folder / MLRUNS).as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        **({} if names_experiment else {"MLFLOW_RUN_ID": run_id}),
        "PYTHONUNBUFFERED": "1",
        **{f"AZURE_ML_OUTPUT_{name}": str(folder / "outputs" / name) for name in node.outputs},
        **node.variables,
        **_peers(node, rank),
    }


def _run_id(node: RunNode) -> str:
    return node.name.replace(".", "_")


def _peers(node: RunNode, rank: int) -> dict[str, str]:
    """Return what a process of a distributed job must know of the others, all on this machine."""
    if not node.distribution:
        return {}
    if node.distribution == "mpi":
        name = "OMPI_COMM_WORLD_"
        ranks = {f"{name}{part}RANK": str(rank) for part in ("", "LOCAL_")}
        return ranks | {f"{name}{part}SIZE": str(node.processes) for part in ("", "LOCAL_")}
    return pytorch_peers(rank, node.processes, node.processes)


def last_lines(log: Path) -> list[str]:
    """Return the last lines of a log; none if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            return file.read().decode(errors="replace").splitlines()[-_LAST:]
    except OSError:
        return []


def metrics(folder: Path) -> dict[str, float]:
    """Return the last value of each metric that a command has logged by MLflow."""
    return {metric.name: metric.value for run in runs(folder) for metric in run.metrics}


def save(folder: Path, record: Mapping[str, Any]) -> str:
    """Record that a node has completed, so that it can be reused; return the id of its results."""
    output_id = uuid.uuid4().hex
    data = {**record, "made": output_id, "outputs": _marks(folder)}
    files.write(folder / _DONE, json.dumps(data, indent=1).encode())
    return output_id


def saved(folder: Path) -> dict[str, Any] | None:
    """Return what `save` wrote; None if the node has not completed, or its outputs have changed."""
    try:
        record = json.loads((folder / _DONE).read_bytes())
        current = isinstance(record, dict) and record["outputs"] == _marks(folder)
    except (OSError, ValueError, KeyError):
        return None
    return record if current else None


def _marks(folder: Path) -> list[list[Any]]:
    """Return name, size and time of every file among the outputs, sorted by name.

    An output of a sweep is a link to that of a trial, whose files count.
    """
    outputs = folder / "outputs"
    marks = []
    for output in sorted(outputs.iterdir()):
        real = files.real(output)
        for path in sorted(real.rglob("*")) if real.is_dir() else [real]:
            status = path.lstat()
            if not path.is_dir():
                name = f"{output.name}/{path.relative_to(real).as_posix()}"
                marks.append([name, status.st_size, status.st_mtime_ns])
    return marks
