"""Schedules, as recorded in October 2023 with api-version 2023-06-01-preview."""

from __future__ import annotations

from mlctl.emulator.shapes.shape import (
    Place,
    Shape,
    held,
    if_set,
    omitted,
    otherwise,
    section,
    state,
    when_done,
)
from mlctl.pointer import Data

_NOTHING_BUT = ("services", "computeId", "identity", "componentId", "notificationSetting")
_JOB: Shape = {
    **dict.fromkeys(("description", "tags", "properties", "displayName"), held),
    "status": otherwise("NotStarted"),
    "experimentName": held,
    **dict.fromkeys(_NOTHING_BUT, held),
    "isArchived": otherwise(default=False),
    "secretsConfiguration": held,
    "jobType": held,
    **dict.fromkeys(("settings", "jobs", "inputs", "outputs", "sourceJobId"), held),
}


def _state(place: Place) -> Data:
    """A schedule that is written over is told as `Creating`, too."""
    return {"Updating": "Creating"}.get(place.occasion.state) or state(place)


SCHEDULE: Shape = {
    # Who it is, an answer to a PUT does not say.
    **{key: when_done(held, omitted) for key in ("id", "name", "type")},
    "properties": section(
        {
            "description": held,
            "tags": otherwise({}),
            "properties": otherwise({}),
            "displayName": held,
            "isEnabled": otherwise(default=True),
            "trigger": section(
                {
                    "endTime": held,
                    "startTime": held,
                    "timeZone": otherwise("UTC"),
                    "triggerType": held,
                    "expression": if_set,
                }
            ),
            "action": section({"actionType": held, "jobDefinition": section(_JOB)}),
            "provisioningState": _state,
        }
    ),
    "systemData": when_done(held, omitted),
}
