"""The kind of a document that does not say it."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds import DOCUMENTS, Kind
from mlctl.pointer import Data

_MODEL_TYPES = ("custom_model", "mlflow_model", "triton_model")
_JOB_KEYS = {"compute", "experiment_name", "queue_settings", "limits"}  # a component has none


def infer(data: Mapping[str, Data]) -> Kind | None:
    """The one kind that a document's fields speak for; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    if data.keys() & {"channels", "dependencies", "jobs"}:
        return None  # a conda file; a pipeline
    tells = {
        "compute": kind == "amlcompute",
        "batch-deployment": "endpoint_name" in data or (kind == "pipeline" and "component" in data),
        "model": kind in _MODEL_TYPES,
        "environment": bool(data.keys() & {"image", "conda_file", "build"}),
        "batch-endpoint": "auth_mode" in data or isinstance(data.get("defaults"), dict),
        "batch-pool": "vm_count" in data and "swagger_url" in data,
        "job": "command" in data and bool(data.keys() & _JOB_KEYS),
    }
    return next((DOCUMENTS[name] for name, told in tells.items() if told), None)
