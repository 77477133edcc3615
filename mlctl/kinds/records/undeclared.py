"""Kinds of Azure ML that mlctl has no documents for: the emulator answers about them."""

from __future__ import annotations

from mlctl.kinds.facts import ArmFacts, AzFacts
from mlctl.kinds.kind import Kind

COMPUTE_INSTANCE = Kind(
    name="compute-instance",
    schema_name="computeInstance",
    collection="computes",
    inline_schema={"title": "Compute instance", "properties": {}},
    arm=ArmFacts(
        within="compute",
        tracked=True,
        live_type=(("properties", "computeType"), "ComputeInstance"),
        delay="compute",
    ),
    az=AzFacts(present=False),
)
SCHEDULE = Kind(
    name="schedule",
    schema_name="schedule",
    collection="schedules",
    inline_schema={"title": "Schedule", "properties": {}},
    arm=ArmFacts(delay="schedule"),
    az=AzFacts(present=False),
)
