"""The bodies of jobs: the simulated cloud's facts in the service's shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.emulator.shapes.computed import kind_of
from mlctl.kinds.address import PROVIDER, Address
from mlctl.pointer import Data, get
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.state import clock

_OURS = ("run", "checkpointEvery", "startTime", "endTime", "notice", "work")
_DEFAULT_OUTPUT = "azureml://datastores/workspaceartifactstore/ExperimentRun/dcid.{}"
# What the service makes names of runs of; the third part makes them differ.
_ADJECTIVES = ("blue", "calm", "eager", "gentle", "keen", "loyal", "plucky", "quiet")
_NOUNS = ("arch", "bean", "cloud", "drum", "engine", "flower", "garden", "store")


def job_body(call: Call, job: JobRecord, status: str | None = None) -> dict[str, Data]:
    """Return a job as the resource manager shows it; `status` precedes its own."""
    body = _head(call, job)
    if job.row.parent is not None:  # of a step the resource manager says no more (as recorded)
        return views.body(call, body, "step")
    stored = _stored_properties(call, job)
    services = {name: {"jobServiceType": name, "endpoint": url} for name, url in _urls(call, job)}
    additions = {"services": services} | ({"status": status} if status else {})
    return views.body(call, {**body, "properties": stored | additions}, f"{kind_of(stored)}-job")


def invocation_body(call: Call, job: JobRecord) -> dict[str, Data]:
    """A job as the data plane shows it: in the answer to its invocation, and in its lists."""
    deployment = _deployment(job)
    resource = call.peek(deployment)
    settings = dict(resource.body["properties"]) if resource else {}
    note = job.row.note
    nodes = note.get("compute") if isinstance(note.get("compute"), dict) else {}
    stored = {
        "retrySettings": note.get("retrySettings", settings.get("retrySettings")),
        **{name: note[name] for name in ("inputData", "outputData") if name in note},
        "compute": {**(nodes or {}), "target": note.get("computeId")},
        "status": _status(job),
        "interactionEndpoints": {
            name: {"jobEndpointType": name, "endpoint": url} for name, url in _urls(call, job)
        },
        "tags": _tags(job),
        "properties": _run_properties(call, job, settings),
        "name": display_name(call, job),
    }
    head = _head(call, job)
    author = head["systemData"]["createdBy"]
    head["systemData"] |= {"lastModifiedAt": clock.iso(job.modified), "lastModifiedBy": author}
    identity = {
        "id": f"{deployment.id(call.scope)}/jobs/{job.row.name}",
        "type": f"{PROVIDER}/workspaces/batchEndpoints/deployments/jobs",
    }
    return views.body(call, {**head, **identity, "properties": stored}, "invocation")


def display_name(call: Call, job: JobRecord) -> Data:
    """Return the name for people: the job's own, or one that the service makes up."""
    declared = job.row.note.get("displayName")
    if declared != job.row.name:
        return declared
    number = int(call.guid(f"display/{job.row.name}").replace("-", ""), 16)
    word = f"{_ADJECTIVES[number % 8]}_{_NOUNS[number // 8 % 8]}"
    return f"{word}_{number // 64 % 10}{number:x}"[: len(word) + 9]


def _head(call: Call, job: JobRecord) -> dict[str, Data]:
    body = job.body(call.scope)
    del body["properties"]
    body["systemData"] = {"createdBy": call.guid("user"), **body["systemData"]}
    return body


def _stored_properties(call: Call, job: JobRecord) -> dict[str, Data]:
    if job.row.endpoint is not None:
        return _pipeline(call, job)
    if job.view.members is None:
        return _command(call, job)
    properties = job.body(call.scope)["properties"]
    return {key: value for key, value in properties.items() if key not in _OURS}


