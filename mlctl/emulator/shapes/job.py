"""Jobs, as recorded: command jobs, jobs of endpoints read back, and answers to invocations.

The service runs a job of an endpoint as a pipeline job, whose experiment is the endpoint. Cards:
job-get-command, job-get-failed, job-put-create, job-get-of-invoke, invoke-uri-folder-2023-04 (that
of March 2023, invoke-uri-file, is an earlier shape). Schedules were recorded in October 2023 and
February 2024 with api-version 2023-06-01-preview.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import (
    OMITTED,
    ResponseField,
    Rule,
    Shape,
    always,
    if_any,
    if_set,
    keys,
    null,
    omitted,
    otherwise,
    render,
    resource,
    section,
    since,
    state,
    stored,
    time,
    versions,
    when_done,
)
from mlctl.pointer import Data

_NAMED = "2025-01-01-preview"  # parentJobName, dockerArgsList and names of outputs came with it


def _of_previews(rule: Rule, first: str = "2023-04-01") -> Rule:
    """A key of previews until April 2024, which no stable version has."""
    return versions(rule, preview=first, end="2024-07")


def _since_previews(rule: Rule) -> Rule:
    return versions(rule, preview="2022-12-01")


def _each_value(shape: Shape) -> Rule:
    """Every value of a map, in one shape."""

    def value(field: ResponseField) -> Data:
        stored = field.stored or {}
        return {name: render(shape, value, field.occasion) for name, value in stored.items()}

    return value


def _inputs(field: ResponseField) -> Data:
    """Inputs: a literal has a value, all others are mounted unless they say otherwise."""
    values = field.stored or {}
    return {name: _input(value, field) for name, value in values.items()}


def _input(value: Data, field: ResponseField) -> Data:
    is_literal = str(value.get("jobInputType")).casefold() == "literal"
    return render(_LITERAL if is_literal else _INPUT, value, field.occasion)


def _service(kind: str, **extra: Rule) -> Shape:
    return {kind: stored, "port": null, "endpoint": stored, **extra}


def _queue(field: ResponseField) -> Data:
    """A cluster's jobs have a tier of the name `Null`; earlier they had no queue settings."""
    stored = field.stored or {}
    if field.occasion.api_version < "2024":
        return {"jobTier": None, "priority": None, **stored} if stored else None
    return {**stored, "jobTier": stored.get("jobTier") or "Null"}


_JOB_SYSTEM_DATA: Shape = {"createdAt": time, "createdBy": stored, "createdByType": stored}
_NODES = versions(null, stable="2023-04-01", preview="2022-10-01")
_STUDIO = _service("jobServiceType", status=null, errorMessage=null, properties=null, nodes=_NODES)
_ALL: Shape = {  # of the properties of every job
    "description": stored,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "parentJobName": since(_NAMED, null),
    "displayName": stored,
    "status": stored,
    "experimentName": otherwise("Default"),
    "services": _each_value(_STUDIO),
    "computeId": stored,
    "isArchived": otherwise(default=False),
    "identity": stored,
    "componentId": since("2022-10-01", stored),
    "notificationSetting": versions(stored, stable="2024-04-01", preview="2023-02-01"),
    "secretsConfiguration": _of_previews(null),
    "jobType": stored,
}
_RESOURCES: Shape = {
    "instanceCount": otherwise(1),
    "maxInstanceCount": _of_previews(stored),
    "instanceType": stored,
    "locations": _of_previews(stored, "2023-02-01"),
    "properties": stored,
    "shmSize": since("2022-10-01", otherwise("2g")),
    "dockerArgs": since("2022-10-01", stored),
    "dockerArgsList": since(_NAMED, null),
}
_LITERAL: Shape = {"description": stored, "value": stored, "jobInputType": stored}
_INPUT: Shape = {
    "description": stored,
    "uri": if_set,
    "mode": otherwise("ReadOnlyMount"),
    "value": if_set,
    "jobInputType": stored,
}
_OUTPUT: Shape = {
    "description": stored,
    "uri": stored,
    "assetName": _since_previews(stored),
    "assetVersion": _of_previews(stored, "2022-12-01"),
    "mode": otherwise("ReadWriteMount"),
    "autoDeleteSetting": _of_previews(null),
    "pathOnCompute": _of_previews(null, "2024-01-01"),
    "jobOutputType": stored,
}
_COMMAND: Shape = {
    **_ALL,
    "resources": section(_RESOURCES),
    **keys(stored, "codeId", "command", "environmentId"),
    "inputs": _inputs,
    "outputs": _each_value(_OUTPUT),
    "distribution": stored,
    "autologgerSettings": _of_previews(null, "2022-10-01"),
    "limits": if_any({"timeout": stored, "jobLimitsType": stored}),
    "environmentVariables": stored,
    "parameters": otherwise({}),
    "queueSettings": versions(_queue, stable="2023-10-01", preview="2023-02-01"),
}
_PIPELINE: Shape = {
    **_ALL,
    **keys(stored, "settings", "jobs"),
    "inputs": lambda field: _inputs(field) if field.stored is not None else None,
    "outputs": stored,
    "sourceJobId": since("2022-10-01", stored),
}
_SWEEP: Shape = {
    **_ALL,
    **keys(stored, "searchSpace", "samplingAlgorithm", "limits", "earlyTermination", "objective"),
    **keys(stored, "trial"),
    "resources": _since_previews(stored),
    "inputs": _inputs,
    "outputs": _each_value(_OUTPUT),
    "queueSettings": versions(_queue, stable="2023-10-01", preview="2023-02-01"),
}
_INVOCATION: Shape = {
    "provisioningState": always("Succeeded"),
    "inputData": _each_value(
        {
            "description": stored,
            "uri": if_set,
            "value": if_set,
            "mode": otherwise("ReadOnlyMount"),
            "jobInputType": stored,
        }
    ),
    "outputData": if_set,
    "compute": section(
        {
            "target": stored,
            "instanceCount": stored,
            "isLocal": always(value=False),
            **keys(null, "location", "instanceType", "properties"),
        }
    ),
    "output": always({"datastoreId": None, "path": None}),
    "retrySettings": stored,
    "status": stored,
    "interactionEndpoints": _each_value(_service("jobEndpointType", properties=null)),
    "tags": otherwise({}),
    "properties": otherwise({}),
    "name": stored,
}


