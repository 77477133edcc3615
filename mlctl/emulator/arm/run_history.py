"""The run history of jobs: details, logs and outputs, as `MLClient.jobs` reads them.

The paths and fields are those of azure-ai-ml 1.35.2's clients of the run history and of the data
plane; where artifacts lie (`workspaceartifactstore`, `ExperimentRun/dcid.RUN/`) is the SDK's too.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.emulator.arm import jobs
from mlctl.emulator.http import messages
from mlctl.emulator.http.messages import Response, json_response, not_found
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.emulator.storage import blobs, uploads
from mlctl.kinds import datastore_uri
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs import artifacts, records
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.resources import datastores
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.engine.jobs import JobStatus

ROOT = "/history/v1.0"
_STEPS = "logs/azureml/executionlogs.txt"  # where the SDK looks for the log of a pipeline job
_OVERVIEW = "logs/job_progress_overview.txt"


def details(call: Call) -> Response:
    """GET of the details of a run; in virtual time, a GET advances the clock."""
    job = jobs.wait_for(call)
    name, view = job.row.name, job.view
    if view.started is not None:
        uploads.write_job_files(
            call, job
        )  # where a job has a default output, logs are read from it
    body: dict[str, Data] = {
        "runId": name,
        "target": job.row.note.get("compute"),
        "status": view.status.value,
        "createdTimeUtc": clock.iso(job.row.created),
        "properties": {},
        "logFiles": {path: _url(call, name, path) for path, _ in _logs(job)},
        "warnings": [{"source": "mlctl", "message": text} for text in _warnings(job)],
    }
    if view.status is JobStatus.FAILED:
        body["error"] = {"error": {"code": "UserError", "message": view.reason}}
    return json_response(body)


def show(call: Call) -> Response:
    """GET of a run, which is how clients read the steps of pipelines; virtual time advances."""
    return json_response(_run(call, jobs.wait_for(call)))


def children(call: Call) -> Response:
    """GET of the runs beneath a run: the steps of a pipeline, the trials of a sweep.

    A job of an endpoint has one that scores.
    """
    job = jobs.job_of(call)
    beneath_job = [] if jobs.is_scoring_step(job) else records.children(call.handle, job.row.name)
    if job.row.endpoint and not beneath_job:
        beneath_job = [jobs.scoring_step(job)]
    return json_response({"value": [_run(call, child) for child in beneath_job]})


def modify(call: Call) -> Response:
    """PATCH of a run: its display name, its tags, and whether it is archived."""
    job, changes_sent = jobs.job_of(call), messages.read_json_body(call.request.body)
    changes = {
        name: changes_sent[key]
        for key, name in _CHANGEABLE.items()
        if changes_sent.get(key) is not None
    }
    for key in ("tags", "properties"):
        if isinstance(changes_sent.get(key), dict):
            changes[key] = {**(job.row.note.get(key) or {}), **changes_sent[key]}
    return json_response(_run(call, records.change(call.handle, job.row.name, changes)))


_CHANGEABLE = {"displayName": "displayName", "description": "description", "hidden": "isArchived"}


def _run(call: Call, job: JobRecord) -> dict[str, Data]:
    """A run in the service's shape."""
    row, view, note = job.row, job.view, job.row.note
    user = {"userObjectId": call.guid("user"), "userTenantId": call.guid("tenant"), "upn": None}
    free = note.get("properties") or {}
    length = None if view.started is None or view.ended is None else view.ended - view.started
    durations = {"duration": _length(length), "computeDuration": _length(length)}
    kind = str(free.get("azureml.runsource") or "azureml.scriptrun")
    stored = {
        **durations,
        "runNumber": int(row.created),
        "rootRunId": free.get("azureml.rootpipelinerunid") or row.parent or row.name,
        "createdUtc": clock.iso(view.submitted),
        "createdBy": user,
        "userId": call.guid("user"),
        "runUuid": call.guid(f"run/{row.name}"),
        "parentRunUuid": call.guid(f"run/{row.parent}") if row.parent else None,
        "rootRunUuid": call.guid(f"run/{row.parent or row.name}"),
        "lastModifiedBy": user,
        "lastModifiedUtc": clock.iso(job.modified),
        "cancelationReason": view.reason if view.status is JobStatus.CANCELED else None,
        "runId": row.name,
        "parentRunId": row.parent,
        "experimentId": call.guid(f"experiment/{note.get('experimentName')}"),
        "status": view.status.value,
        "startTimeUtc": None if view.started is None else clock.iso(view.started),
        "endTimeUtc": None if view.ended is None else clock.iso(view.ended),
        "displayName": note.get("displayName"),
        "name": free.get("azureml.moduleName"),
        "dataContainerId": f"dcid.{row.name}",
        "description": note.get("description"),
        "hidden": note.get("isArchived"),
        "runType": kind,
        "runTypeV2": {"orchestrator": None, "traits": [kind], "attribution": None},
        "properties": {key: str(value) for key, value in free.items()},
        "target": str(note.get("computeId") or "").rpartition("/")[2] or None,
        "tags": note.get("tags"),
    }
    return views.body(call, stored, "run")


