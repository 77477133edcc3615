"""Schedules, which mlctl has no documents for: the emulator answers about them."""

from __future__ import annotations

from mlctl.kinds.facts import ArmFacts, AzFacts
from mlctl.kinds.kind import Kind

KIND = Kind(
    name="schedule",
    schema_name="schedule",
    collection="schedules",
    inline_schema={"title": "Schedule", "properties": {}},
    arm=ArmFacts(delay="schedule"),
    az=AzFacts(present=False),
)