def _job(properties: Shape, system_data: Shape = _JOB_SYSTEM_DATA) -> Shape:
    return resource(section(properties), section(system_data))


JOB_PROPERTIES: Mapping[str, Shape] = {
    "Command": _COMMAND,
    "Pipeline": _PIPELINE,
    "Sweep": _SWEEP,
}
JOBS: Mapping[str, Shape] = {kind: _job(shape) for kind, shape in JOB_PROPERTIES.items()}
CHILD: Shape = {key: rule for key, rule in JOBS["Pipeline"].items() if key != "properties"}
INVOCATION: Shape = _job(
    _INVOCATION,
    {
        "createdAt": time,
        "createdBy": stored,
        "lastModifiedAt": time,
        "lastModifiedBy": stored,
        "createdByType": omitted,
    },
)


# Runs, as the run history keeps them, from the recordings of azure-ai-ml's tests (pipeline_job,
# test_pipeline_job_get_child_run).
RUN: Shape = {
    **keys(stored, "runNumber", "rootRunId", "createdUtc", "createdBy", "userId"),
    **keys(null, "token", "tokenExpiryTimeUtc", "error", "warnings"),
    "revision": otherwise(1),
    "statusRevision": otherwise(0),
    **keys(stored, "runUuid", "parentRunUuid", "rootRunUuid"),
    "lastStartTimeUtc": null,
    "currentComputeTime": null,
    "computeDuration": stored,
    "effectiveStartTimeUtc": null,
    **keys(stored, "lastModifiedBy", "lastModifiedUtc", "duration", "cancelationReason"),
    "currentAttemptId": null,
    **keys(stored, "runId", "parentRunId", "experimentId", "status", "startTimeUtc", "endTimeUtc"),
    "scheduleId": null,
    **keys(stored, "displayName", "name", "dataContainerId", "description"),
    "hidden": otherwise(default=False),
    "runType": stored,
    "runTypeV2": stored,
    "properties": otherwise({}),
    "parameters": otherwise({}),
    "actionUris": otherwise({}),
    "scriptName": null,
    "target": stored,
    "uniqueChildRunComputeTargets": always([]),
    "tags": otherwise({}),
    "settings": always({}),
    "services": always({}),
    "inputDatasets": always([]),
    "outputDatasets": always([]),
    **keys(null, "runDefinition", "jobSpecification", "primaryMetricName", "createdFrom"),
    **keys(null, "cancelUri", "completeUri", "diagnosticsUri", "computeRequest", "compute"),
    **keys(null, "retainForLifetimeOfWorkspace", "queueingInfo", "inputs", "outputs"),
}


def _scheduled_job(field: ResponseField) -> Data:
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
            "queueSettings": when_done(_scheduled_queue),
        }
    else:
        overrides = {**overrides, "services": otherwise({}), "queueSettings": _scheduled_queue}
    overrides = {key: rule for key, rule in overrides.items() if key in shape}
    try:
        return render({**shape, **overrides}, job, field.occasion)
    except (AttributeError, TypeError):
        return job  # values of other types are taken unread, and shown as they are


def _scheduled_queue(field: ResponseField) -> Data:
    return {"jobTier": "Null", "priority": None, **(field.stored or {})}


def _schedule_state(field: ResponseField) -> Data:
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
            "action": section({"actionType": stored, "jobDefinition": _scheduled_job}),
            "provisioningState": _schedule_state,
        }
    ),
    "systemData": when_done(section(SYSTEM_DATA), omitted),
}
