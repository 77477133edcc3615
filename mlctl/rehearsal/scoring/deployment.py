"""The subject of a rehearsal: a scoring script, and how the service would run it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass, field
from mlctl.rehearsal import folders

APPEND_ROW = "append_row"
_OUTPUT = re.compile(r"\$\{\{\s*outputs\.(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A scoring script and the settings of its batch deployment or parallel job.

    `code` is the folder that goes to the nodes. `tries` includes the first one. `timeout` is per
    mini-batch, in seconds. `error_threshold` counts files or rows; -1 means any number.
    `mini_batch_size` counts files or rows, or is `mini_batch_bytes` of rows. `arguments` are those
    of the script, with `${{outputs.NAME}}` for a folder in the output. `endpoint` says whether a
    batch endpoint runs it, which names the folder of its model. With `stand_ins`, missing packages
    are replaced.
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
        """Return the number of slots of all nodes."""
        return self.nodes * self.slots

    def with_outputs(self, folder: Path) -> tuple[str, ...]:
        """Return the arguments of the script, each output being a folder below `folder`."""
        return tuple(
            _OUTPUT.sub(lambda match: str(folder / match[1]), argument)
            for argument in self.arguments
        )


def lay_out(folder: Path, deployment: Deployment) -> None:
    """Create the folder of a node: code (as links), model, logs and scratch.

    The model's folders are real ones: MLflow refuses links.
    """
    for name in ("code", "logs", "tmp", "home", "model"):
        (folder / name).mkdir(parents=True)
    folders.link_code(folder / "code", deployment.code)
    if deployment.model is not None:
        place = folder / "model" / deployment.model.name
        if files.is_folder(deployment.model):
            folders.copy_code(place, deployment.model, folder)
        else:
            place.symlink_to(files.real(deployment.model))


def variables(
    deployment: Deployment, node: Path, output: Path, environment: Mapping[str, str], hash_seed: int
) -> dict[str, str]:
    """Return the environment of a worker: the user's, the deployment's and the service's.

    Sets are ordered differently in each run, as on the service.
    """
    model = {"AZUREML_MODEL_DIR": str(node / "model")} if deployment.endpoint else {}
    return {
        **folders.variables(node, environment, deployment.variables),
        "PYTHONHASHSEED": str(hash_seed),
        **model,
        "AZUREML_BI_OUTPUT_PATH": str(output),
    }
