"""What is rehearsed: a scoring script, and how the service would run it."""

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
            _OUTPUT.sub(lambda match: str(folder / match[1]), argument)
            for argument in self.arguments
        )


def lay_out(folder: Path, deployment: Deployment) -> None:
    """The folder of a node: the code (links), the model, room for logs and scratch.

    The model's folders are real ones: MLflow refuses those that are links.
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
    """The environment of a worker: the user's, the deployment's, the service's own variables.

    Sets have another order in each run, as they have on the service.
    """
    model = {"AZUREML_MODEL_DIR": str(node / "model")} if deployment.endpoint else {}
    return {
        **folders.variables(node, environment, deployment.variables),
        "PYTHONHASHSEED": str(hash_seed),
        **model,
        "AZUREML_BI_OUTPUT_PATH": str(output),
    }
