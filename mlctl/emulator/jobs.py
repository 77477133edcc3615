"""Batch jobs: invoked, listed, shown and cancelled. They are written down here and not run."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.cloud import clock
from mlctl.cloud.refusal import missing
from mlctl.emulator import bodies, listing
from mlctl.emulator.call import Call
from mlctl.emulator.http import ArmError, Response, reply
from mlctl.emulator.http import missing as nothing
from mlctl.emulator.shelf import Item, Sort
from mlctl.kinds.address import PROVIDER, Address
from mlctl.pointer import Data, get

_DEPLOYMENT = "azureml-model-deployment"
_RUNNING = ("NotStarted", "Preparing", "Running")


def invoke(call: Call) -> Response:
    """POST to a scoring URI: a job on the deployment that the header names, or the default one.

    Raises:
        Refusal: there is no such endpoint (404).
        ArmError: 404, there is no such deployment; 400, none is named and none is the default.
    """
    endpoint = call.peek(Address("batch-endpoint", call.names["parent"]))
    if endpoint is None:
        raise missing(Address("batch-endpoint", call.names["parent"]))
    default = get(endpoint.body, ("properties", "defaults", "deploymentName"))
    wanted = call.request.header(_DEPLOYMENT) or default
    if not wanted:
        text = f"Endpoint `{endpoint.address.name}` has no default deployment: name one."
        raise ArmError(400, "NoDefaultDeployment", text)
    deployment = call.peek(Address("batch-deployment", wanted, endpoint.address.name))
    if deployment is None:
        text = f"There is no deployment `{wanted}` in endpoint `{endpoint.address.name}`."
        raise ArmError(404, "DeploymentNotFound", text, target=wanted)
    asked = bodies.read(call.request.body).get("properties") or {}
    name = str(asked.get("jobName") or f"batchjob-{call.settings.new_id()}")
    note: dict[str, Data] = {
        "endpoint": endpoint.address.name,
        "deployment": deployment.address.name,
        "created": clock.iso(call.world.now),
        "status": "Preparing",
        "properties": {key: held for key, held in asked.items() if key != "status"},
    }
    call.shelf.put(Sort.JOB, _id(call, name), note)
    return reply(_body(call, Item(_id(call, name), note)), 201)


def show_all(call: Call) -> Response:
    """GET of the jobs of an endpoint, of a deployment, or of the workspace, oldest first."""
    found = sorted(_jobs(call), key=_key)
    page = listing.cut(call, found, _key)
    return listing.answer(call, page, (_body(call, each) for each in page.items))


def show(call: Call) -> Response:
    """GET of one job."""
    return reply(_body(call, _found(call)))


def cancel(call: Call) -> Response:
    """POST of the wish to cancel a job; one that has ended stays what it is."""
    item = _found(call)
    if item.note["status"] in _RUNNING:
        call.shelf.put(Sort.JOB, item.name, {**item.note, "status": "Canceled"})
    return Response(200)


def _found(call: Call) -> Item:
    item = call.shelf.find(Sort.JOB, _id(call, call.names["name"]))
    if item is None:
        what = f"{PROVIDER}/workspaces/jobs/{call.names['name']}"
        raise nothing(what, f"workspace '{call.scope.workspace}'")
    return item


def _jobs(call: Call) -> Iterator[Item]:
    wanted = {
        key: call.names[name].casefold()
        for key, name in (("endpoint", "parent"), ("deployment", "deployment"))
        if name in call.names
    }
    for item in call.shelf.list(Sort.JOB, _id(call, "")):
        if all(item.note[key].casefold() == name for key, name in wanted.items()):
            yield item


def _key(job: Item) -> str:
    return f"{job.note['created']} {job.name.casefold()}"


def _id(call: Call, name: str) -> str:
    return f"{call.scope.id}/jobs/{name}"


def _body(call: Call, job: Item) -> dict[str, Data]:
    note = job.note
    deployment = Address("batch-deployment", note["deployment"], note["endpoint"]).id(call.scope)
    return {
        "id": job.name,
        "name": job.name.rsplit("/", 1)[-1],
        "type": f"{PROVIDER}/workspaces/batchEndpoints/jobs",
        "systemData": {"createdAt": note["created"], "createdByType": "User"},
        "properties": {
            **note["properties"],
            "jobType": "Batch",
            "status": note["status"],
            "provisioningState": "Succeeded",
            "endpointName": note["endpoint"],
            "deploymentName": note["deployment"],
            "deploymentId": deployment,
            "startTime": note["created"],
        },
    }
