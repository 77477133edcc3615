"""Convert jobs from the service's bodies and lists to the form that all backends share.

A job of a batch endpoint is a pipeline job of an experiment named after the endpoint; its
deployment is in a tag, and the answer to its invocation has another form (recorded: cards
invoke-uri-file, job-get-of-invoke). Times of command jobs are in their properties
(job-get-command).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from mlctl.backends.azure import errors
from mlctl.backends.ports.jobs import Job
from mlctl.kinds.address import Scope
from mlctl.pointer import Data, get

_DEPLOYMENT = "azureml.deploymentname"  # a tag
_TIMES = {"startTime": "StartTimeUtc", "endTime": "EndTimeUtc"}
_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)")
_INVOKED = re.compile(r"/batchEndpoints/(?P<endpoint>[^/]+)/", re.IGNORECASE)
_NO_TIER = "Null"
_LONGEST = timedelta(days=60)  # a job ends after at most 21 days, and may wait before that


def job_of(data: Data) -> Job:
    """Build a job from a service body; an invocation's answer may have little more than its name.

    Raises:
        Transient: it has no name.
    """
    if not isinstance(data, dict) or not data.get("name"):
        raise errors.malformed_response("the job has no name")
    job_properties = data.get("properties") or {}
    properties = {"jobType": "Pipeline", "status": "Unknown", **job_properties}
    properties |= _of_endpoint(data, job_properties) | _times(job_properties)
    queue = properties.get("queueSettings")
    if isinstance(queue, dict) and queue.get("jobTier") == _NO_TIER:
        properties["queueSettings"] = {key: queue[key] for key in queue if key != "jobTier"} or None
    return Job(str(data["name"]), {"id": "", **data, "properties": properties})


def run_of(data: Data, scope: Scope) -> Job:
    """Build a step or a trial from its run in the run history, which is the only source.

    Raises:
        Transient: it has no id.
    """
    if not isinstance(data, dict) or not data.get("runId"):
        raise errors.malformed_response("the run has no id")
    name = str(data["runId"])
    fields = {wire: data[key] for key, wire in _OF_A_RUN.items() if data.get(key) is not None}
    properties = {"jobType": "Base", "status": "Unknown", **fields}
    by = data.get("createdBy") or {}
    system = {
        "createdAt": data.get("createdUtc"),
        "createdBy": by.get("userName"),
        "lastModifiedAt": data.get("lastModifiedUtc"),
    }
    at = f"{scope.id}/jobs/{name}"
    return Job(name, {"id": at, "name": name, "properties": properties, "systemData": system})


_OF_A_RUN = {
    "status": "status",
    "displayName": "displayName",
    "description": "description",
    "parentRunId": "parentJobName",
    "startTimeUtc": "startTime",
    "endTimeUtc": "endTime",
    "properties": "properties",
    "tags": "tags",
    "target": "computeId",
}


def _of_endpoint(data: Mapping[str, Data], properties: Mapping[str, Data]) -> dict[str, Data]:
    """Return endpoint, deployment and cluster of an endpoint's job; nothing for other jobs."""
    deployment = get(properties, ("tags", _DEPLOYMENT))
    if not deployment:
        return {}
    invoked = _INVOKED.search(str(data.get("id")))
    endpoint = properties.get("experimentName") or (invoked["endpoint"] if invoked else None)
    fields = {
        "endpointName": endpoint,
        "deploymentName": deployment,
        "computeId": properties.get("computeId") or get(properties, ("compute", "target")),
        "displayName": properties.get("displayName") or properties.get("name"),
    }
    return {key: entry for key, entry in fields.items() if entry is not None}


def _times(properties: Mapping[str, Data]) -> dict[str, Data]:
    """Return when a job started and ended, in ISO 8601."""
    times = {name: get(properties, ("properties", key)) for name, key in _TIMES.items()}
    return {
        name: _TIME.sub(r"\1T\2Z", str(text))
        for name, text in times.items()
        if text and not properties.get(name)
    }


def newest(bodies: Iterator[dict[str, Data]], limit: int | None = None) -> list[Job]:
    """Return at most `limit` jobs of bodies, newest first.

    A list in this order is not read further than needed; the service promises no order.
    """
    jobs: list[Job] = []
    ordered = True
    for job in map(job_of, bodies):
        ordered = ordered and (not jobs or creation_time(job) <= creation_time(jobs[-1]))
        jobs.append(job)
        if ordered and len(jobs) == limit:
            break
    return sorted(jobs, key=creation_time, reverse=True)[:limit]


def recent(bodies: Iterator[dict[str, Data]]) -> Iterator[Job]:
    """Yield the jobs of bodies, until one is so old that it must have ended.

    This holds only while each is older than the one before it: the service promises no order.
    """
    first = last = None
    ordered = True
    for job in map(job_of, bodies):
        at = _moment(job)
        ordered = ordered and at is not None and (last is None or at <= last)
        first, last = first or at, at
        if ordered and first is not None and at is not None and first - at > _LONGEST:
            return
        yield job


def creation_time(job: Job) -> str:
    """Return when a job was created, as the service writes it."""
    return str(get(job.body, ("systemData", "createdAt")) or "")


def _moment(job: Job) -> datetime | None:
    try:
        return datetime.fromisoformat(creation_time(job))
    except ValueError:
        return None
