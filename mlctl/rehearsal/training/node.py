"""A node of a training job: its folder, and the environment of the command."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.rehearsal import folders
from mlctl.rehearsal.training.model import Training
from mlctl.simulator.control_plane.jobs.mlflow_store import sets_experiment

KEPT = ("outputs", "logs")
_ROOT = Path(__file__).parents[3]
_START = """\
import sys
sys.path.insert(0, {folder!r})
from mlctl.rehearsal.worker.trainer import watch
sys.path.remove({folder!r})
watch()
"""


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

    def kept_paths(self) -> list[str]:
        """Return the paths by which the command may name kept files."""
        return [str(self.kept_folder), *(str(self.code / name) for name in KEPT)]

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
