"""Schedules, as recorded in October 2023 with api-version 2023-06-01-preview."""

from __future__ import annotations

from mlctl.emulator.shapes.shape import (
    ResponseField,
    Shape,
    if_set,
    omitted,
    otherwise,
    section,
    state,
    stored,
    when_done,
)
from mlctl.pointer import Data

_NOTHING_BUT = ("services", "computeId", "identity", "componentId", "notificationSetting")
_JOB: Shape = {
    **dict.fromkeys(("description", "tags", "properties", "displayName"), stored),
    "status": otherwise("NotStarted"),
    "experimentName": stored,
    **dict.fromkeys(_NOTHING_BUT, stored),
    "isArchived": otherwise(default=False),
    "secretsConfiguration": stored,
    "jobType": stored,
    **dict.fromkeys(("settings", "jobs", "inputs", "outputs", "sourceJobId"), stored),
}


def _state(field: ResponseField) -> Data:
    """A schedule that is written over is shown as `Creating`, too."""
    return {"Updating": "Creating"}.get(field.occasion.state) or state(field)


SCHEDULE: Shape = {
    # Who it is, an answer to a PUT does not say.
    **{key: when_done(stored, omitted) for key in ("id", "name", "type")},
    "properties": section(
        {
            "description": stored,
            "tags": otherwise({}),
            "properties": otherwise({}),
            "displayName": stored,
            "isEnabled": otherwise(default=True),
            "trigger": section(
                {
                    "endTime": stored,
                    "startTime": stored,
                    "timeZone": otherwise("UTC"),
                    "triggerType": stored,
                    "expression": if_set,
                }
            ),
            "action": section({"actionType": stored, "jobDefinition": section(_JOB)}),
            "provisioningState": _state,
        }
    ),
    "systemData": when_done(stored, omitted),
}