def _length(seconds: float | None) -> str | None:
    """Format a duration as .NET does: `00:01:40.0000000`."""
    if seconds is None:
        return None
    minutes, seconds_left = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:02}:{minutes:02}:{seconds_left:010.7f}"


def log(call: Call) -> Response:
    """GET of a log by the signed URL that the details have."""
    blobs.authorize(call)
    texts = dict(_logs(jobs.job_of(call)))
    path = call.names["log"]
    if path not in texts:
        raise not_found(f"{PROVIDER}/workspaces/jobs/logs/{path}", f"job '{call.names['name']}'")
    return Response(200, {"content-type": "text/plain; charset=utf-8"}, texts[path].encode())


def _logs(job: JobRecord) -> Iterator[tuple[str, str]]:
    """The logs so far, under the names that the SDK prints."""
    for path, text in artifacts.files_of(job):
        name = path.relative_to(path.parts[0]).as_posix()
        if path.parts[0] != artifacts.ARTIFACTS or job.view.started is None:
            continue
        if name.startswith("user_logs/"):
            yield name, text
        if name in (_OVERVIEW, _STEPS):
            yield _STEPS, text


def _warnings(job: JobRecord) -> Iterator[str]:
    view = job.view
    if view.warning:
        yield view.warning
    if view.reason and view.status is JobStatus.CANCELED:
        yield view.reason


def _url(call: Call, name: str, path: str) -> str:
    log_path = f"{ROOT}{call.scope.id}/runs/{name}/logs/{path}"
    return f"{call.request.base}{log_path}?{blobs.sas(call.settings)}"


def run_data(call: Call) -> Response:
    """POST of a run id: the run data; the files of the run are written as blobs."""
    name = str(messages.read_json_body(call.request.body).get("runId") or "")
    job = jobs.get_job(call, name)
    outputs = {
        output: {"assetId": f"{job.row.name}/{output}", "type": "uri_folder"}
        for output in uploads.write_job_files(call, job)
    }
    status = job.view.status.value
    return json_response({"runMetadata": {"runId": name, "status": status, "outputs": outputs}})


def resolve_uris(call: Call) -> Response:
    """POST of the ids of outputs: their URIs."""
    ids = messages.read_json_body(call.request.body).get("values") or []
    return json_response({"values": {id_: {"uri": _uri(call, str(id_))} for id_ in ids}})


def _uri(call: Call, asset: str) -> Data:
    run, _, output = asset.partition("/")
    folder = f"{uploads.NAMED_OUTPUTS.format(run=run)}/{output}/"
    path = f"azureml://datastores/{datastores.DEFAULT}/paths/{folder}"
    return datastore_uri.long(path, call.scope, "resourcegroups")
