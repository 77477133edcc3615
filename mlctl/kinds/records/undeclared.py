"""Kinds of Azure ML that mlctl has no documents for: the emulator answers about them."""

from __future__ import annotations

from mlctl.kinds.kind import Kind

COMPUTE_INSTANCE = Kind(
    name="compute-instance",
    schema_name="computeInstance",
    collection="computes",
    within="compute",
    given={"title": "Compute instance", "properties": {}},
    az=False,
    tracked=True,
    live_type=(("properties", "computeType"), "ComputeInstance"),
    delay="compute",
)
SCHEDULE = Kind(
    name="schedule",
    schema_name="schedule",
    collection="schedules",
    given={"title": "Schedule", "properties": {}},
    az=False,
    delay="schedule",
)
