"""Schedules, as recorded in October 2023 and February 2024 with api-version 2023-06-01-preview."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.job import JOB_PROPERTIES
from mlctl.emulator.shapes.shape import (
    OMITTED,
    ResponseField,
    Shape,
    if_set,
    omitted,
    otherwise,
    render,
    section,
    state,
    stored,
    when_done,
)
from mlctl.pointer import Data


def _job(field: ResponseField) -> Data:
    """The job of a schedule, completed as a job is. What it has of a run comes after creation."""
    job = field.stored
    if not isinstance(job, Mapping):
        return job
    shape = JOB_PROPERTIES.get(str(job.get("jobType")), JOB_PROPERTIES["Command"])
    overrides: Shape = dict.fromkeys(("tags", "properties", "parameters"), stored)
    overrides = {**overrides, "status": otherwise("NotStarted")}
    if job.get("jobType") == "Pipeline":
        overrides = {**overrides, "services": stored}
    elif job.get("queueSettings") is None:
        overrides = {
            **overrides,
            "services": when_done(otherwise({})),
            "queueSettings": when_done(_queue),
        }
    else:
        overrides = {**overrides, "services": otherwise({}), "queueSettings": _queue}
    overrides = {key: rule for key, rule in overrides.items() if key in shape}
    try:
        return render({**shape, **overrides}, job, field.occasion)
    except (AttributeError, TypeError):
        return job  # values of other types are taken unread, and shown as they are


def _queue(field: ResponseField) -> Data:
    return {"jobTier": "Null", "priority": None, **(field.stored or {})}


def _state(field: ResponseField) -> Data:
    """A schedule that is written over is shown as `Creating`, too."""
    return {"Updating": "Creating"}.get(field.occasion.state) or state(field)


def _frequency(field: ResponseField) -> Data:
    """`Week`, in whatever letter case it was sent (recorded: schedule-put-recurrence-disable)."""
    return field.stored.capitalize() if isinstance(field.stored, str) else if_set(field)


def _pattern(field: ResponseField) -> Data:
    """When a recurrence is due; null where it has neither hours nor minutes.

    Origin: azure-ai-ml's recording test_load_recurrence_schedule_no_pattern, February 2024.
    """
    if field.stored is None:
        return OMITTED
    is_empty = isinstance(field.stored, Mapping) and not any(field.stored.values())
    return None if is_empty else section(_PATTERN)(field)


_PATTERN: Shape = dict.fromkeys(("hours", "minutes", "weekDays", "monthDays"), stored)
SCHEDULE: Shape = {
    # Of who it is only the name is shown, and not in an answer to a PUT.
    "id": omitted,
    "name": when_done(stored, omitted),
    "type": omitted,
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
                    "frequency": _frequency,
                    "interval": if_set,
                    "schedule": _pattern,
                }
            ),
            "action": section({"actionType": stored, "jobDefinition": _job}),
            "provisioningState": _state,
        }
    ),
    "systemData": when_done(section(SYSTEM_DATA), omitted),
}
