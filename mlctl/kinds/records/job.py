"""Command jobs: a document of one runs once, and is no resource."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_KEYS = {"compute", "experiment_name", "queue_settings", "limits"}  # a component has none


def _inferred(data: Mapping[str, Data]) -> bool:
    return "command" in data and bool(data.keys() & _KEYS)


JOB = Kind(
    name="job",
    schema_name="commandJob",
    collection="jobs",
    documents=("commandJob",),
    runs=True,
    inferred=_inferred,
    vm_size=("resources", "instance_type"),
)
