"""Jobs as `az ml job show` prints them, with the numbers of the run; what happens, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mlctl.backends.base import Happening, Job, Progress
from mlctl.pointer import Data
from mlctl.render.progress import elapsed
from mlctl.render.tables import Columns

LIST: Columns = {
    "Name": ("name",),
    "Status": ("status",),
    "Type": ("type",),
    "Endpoint": ("endpoint_name",),
    "Deployment": ("deployment_name",),
    "Done": ("mini_batches", "completed"),
    "Of": ("mini_batches", "total"),
    "Preempted": ("preempted_nodes",),
    "MakespanS": ("makespan_s",),
    "Cost": ("cost",),
}
_TYPES = {"Batch": "batch", "Command": "command", "Pool": "batch_pool"}
_WIRE = {
    "displayName": "display_name",
    "experimentName": "experiment_name",
    "description": "description",
    "status": "status",
    "endpointName": "endpoint_name",
    "deploymentName": "deployment_name",
    "poolName": "pool_name",
    "startTime": "start_time",
    "endTime": "end_time",
    "tags": "tags",
    "properties": "properties",
}


def resource(job: Job) -> dict[str, Data]:
    """A job under az's field names, the numbers of its run beside them."""
    body = job.body
    held = body["properties"]
    system = body.get("systemData", {})
    return {
        "id": body["id"],
        "name": job.name,
        "type": _TYPES.get(held["jobType"], held["jobType"]),
        **{name: held[wire] for wire, name in _WIRE.items() if wire in held},
        **_compute(held),
        "inputs": {name: _uri(one) for name, one in _inputs(held).items()},
        "outputs": {name: _uri(one) for name, one in held.get("outputData", {}).items()},
        "creation_context": {
            "created_at": system.get("createdAt"),
            "created_by_type": system.get("createdByType"),
        },
        **held.get("run", {}),
    }


def line(event: Happening) -> str:
    """One event in words: the second, what it was, and its facts."""
    facts = " ".join(f"{key}={_plain(value)}" for key, value in event.facts.items())
    return f"{clock(event.at)}  {event.event:<15} {facts}".rstrip()


def standing(progress: Progress) -> str:
    """How far a job is, and what its nodes do, in one line."""
    run = progress.job.body["properties"].get("run", {})
    counts = ", ".join(f"{count} {state}" for state, count in progress.nodes.items() if count)
    return f"{progress.job.status}  {done(run)}  nodes: {counts or 'none'}"


def done(run: Mapping[str, Data]) -> str:
    """`3/10 mini-batches, 1 failed`, or `40/100 steps`."""
    if "mini_batches" in run:
        counts = run["mini_batches"]
        failed = f", {counts['failed']} failed" if counts["failed"] else ""
        return f"{counts['completed'] + counts['failed']}/{counts['total']} mini-batches{failed}"
    if "steps" in run:
        return f"{run['steps']['done']}/{run['steps']['total']} steps"
    return ""


def summary(job: Job) -> Iterator[str]:
    """What a job came to, for people."""
    run = job.body["properties"].get("run", {})
    took = f" after {elapsed(run['makespan_s'])}" if run.get("makespan_s") is not None else ""
    yield f"job {job.name}: {job.status}{took}" + (f", {done(run)}" if done(run) else "")
    if run.get("warning"):
        yield f"{run['warning']} ({run['preempted_nodes']} nodes)"
    if run.get("reason"):
        yield f"reason: {run['reason']}"


def clock(seconds: float) -> str:
    """The seconds of the virtual clock as `1d 02:03:04`."""
    days, rest = divmod(int(seconds), 86_400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}d {text}" if days else text


def _compute(held: Mapping[str, Data]) -> dict[str, Data]:
    text = held.get("computeId")
    return {"compute": str(text).rpartition("/")[2]} if text else {}


def _inputs(held: Mapping[str, Data]) -> Mapping[str, Data]:
    found: Mapping[str, Data] = held.get("inputData") or held.get("inputs") or {}
    return found


def _uri(one: Data) -> Data:
    """An input or output of ARM as YAML has it."""
    if not isinstance(one, dict):
        return one
    kind = one.get("jobInputType") or one.get("jobOutputType")
    spelt = {"UriFolder": "uri_folder", "UriFile": "uri_file", "Literal": "literal"}
    path = {"path": one["uri"]} if "uri" in one else {}
    value = {"value": one["value"]} if "value" in one else {}
    return {"type": spelt.get(str(kind), kind), **path, **value}


def _plain(value: object) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value)
