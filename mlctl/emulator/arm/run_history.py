"""The run history of jobs: details and logs of runs, as `MLClient.jobs.stream` reads them.

The paths and fields are those of azure-ai-ml 1.35.2's client of the run history service.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.emulator.arm import jobs, outputs
from mlctl.emulator.http.messages import Response, json_response, not_found
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs import artifacts
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.engine.jobs import JobStatus

ROOT = "/history/v1.0"
_SCORING = "logs/azureml/executionlogs.txt"  # where the SDK looks for the log of a pipeline job
_OVERVIEW = "logs/job_progress_overview.txt"


def details(call: Call) -> Response:
    """GET of the details of a run; in virtual time, a GET advances the clock.

    Raises:
        ServiceError: 404, there is no such run.
    """
    known = jobs.wait_for(call)
    name, view = known.row.name, known.view
    if view.started is not None:
        outputs.write_blobs(call, known)  # where a job has a default output, logs are read from it
    body: dict[str, Data] = {
        "runId": name,
        "target": known.row.note.get("compute"),
        "status": view.status.value,
        "createdTimeUtc": clock.iso(known.row.created),
        "properties": {},
        "logFiles": {path: _url(call, name, path) for path, _ in _logs(known)},
        "warnings": [{"source": "mlctl", "message": one} for one in _warnings(known)],
    }
    if view.status is JobStatus.FAILED:
        body["error"] = {"error": {"code": "UserError", "message": view.reason}}
    return json_response(body)


def children(call: Call) -> Response:
    """GET of the runs beneath a run: of a job of an endpoint the one that scores.

    Here it is one run with the job, and has its id.

    Raises:
        ServiceError: 404, there is no such run.
    """
    known = jobs.job_of(call)
    found = [{"runId": known.row.name, "status": known.view.status.value}]
    return json_response({"value": found if known.row.endpoint else []})


def log(call: Call) -> Response:
    """GET of a log by the signed URL that the details have.

    Raises:
        ServiceError: 403, there is no signature; 404, there is no such log.
    """
    blobs.authorize(call)
    texts = dict(_logs(jobs.job_of(call)))
    asked = call.names["log"]
    if asked not in texts:
        raise not_found(f"{PROVIDER}/workspaces/jobs/logs/{asked}", f"job '{call.names['name']}'")
    return Response(200, {"content-type": "text/plain; charset=utf-8"}, texts[asked].encode())


def _logs(known: JobRecord) -> Iterator[tuple[str, str]]:
    """The logs so far, under the names that the SDK prints."""
    for path, text in artifacts.files_of(known):
        name = path.relative_to(path.parts[0]).as_posix()
        if path.parts[0] != artifacts.ARTIFACTS or known.view.started is None:
            continue
        if name.startswith("user_logs/"):
            yield name, text
        if name == _OVERVIEW:
            yield _SCORING, text


def _warnings(known: JobRecord) -> Iterator[str]:
    view = known.view
    if view.warning:
        yield view.warning
    if view.reason and view.status is JobStatus.CANCELED:
        yield view.reason


def _url(call: Call, name: str, path: str) -> str:
    where = f"{ROOT}{call.scope.id}/runs/{name}/logs/{path}"
    return f"{call.request.base}{where}?{blobs.sas(call.settings)}"
