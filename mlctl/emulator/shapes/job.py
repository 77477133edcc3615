"""What the service computes in answers about jobs and schedules."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.shapes.shape import (
    OMITTED,
    ResponseField,
    Shape,
    computed,
    named,
    render,
    section,
    shape_of,
)
from mlctl.pointer import Data

_COMMAND = "Command"
_KINDS = (_COMMAND, "Pipeline", "Sweep")


def kind_of(job: Mapping[str, Data]) -> str:
    """Return the type by which the properties of a job are shown: its own, if it has a shape."""
    kind = str(job.get("jobType"))
    return kind if kind in _KINDS else _COMMAND


@computed
def _inputs(field: ResponseField) -> Data:
    """Inputs: a literal has a value, all others are mounted unless they say otherwise."""
    values = field.stored or {}
    return {name: _input(value, field) for name, value in values.items()}


def _input(value: Data, field: ResponseField) -> Data:
    is_literal = str(value.get("jobInputType")).casefold() == "literal"
    return render(named("literal-input" if is_literal else "input"), value, field.occasion)


@computed
def _queue(field: ResponseField) -> Data:
    """A cluster's jobs have a tier of the name `Null`; earlier they had no queue settings."""
    stored = field.stored or {}
    if field.occasion.api_version < "2024":
        return {"jobTier": None, "priority": None, **stored} if stored else None
    return {**stored, "jobTier": stored.get("jobTier") or "Null"}


@computed
def _scheduled_queue(field: ResponseField) -> Data:
    return {"jobTier": "Null", "priority": None, **(field.stored or {})}


@computed
def _scheduled_job(field: ResponseField) -> Data:
    """The job of a schedule, completed as a job is. What it has of a run comes after creation."""
    job = field.stored
    if not isinstance(job, Mapping):
        return job
    shape = named(kind_of(job))
    overrides = {"tags, properties, parameters": "stored", "status": 'or "NotStarted"'}
    if job.get("jobType") == "Pipeline":
        overrides["services"] = "stored"
    elif job.get("queueSettings") is None:
        overrides |= {"services": "done | or {}", "queueSettings": "done | scheduled_queue"}
    else:
        overrides |= {"services": "or {}", "queueSettings": "scheduled_queue"}
    known: Shape = {key: rule for key, rule in shape_of(overrides).items() if key in shape}
    try:
        return render({**shape, **known}, job, field.occasion)
    except (AttributeError, TypeError):
        return job  # values of other types are taken unread, and shown as they are


@computed
def _schedule_state(field: ResponseField) -> Data:
    """A schedule that is written over is shown as `Creating`, too."""
    state = field.occasion.state
    return "Creating" if state == "Updating" else state


@computed
def _frequency(field: ResponseField) -> Data:
    """`Week`, in whatever letter case it was sent (recorded: schedule-put-recurrence-disable)."""
    if isinstance(field.stored, str):
        return field.stored.capitalize()
    return OMITTED if field.stored is None else field.stored


@computed
def _pattern(field: ResponseField) -> Data:
    """When a recurrence is due; null where it has neither hours nor minutes.

    Origin: azure-ai-ml's recording test_load_recurrence_schedule_no_pattern, February 2024.
    """
    if field.stored is None:
        return OMITTED
    is_empty = isinstance(field.stored, Mapping) and not any(field.stored.values())
    return None if is_empty else section(named("recurrence-pattern"))(field)
