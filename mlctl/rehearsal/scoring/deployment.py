"""What is rehearsed: a scoring script, and how the service would run it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlctl import files
from mlctl.rehearsal.inputs import RehearsalError

APPEND_ROW = "append_row"
_OUTPUT = re.compile(r"\$\{\{\s*outputs\.(\w+)\s*\}\}")
_IGNORED = {".git", ".venv", "__pycache__", "node_modules", ".mlctl"}


@dataclass(frozen=True, slots=True)
class Deployment:
    """A scoring script and the settings of its batch deployment, or of its parallel job.

    `code` is the folder that goes to the nodes. `tries` counts the first one too. `timeout` is of
    one mini-batch, in seconds. `error_threshold` counts files or rows; -1 is "any number".
    `mini_batch_size` counts files or rows, or is `mini_batch_bytes` of rows. `arguments` are those
    of the script, with `${{outputs.NAME}}` for a folder in the output. `endpoint` says that a
    batch endpoint runs it, which names the folder of its model. With `stand_ins` packages that
    are not here are replaced.
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
    arguments: tuple[str, ...] = ()
    tabular: bool = False
    mini_batch_bytes: int | None = None
    partition_keys: tuple[str, ...] = ()
    endpoint: bool = True
    stand_ins: bool = False

    @property
    def workers(self) -> int:
        """The slots of all nodes."""
        return self.nodes * self.slots

    def with_outputs(self, folder: Path) -> tuple[str, ...]:
        """The arguments of the script, each output a folder of its own below `folder`."""
        return tuple(
            _OUTPUT.sub(lambda found: str(folder / found[1]), one) for one in self.arguments
        )


_MOST_FILES = 20_000
_SMALL = 1 << 20  # bytes of a file of code that is copied


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
    model = {"AZUREML_MODEL_DIR": str(node / "model")} if deployment.endpoint else {}
    return {
        **{key: value for key, value in environment.items() if not key.startswith("MLCTL_")},
        "PYTHONUSERBASE": environment.get("PYTHONUSERBASE", str(Path(home, ".local"))),
        **deployment.variables,
        "HOME": str(node / "home"),
        "TMPDIR": str(node / "tmp"),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONDONTWRITEBYTECODE": "1",
        **model,
        "AZUREML_BI_OUTPUT_PATH": str(output),
    }
