"""Outputs of jobs, as `MLClient.jobs.download` reads them: run data, then blobs.

The paths and fields are those of azure-ai-ml 1.35.2's clients of the run history and of the data
plane; where artifacts lie (`workspaceartifactstore`, `ExperimentRun/dcid.RUN/`) is the SDK's too.
"""

from __future__ import annotations

from mlctl.emulator.arm import jobs
from mlctl.emulator.http import bodies
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs import artifacts
from mlctl.simulator.control_plane.jobs.records import JobRecord

_LEFT = "ExperimentRun/dcid.{run}"  # of the artifacts, in the store that is for them
_NAMED = "azureml/{run}"  # of the named outputs, in the default store


def run_data(call: Call) -> Response:
    """POST of a run id: the run data; the files of the run are written as blobs.

    Raises:
        ServiceError: 404, there is no such run.
    """
    name = str(bodies.read(call.request.body).get("runId") or "")
    job = jobs.get_job(call, name)
    outputs = {
        output: {"assetId": f"{job.row.name}/{output}", "type": "uri_folder"}
        for output in write_blobs(call, job)
    }
    status = job.view.status.value
    return json_response({"runMetadata": {"runId": name, "status": status, "outputs": outputs}})


def resolve_uris(call: Call) -> Response:
    """POST of the ids of outputs: their URIs."""
    ids = bodies.read(call.request.body).get("values") or []
    return json_response(
        {"values": {output_id: {"uri": _uri(call, str(output_id))} for output_id in ids}}
    )


def write_blobs(call: Call, job: JobRecord) -> list[str]:
    """Write the files that a job has so far as blobs; the names of its named outputs."""
    names: dict[str, None] = {}
    for path, text in artifacts.files_of(job):
        of_all, *inner = path.parts
        if of_all == artifacts.OUTPUTS:
            names[inner[0]] = None
        store, folder = (
            (uploads.ARTIFACTS, _LEFT)
            if of_all == artifacts.ARTIFACTS
            else (uploads.DEFAULT, _NAMED)
        )
        blob_name = "/".join([folder.format(run=job.row.name), *inner])
        blobs.write_blob(call, uploads.container(call, store), blob_name, text.encode())
    return list(names)


def _uri(call: Call, asset: str) -> Data:
    run, _, output = asset.partition("/")
    scope = call.scope
    workspace = (
        f"subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/workspaces/{scope.workspace}"
    )
    folder = f"{_NAMED.format(run=run)}/{output}/"
    return f"azureml://{workspace}/datastores/{uploads.DEFAULT}/paths/{folder}"
