"""Models."""

from __future__ import annotations

from mlctl.kinds.kind import Kind

_TYPES = ("custom_model", "mlflow_model", "triton_model")

KIND = Kind(
    name="model",
    schema_name="model",
    collection="models",
    versioned=True,
    inferred=lambda data: str(data.get("type", "")).casefold() in _TYPES,
)
