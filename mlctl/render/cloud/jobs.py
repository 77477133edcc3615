"""Jobs as `az ml job show` prints them, with the numbers of the run; job events as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.backends.ports.jobs import Job, JobEvent
from mlctl.durations import elapsed
from mlctl.kinds import Scope
from mlctl.kinds.facts import Columns
from mlctl.kinds.records.job import KIND as JOB
from mlctl.kinds.values import decode
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted

LIST: Columns = {
    "Name": ("name",),
    "Status": ("status",),
    "Type": ("type",),
    "Endpoint": ("endpoint_name",),
    "Deployment": ("deployment_name",),
    "Done": ("mini_batches", "completed"),
    "Failed": ("mini_batches", "failed"),
    "Of": ("mini_batches", "total"),
    "Preempted": ("preempted_nodes",),
    "MakespanS": ("makespan_s",),
    "Cost": ("cost",),
}
_DOCUMENTS = ("Command", "Pipeline", "Sweep")
_TYPES = {
    "Base": "base",
    "Batch": "batch",
    "Command": "command",
    "Pipeline": "pipeline",
    "Pool": "batch_pool",
    "Sweep": "sweep",
}
_WIRE = {
    "displayName": "display_name",
    "experimentName": "experiment_name",
    "description": "description",
    "status": "status",
    "endpointName": "endpoint_name",
    "deploymentName": "deployment_name",
    "poolName": "pool_name",
    "parentJobName": "parent_job_name",
    "startTime": "start_time",
    "endTime": "end_time",
    "tags": "tags",
    "properties": "properties",
}


def resource(job: Job, scope: Scope) -> dict[str, Data]:
    """Return a job under az's field names, with the numbers of its run."""
    body = job.body
    properties = body["properties"]
    system = body.get("systemData", {})
    part = "parentJobName" in properties
    declared = properties["jobType"] in _DOCUMENTS and "endpointName" not in properties
    document = _document(body, scope) if declared and not part else _scoring(properties)
    kind = "Base" if part else properties["jobType"]  # azure-ai-ml's word for a part of another job
    return {
        "id": body["id"],
        "name": job.name,
        "type": _TYPES.get(kind, kind),
        **{name: properties[wire] for wire, name in _WIRE.items() if wire in properties},
        **document,
        "creation_context": {
            "created_at": system.get("createdAt"),
            "created_by_type": system.get("createdByType"),
        },
        **properties.get("run", {}),
    }


def line(event: JobEvent, *, whose: bool = False) -> str:
    """Describe an event of a job: when, what, and the facts; with the job's name if `whose`."""
    shown_facts = {
        key: value for key, value in event.facts.items() if (whose or key != "job") and value != ""
    }
    facts = " ".join(f"{key}={_plain(value)}" for key, value in shown_facts.items())
    return clean(f"{clock(event.at)}  {event.event:<15} {facts}".rstrip())


def work_done(run: Mapping[str, Data]) -> str:
    """Format `3/10 mini-batches, 1 failed`, or `40/100 steps`."""
    if "mini_batches" in run:
        counts = run["mini_batches"]
        failed = f", {counts['failed']} failed" if counts["failed"] else ""
        return f"{counts['completed'] + counts['failed']}/{counts['total']} mini-batches{failed}"
    if "children" in run:
        return f"{run['children']['completed']}/{run['children']['total']} jobs"
    if "steps" in run:
        return f"{run['steps']['done']}/{run['steps']['total']} steps"
    return ""


def summary(job: Job) -> Iterator[str]:
    """Say how a job ended."""
    run = job.body["properties"].get("run", {})
    took = f" after {elapsed(run['makespan_s'])}" if run.get("makespan_s") is not None else ""
    progress = f", {work_done(run)}" if work_done(run) else ""
    yield clean(f"job {job.name}: {job.status}{took}{progress}")
    if run.get("warning"):
        lost = run["preempted_nodes"]
        yield clean(f"{run['warning']} ({counted(lost, 'node')})")
    if run.get("reason"):
        yield clean(f"reason: {run['reason']}")
    if run.get("waits_for"):
        yield clean(f"waiting for: {run['waits_for']}")


def clock(seconds: float) -> str:
    """Format seconds since the submission of a job as `1d 02:03:04`."""
    days, seconds_left = divmod(int(seconds), 86_400)
    text = f"{seconds_left // 3600:02}:{seconds_left // 60 % 60:02}:{seconds_left % 60:02}"
    return f"{days}d {text}" if days else text


def _document(body: Mapping[str, Data], scope: Scope) -> dict[str, Data]:
    """Return what the YAML file of a job contained."""
    form = JOB.form_of({"type": _TYPES[body["properties"]["jobType"]]})
    values = pointer.nest(decode(body, form, scope))
    return {key: value for key, value in values.items() if key not in ("name", "type", "status")}


def _scoring(properties: Mapping[str, Data]) -> dict[str, Data]:
    """Return what a batch job runs on, reads and writes."""
    text = properties.get("computeId")
    compute = {"compute": str(text).rpartition("/")[2]} if text else {}
    inputs = {name: _uri(item) for name, item in properties.get("inputData", {}).items()}
    outputs = {name: _uri(item) for name, item in properties.get("outputData", {}).items()}
    return {**compute, "inputs": inputs, "outputs": outputs}


def _uri(item: Data) -> Data:
    """Convert an input or output from ARM to YAML."""
    if not isinstance(item, dict):
        return item
    kind = item.get("jobInputType") or item.get("jobOutputType")
    spelt = {"UriFolder": "uri_folder", "UriFile": "uri_file", "Literal": "literal"}
    path = {"path": item["uri"]} if "uri" in item else {}
    value = {"value": item["value"]} if "value" in item else {}
    return {"type": spelt.get(str(kind), kind), **path, **value}


def _plain(value: object) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value)