def _command(call: Call, job: JobRecord) -> dict[str, Data]:
    properties = job.body(call.scope)["properties"]
    stored = {key: value for key, value in properties.items() if key not in _OURS}
    cluster = str(stored.get("computeId") or "").rpartition("/")[2]
    recorded = {"_azureml.ComputeTargetType": "amlctrain"}
    version = call.request.query_value("api-version")
    if "/computes/" in str(stored.get("computeId")) and version >= "2024":
        recorded["_azureml.ClusterName"] = cluster
    moments = {"StartTimeUtc": job.view.started, "EndTimeUtc": job.view.ended}
    times = {
        name: clock.iso(at)[:19].replace("T", " ") for name, at in moments.items() if at is not None
    }
    default = {"uri": _DEFAULT_OUTPUT.format(job.row.name), "jobOutputType": "uri_folder"}
    return {
        **stored,
        "properties": {**recorded, **(stored.get("properties") or {}), **times},
        "outputs": {"default": default, **(stored.get("outputs") or {})},
    }


def _pipeline(call: Call, job: JobRecord) -> dict[str, Data]:
    row = job.row
    resource = call.peek(_deployment(job))
    origin = f"endpoint: {row.endpoint}, deployment: {row.deployment}"
    return {
        "description": row.note.get("description") or f"Pipeline submission for {origin}.",
        "tags": _tags(job),
        "properties": _run_properties(call, job, resource.body["properties"] if resource else {}),
        "displayName": display_name(call, job),
        "status": _status(job),
        "experimentName": row.endpoint,
        "jobType": "Pipeline",
    }


def _status(job: JobRecord) -> str:
    """The status of a job of an endpoint, which is prepared while it waits for a node."""
    status = job.view.status.value
    return "Preparing" if status == "Queued" else status


def _tags(job: JobRecord) -> dict[str, Data]:
    run_tags = {
        "azureml.batchrun": "true",
        "azureml.deploymentname": job.row.deployment,
        "azureml.jobtype": "azureml.batchjob",
    }
    return {**run_tags, **(job.row.note.get("tags") or {})}


def _run_properties(call: Call, job: JobRecord, settings: Mapping[str, Data]) -> dict[str, Data]:
    """Return what the service says of the run of an endpoint's job."""
    note = job.row.note

    def setting(name: str) -> Data:
        return note.get(name, settings.get(name))

    retry = {**(settings.get("retrySettings") or {}), **(note.get("retrySettings") or {})}
    nodes = get(note, ("compute", "instanceCount")) or get(settings, ("resources", "instanceCount"))
    arguments = {
        "run_max_try": retry.get("maxRetries"),
        "run_invocation_timeout": str(retry.get("timeout") or "").strip("PTS"),
        "mini_batch_size": setting("miniBatchSize"),
        "error_threshold": setting("errorThreshold"),
        "logging_level": str(setting("loggingLevel")).upper(),
        "process_count_per_node": settings.get("maxConcurrencyPerInstance"),
        "legacy_model_job": False,
        "NodeCount": nodes,
        "append_row_file_name": setting("outputFileName"),
    }
    texts = {name: str(value) for name, value in arguments.items() if value is not None}
    return {
        "azureml.runsource": "azureml.PipelineRun",
        "runSource": "Unavailable",
        "runType": "HTTP",
        "azureml.parameters": json.dumps(texts, separators=(",", ":")),
        "azureml.continue_on_step_failure": "False",
        "azureml.continue_on_failed_optional_input": "False",
        "azureml.pipelineid": call.guid(f"pipeline/{_deployment(job)}"),
        "azureml.pipelineComponent": "pipelinerun",
        **(note.get("properties") or {}),
    }


def _urls(call: Call, job: JobRecord) -> tuple[tuple[str, str], ...]:
    """Return where the service tracks and shows a job; the emulator does neither."""
    scope, host = call.scope, f"{call.state.location}.api.azureml.ms"
    workspace = (
        f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/workspaces/{scope.workspace}"
    )
    return (
        ("Tracking", f"azureml://{host}/mlflow/v1.0{scope.id}?"),
        ("Studio", f"https://ml.azure.com/runs/{job.row.name}?wsid={workspace}"),
    )


def _deployment(job: JobRecord) -> Address:
    return Address("batch-deployment", str(job.row.deployment), job.row.endpoint)
