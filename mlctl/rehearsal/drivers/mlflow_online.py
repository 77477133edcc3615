"""Answer requests with an MLflow model, as an online deployment without a script does.

A request has `input_data` (which the service documents), or `inputs`, `instances`,
`dataframe_split` or `dataframe_records`, as MLflow's own server accepts them.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

_KEYS = ("input_data", "dataframe_split", "dataframe_records", "inputs", "instances")
_state: dict[str, Any] = {}


def init() -> None:
    """Load the only model in the model's folder."""
    models = sorted(Path(os.environ["AZUREML_MODEL_DIR"]).rglob("MLmodel"))
    _state["model"] = import_module("mlflow.pyfunc").load_model(str(models[0].parent))
    _state["pandas"] = import_module("pandas")


def run(raw_data: str) -> Any:
    """Return the predictions: a list, or a list of rows."""
    request = json.loads(raw_data)
    key = next((key for key in _KEYS if isinstance(request, dict) and key in request), None)
    if key is None:
        raise ValueError("Request must contain a top level key named 'input_data'")
    parameters = request.get("params")
    data = _data(request[key])
    model = _state["model"]
    return _plain(model.predict(data, params=parameters) if parameters else model.predict(data))


def _data(values: Any) -> Any:
    """Return a data frame of `columns` and `data` or of named rows; arrays for anything else."""
    pandas = _state["pandas"]
    if isinstance(values, dict) and "data" in values:
        frame = {key: values[key] for key in ("index", "columns") if values.get(key) is not None}
        return pandas.DataFrame(values["data"], **frame)
    if isinstance(values, list) and values and isinstance(values[0], dict):
        return pandas.DataFrame(values)
    numpy = import_module("numpy")
    if isinstance(values, dict):
        return {name: numpy.array(column) for name, column in values.items()}
    return numpy.array(values)


def _plain(answer: Any) -> Any:
    """Convert predictions to JSON values; a frame to its rows."""
    pandas = _state["pandas"]
    if isinstance(answer, pandas.Series):
        answer = answer.to_frame()
    if isinstance(answer, pandas.DataFrame):
        return json.loads(answer.to_json(orient="records"))
    return answer.tolist() if hasattr(answer, "tolist") else answer
