"""Jobs: command, pipeline, sweep, Spark, AutoML.

A document of a job describes a run, not a resource.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds.facts import QuotaFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_KEYS = {"compute", "experiment_name", "queue_settings", "limits"}  # a component has none
_OF_A_JOB = {"compute", "experiment_name", "settings"}  # of a pipeline: a component has none
# What a job of a type has, one of them at least.
_TELLING = {"sweep": {"trial"}, "automl": {"task"}, "spark": {"compute", "resources"}}


def _inferred(data: Mapping[str, Data]) -> bool:
    if str(data.get("type", "")).casefold() == "pipeline" and "jobs" in data:
        return "name" not in data or bool(data.keys() & _OF_A_JOB) or _given(data.get("inputs"))
    telling = _TELLING.get(str(data.get("type", "")).casefold())
    return bool(data.keys() & (telling or _KEYS)) and (bool(telling) or "command" in data)


def _given(inputs: Data) -> bool:
    """Whether an input has a value: a component only declares types."""
    values = inputs.values() if isinstance(inputs, dict) else ()
    return any(not isinstance(value, dict) or value.keys() & {"path", "value"} for value in values)


KIND = Kind(
    name="job",
    schema_name="job",
    collection="jobs",
    steps=("jobs",),
    not_run={
        "sparkJob": "the simulated cloud has no Spark pools",
        "autoMLJob": "the simulated cloud trains no models",
    },
    inferred=_inferred,
    quota=QuotaFacts(vm_size=("resources", "instance_type")),
)
