"""Schedules, which start jobs repeatedly."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds.facts import ArmFacts, ContentFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_ACTION = ("properties", "action", "jobDefinition")
_ACTIONS = {"create_job", "create_monitor", "import_data"}
_ONLY_CHECKED = "mlctl only checks it; create it with `az ml schedule create`"


def _trigger(row: Mapping[str, Data]) -> Data:
    trigger = row.get("trigger")
    if not isinstance(trigger, dict):
        return None
    every = f"every {trigger.get('interval')} {trigger.get('frequency')}"
    return f"{trigger.get('expression') or every} {trigger.get('time_zone') or ''}".strip()


KIND = Kind(
    name="schedule",
    schema_name="schedule",
    collection="schedules",
    inferred=lambda data: "trigger" in data and bool(data.keys() & _ACTIONS),
    not_run={"monitor": _ONLY_CHECKED, "import": _ONLY_CHECKED, "spark": _ONLY_CHECKED},
    arm=ArmFacts(
        patchable=(),
        unsent={(*_ACTION, "queueSettings"): {"jobTier": "Null", "priority": None}},
        delay="schedule",
    ),
    content=ContentFacts(job=("create_job",)),
    computed={"Trigger": _trigger},
)
