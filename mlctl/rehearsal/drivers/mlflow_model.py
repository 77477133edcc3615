"""Score CSV, JSON and Parquet files with an MLflow model, as the service's own driver does.

The result has a row for each row of a file: its number, the prediction, the file's name.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

_READERS = {".csv": "read_csv", ".json": "read_json", ".parquet": "read_parquet"}
_state: dict[str, Any] = {}


def init() -> None:
    """Load the only model in the model's folder."""
    root = Path(os.environ["AZUREML_MODEL_DIR"])
    models = sorted(root.rglob("MLmodel")) or [folder / "MLmodel" for folder in root.iterdir()]
    _state["model"] = import_module("mlflow.pyfunc").load_model(str(models[0].parent))
    _state["pandas"] = import_module("pandas")


def run(mini_batch: list[str]) -> Any:
    """Return a data frame of `row`, `prediction` and `file`."""
    pandas, parts = _state["pandas"], []
    for path in map(Path, mini_batch):
        data = getattr(pandas, _READERS[path.suffix.lower()])(path)
        answers = _state["model"].predict(data)
        table = pandas.DataFrame({"row": range(len(data)), "prediction": list(answers)})
        parts.append(table.assign(file=path.name))
    return pandas.concat(parts)
