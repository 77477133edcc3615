"""The kind of a document that does not say it."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds import KINDS, Kind
from mlctl.pointer import Data

_MODEL_TYPES = ("custom_model", "mlflow_model", "triton_model")


def infer(data: Mapping[str, Data]) -> Kind | None:
    """The one kind that a document's fields speak for; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    if "channels" in data or "dependencies" in data or "jobs" in data:
        return None  # a conda file; a pipeline
    if kind == "amlcompute":
        return KINDS["compute"]
    if "endpoint_name" in data or kind == "pipeline" and "component" in data:
        return KINDS["batch-deployment"]
    if kind in _MODEL_TYPES:
        return KINDS["model"]
    if "image" in data or "conda_file" in data or "build" in data:
        return KINDS["environment"]
    if "auth_mode" in data or isinstance(data.get("defaults"), dict):
        return KINDS["batch-endpoint"]
    return None
