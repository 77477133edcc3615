"""Jobs, as recorded: command jobs, jobs of endpoints read back, and answers to invocations.

The service runs a job of an endpoint as a pipeline job, whose experiment is the endpoint. Cards:
job-get-command, job-get-failed, job-put-create, job-get-of-invoke, invoke-uri-file.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.shapes.shape import (
    Place,
    Rule,
    Shape,
    always,
    held,
    if_any,
    if_set,
    null,
    otherwise,
    preview_since,
    section,
    since,
    tell,
    time,
    until,
)
from mlctl.pointer import Data

_NAMED = "2025-01-01-preview"  # parentJobName, dockerArgsList and names of outputs came with it


def _of_2023(rule: Rule) -> Rule:
    """A key of the previews of 2023, which neither 2024-04-01 nor the later ones have."""
    return until("2024", preview_since("2023", rule))


def _of_previews(rule: Rule) -> Rule:
    return preview_since("2023", rule)


def _each(shape: Shape) -> Rule:
    """Every value of a map, in one shape."""

    def told(place: Place) -> Data:
        stored = place.stored or {}
        return {name: tell(shape, value, place.occasion) for name, value in stored.items()}

    return told


def _service(kind: str, **extra: Rule) -> Shape:
    return {kind: held, "port": null, "endpoint": held, **extra}


def _queue(place: Place) -> Data:
    """A cluster's jobs have a tier of the name `Null`; earlier they had no queue settings."""
    stored = place.stored or {}
    if place.occasion.api_version < "2024":
        return {"jobTier": None, "priority": None, **stored} if stored else None
    return {**stored, "jobTier": stored.get("jobTier") or "Null"}


SYSTEM_DATA: Shape = {"createdAt": time, "createdBy": held, "createdByType": held}
_STUDIO = _service("jobServiceType", status=null, errorMessage=null, properties=null, nodes=null)
_ALL: Shape = {  # of the properties of every job
    "description": held,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "parentJobName": since(_NAMED, null),
    "displayName": held,
    "status": held,
    "experimentName": otherwise("Default"),
    "services": _each(_STUDIO),
    "computeId": held,
    "isArchived": otherwise(default=False),
    "identity": held,
    "componentId": held,
    "notificationSetting": since("2023", held),
    "secretsConfiguration": _of_2023(null),
    "jobType": held,
}
_RESOURCES: Shape = {
    "instanceCount": otherwise(1),
    "maxInstanceCount": _of_2023(held),
    "instanceType": held,
    "locations": _of_2023(held),
    "properties": held,
    "shmSize": otherwise("2g"),
    "dockerArgs": held,
    "dockerArgsList": since(_NAMED, null),
}
_INPUT: Shape = {
    "description": held,
    "uri": if_set,
    "mode": if_set,
    "value": if_set,
    "jobInputType": held,
}
_OUTPUT: Shape = {
    "description": held,
    "uri": held,
    "assetName": _of_previews(held),
    "assetVersion": _of_2023(held),
    "mode": otherwise("ReadWriteMount"),
    "autoDeleteSetting": _of_2023(null),
    "jobOutputType": held,
}
_COMMAND: Shape = {
    **_ALL,
    "resources": section(_RESOURCES),
    "codeId": held,
    "command": held,
    "environmentId": held,
    "inputs": _each(_INPUT),
    "outputs": _each(_OUTPUT),
    "distribution": held,
    "autologgerSettings": _of_2023(null),
    "limits": if_any({"timeout": held, "jobLimitsType": held}),
    "environmentVariables": held,
    "parameters": otherwise({}),
    "queueSettings": _queue,
}
_PIPELINE: Shape = {
    **_ALL,
    **dict.fromkeys(("settings", "jobs", "inputs", "outputs"), held),
    "sourceJobId": null,
}
_SWEEP: Shape = {
    **_ALL,
    "searchSpace": held,
    "samplingAlgorithm": held,
    "limits": held,
    "earlyTermination": held,
    "objective": held,
    "trial": held,
    "resources": _of_previews(held),
    "inputs": _each(_INPUT),
    "outputs": _each(_OUTPUT),
    "queueSettings": _queue,
}
_INVOCATION: Shape = {
    "provisioningState": always("Succeeded"),
    "inputData": _each(
        {
            "description": held,
            "uri": if_set,
            "value": if_set,
            "mode": otherwise("ReadOnlyMount"),
            "jobInputType": held,
        }
    ),
    "outputData": if_set,
    "miniBatchSize": held,
    "errorThreshold": held,
    "compute": section(
        {
            "target": held,
            "instanceCount": held,
            "isLocal": always(value=False),
            "location": null,
            "instanceType": null,
            "properties": null,
        }
    ),
    "outputFileName": held,
    "retrySettings": held,
    "status": held,
    "loggingLevel": held,
    "interactionEndpoints": _each(_service("jobEndpointType", properties=null)),
    "tags": otherwise({}),
    "properties": otherwise({}),
    "name": held,
}


def _job(properties: Shape) -> Shape:
    return {
        "id": held,
        "name": held,
        "type": held,
        "properties": section(properties),
        "systemData": section(SYSTEM_DATA),
    }


JOBS: Mapping[str, Shape] = {
    "Command": _job(_COMMAND),
    "Pipeline": _job(_PIPELINE),
    "Sweep": _job(_SWEEP),
}
CHILD: Shape = {key: rule for key, rule in JOBS["Pipeline"].items() if key != "properties"}
INVOCATION: Shape = _job(_INVOCATION)
