"""What is rehearsed: a scoring script, and how the service would run it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlctl import files

APPEND_ROW = "append_row"
_IGNORED = {".git", ".venv", "__pycache__", "node_modules", ".mlctl"}


class RehearsalError(ValueError):
    """A rehearsal that cannot be; the text is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A scoring script and the settings of its batch deployment.

    `code` is the folder that goes to the nodes. `tries` are `retry_settings.max_retries`, which
    counts the first one too. `timeout` is of one mini-batch, in seconds. `error_threshold` counts
    files; -1 is "any number". `mini_batch_size` counts files.
    """

    script: Path
    code: Path
    model: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 2
    slots: int = 1
    mini_batch_size: int = 10
    tries: int = 3
    timeout: float = 30.0
    error_threshold: int = -1
    output_action: str = APPEND_ROW
    output_file_name: str = "predictions.csv"

    @property
    def workers(self) -> int:
        """The slots of all nodes."""
        return self.nodes * self.slots


MiniBatches = tuple[tuple[str, ...], ...]
_MOST_FILES = 20_000
_SMALL = 1 << 20  # bytes of a file of code that is copied
_COPIED = 1 << 26  # bytes; a bigger input is read where it is


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of an input: their names relative to a folder, in order."""

    root: Path
    names: tuple[str, ...]

    @classmethod
    def find(cls, path: Path) -> Inputs:
        """The files below a folder; a file is the only one of its own.

        Raises:
            RehearsalError: there are none.
        """
        real = files.real(path)
        if files.is_file(real):
            return cls(real.parent, (real.name,))
        if not files.is_folder(real):
            raise RehearsalError(f"there is no input `{path}`")
        found = sorted(one for one in real.rglob("*") if files.is_file(one))
        if not found:
            raise RehearsalError(f"the input `{path}` has no files")
        return cls(real, tuple(one.relative_to(real).as_posix() for one in found))

    @property
    def copied(self) -> bool:
        """Whether each run gets a copy, which a script can damage."""
        return sum((self.root / one).stat().st_size for one in self.names) <= _COPIED

    def lay_out(self, folder: Path) -> Path:
        """Where a run finds the files: a copy in `folder`, or the files themselves."""
        if not self.copied:
            return self.root
        for one in self.names:
            (folder / one).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / one, folder / one)
        return folder


def mini_batches(names: Sequence[str], size: int) -> MiniBatches:
    """The files in mini-batches of `size`; the last may have fewer."""
    return tuple(tuple(names[at : at + size]) for at in range(0, len(names), size))


def lay_out(folder: Path, deployment: Deployment) -> None:
    """The folder of a node: the code (links), the model, room for logs and scratch.

    The model's folders are real ones: MLflow refuses those that are links.
    """
    for name in ("code", "logs", "tmp", "home", "model"):
        (folder / name).mkdir(parents=True)
    link_code(folder / "code", deployment.code)
    if deployment.model is not None:
        place = folder / "model" / deployment.model.name
        if files.is_folder(deployment.model):
            copy_code(place, deployment.model, folder)
        else:
            place.symlink_to(files.real(deployment.model))


def copy_code(folder: Path, code: Path, without: Path) -> None:
    """A copy of a folder that a program can write to; big files are links.

    `without` is a folder that is left out, and all that no node gets.

    Raises:
        RehearsalError: it has more files than the service takes.
    """
    count = 0
    for at, folders, names in os.walk(code):
        here = Path(at)
        keep = [one for one in folders if one not in _IGNORED and here / one != without]
        folders[:] = [one for one in keep if not (here / one).is_symlink()]
        target = folder / here.relative_to(code)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            source = here / name
            count += 1
            if count > _MOST_FILES:
                raise RehearsalError(f"`{code}` has more than {_MOST_FILES:,} files")
            if files.is_file(source) and source.stat().st_size <= _SMALL:
                shutil.copy(source, target / name)
            else:
                (target / name).symlink_to(files.real(source))


def link_code(folder: Path, code: Path) -> None:
    """Links to what is in a folder of code, without what no node gets."""
    for one in sorted(code.iterdir()):
        if one.name not in _IGNORED:
            (folder / one.name).symlink_to(files.real(one))


def variables(
    deployment: Deployment, node: Path, output: Path, environment: Mapping[str, str], hash_seed: int
) -> dict[str, str]:
    """The environment of a worker: the user's, the deployment's, the service's own variables.

    What programs write to a home or a scratch folder stays on the node. Sets have another order in
    each run, as they have on the service.
    """
    home = environment.get("HOME", "")
    return {
        **{key: value for key, value in environment.items() if not key.startswith("MLCTL_")},
        "PYTHONUSERBASE": environment.get("PYTHONUSERBASE", str(Path(home, ".local"))),
        **deployment.variables,
        "HOME": str(node / "home"),
        "TMPDIR": str(node / "tmp"),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AZUREML_MODEL_DIR": str(node / "model"),
        "AZUREML_BI_OUTPUT_PATH": str(output),
    }
