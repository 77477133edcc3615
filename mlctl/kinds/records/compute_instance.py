"""Compute instances, which mlctl has no documents for: the emulator answers about them."""

from __future__ import annotations

from mlctl.kinds.facts import ArmFacts, AzFacts
from mlctl.kinds.kind import Kind

KIND = Kind(
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
