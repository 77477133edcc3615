"""Jobs: invoked or created, listed, shown and cancelled; they run on the simulated cloud."""

from __future__ import annotations

from collections import deque
from functools import partial

from mlctl.dataclasses import replace
from mlctl.emulator.arm import operations
from mlctl.emulator.arm.job_bodies import invocation_body, job_body
from mlctl.emulator.http import messages
from mlctl.emulator.http.messages import Response, json_response, not_found
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import VIRTUAL
from mlctl.emulator.shapes.errors import NoSuchData
from mlctl.emulator.shapes.protocols import result_url
from mlctl.emulator.storage import uploads
from mlctl.kinds.address import PROVIDER, Address
from mlctl.pointer import get
from mlctl.service_errors import NotFound, Permanent, ServiceError
from mlctl.serving import batch
from mlctl.serving import jobs as code_jobs
from mlctl.simulator.control_plane import control, schedules
from mlctl.simulator.control_plane.jobs import creation, job_events, mlflow_store, records
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.blob_store import ItemKind
from mlctl.workload import CHECKPOINT

_DEPLOYMENT = "azureml-model-deployment"
_FRONT, _LISTS = "/mferp/managementfrontend", "2020-09-01-dataplanepreview"
_CHANGEABLE = ("displayName", "description", "tags", "isArchived")
_CANCELLATION = "jc"  # what the id of a cancellation begins with
_CANCELLING = 20.0  # seconds until a pipeline is cancelled (recorded: at most 30)
# Virtual seconds that pass between two looks at a job where time is virtual: at least a minute, and
# a fourth of the job's age. The SDK's `stream` waits up to a minute before it looks again.
_POLL, _OF_AGE = 60.0, 0.25


def invoke(call: Call) -> Response:
    """POST to a scoring URI: a job on the deployment that the header names, or the default one."""
    endpoint = call.require(Address("batch-endpoint", call.names["parent"]))
    default = get(endpoint.body, ("properties", "defaults", "deploymentName"))
    deployment_name = call.request.header(_DEPLOYMENT) or default
    if not deployment_name:
        text = f"Endpoint `{endpoint.address.name}` has no default deployment: name one."
        raise Permanent("NoDefaultDeployment", text)
    if call.peek(Address("batch-deployment", deployment_name, endpoint.address.name)) is None:
        text = f"There is no deployment `{deployment_name}` in endpoint `{endpoint.address.name}`."
        raise NotFound("DeploymentNotFound", text, target=deployment_name)
    sent = messages.read_json_body(call.request.body).get("properties") or {}
    properties = {**sent, "name": sent.get("jobName") or sent.get("name")}
    invocation = Invocation(endpoint.address.name, deployment_name, properties)
    servers = call.settings.servers
    if servers is None:
        job = creation.invoke(call.handle, invocation)
    else:
        code = servers.settings(partial(uploads.locate_files, call))
        job, _ = batch.invoke(call.handle, invocation, code)
    deployment = Address("batch-deployment", str(job.row.deployment), job.row.endpoint)
    at = f"{call.request.base}{_FRONT}{deployment.id(call.scope)}?api-version={_LISTS}"
    headers = {_DEPLOYMENT: deployment.name, "location": at, "x-ms-response-type": "standard"}
    return json_response(invocation_body(call, job), 201, headers)


def create(call: Call) -> Response:
    """PUT of a job; for an existing one, only its names and tags can change."""
    name = call.names["name"]
    job = _find_job(call, name)
    if job is not None:
        sent = call.data.get("properties") or {}
        changes = {key: sent[key] for key in _CHANGEABLE if sent.get(key) is not None}
        if any(job.row.note.get(key) != value for key, value in changes.items()):
            job = records.change(call.handle, name, changes)
        return json_response(job_body(call, job))
    properties = call.data.get("properties") or {}
    servers, request = call.settings.servers, JobRequest(name, properties)
    if servers is None:
        new_job = creation.create(call.handle, request)
    else:
        code = servers.settings(partial(uploads.locate_files, call))
        # Code that logs here by itself finds its run, as on the service.
        mlflow_store.log_run(call.blob_store, call.scope, name, {})
        try:
            new_job = code_jobs.create(call.handle, request, code)
        except ServiceError:
            call.blob_store.delete(ItemKind.RUN, f"{call.scope}/{name}")
            raise
    at = {"location": call.url(call.request.path)}
    first = "Preparing" if new_job.view.members is not None else "Starting"
    return json_response(job_body(call, new_job, status=first), 201, at)


def show_all(call: Call) -> Response:
    """GET of the jobs of an endpoint, of a deployment, or of the workspace, oldest first.

    Of the workspace those that are archived only where `listViewType` asks for them.
    """
    view = call.request.query_value("listViewType", "ActiveOnly").casefold()
    listed = [job for job in _jobs(call) if _is_listed(job, view)]
    page = listing.paginate(call, sorted(listed, key=_key), _key)
    body_of = invocation_body if "parent" in call.names else job_body
    return listing.page_response(call, page, (body_of(call, shown_job) for shown_job in page.items))


def show(call: Call) -> Response:
    """GET of one job; in virtual time, a GET advances the clock.

    The checkpoints of one that has ended are there for those who read the store itself.
    """
    job = wait_for(call)
    if job.view.ended is not None and (job.row.note.get("properties") or {}).get(CHECKPOINT):
        uploads.write_job_files(call, job)
    return json_response(job_body(call, job))


def cancel(call: Call) -> Response:
    """POST of a cancellation; a job that has ended stays unchanged. A pipeline's takes time."""
    job = job_of(call)
    if job.view.ended is not None:
        return Response(200)
    records.cancel(call.handle, _stored_name(job))
    if job.view.members is None and job.row.endpoint is None:
        return Response(200)
    location = result_url(call, f"{_CANCELLATION}:{call.guid('workspace')}:{job.row.name}")
    headers = {"location": location, "x-ms-async-operation-timeout": "PT1H"}
    return json_response(None, 202, headers)


def result(call: Call) -> Response:
    """GET of the result of an operation, among them that of a cancelled pipeline job."""
    kind, _, token = call.names["token"].partition(":")
    if kind != _CANCELLATION:
        return operations.result(call)
    workspace, _, name = token.partition(":")
    job_call = next(
        (
            workspace_call
            for workspace_call in call.in_workspaces()
            if workspace_call.guid("workspace") == workspace
        ),
        None,
    )
    job = _find_job(job_call, name) if job_call else None
    if job is None or job.view.ended is None:
        raise NoSuchData(call.names["token"])
    remaining = job.view.ended + _CANCELLING - call.at_home().state.now
    if remaining <= 0:
        return Response(200)
    if call.settings.pace is VIRTUAL:
        control.wait(call.home, remaining)
    return operations.still_running(call, {})


def wait_for(call: Call) -> JobRecord:
    """The job that the path names; in virtual time the clock advances, until the job has ended."""
    job = job_of(call)
    if call.settings.pace is not VIRTUAL or job.view.ended is not None:
        return job
    passing = max(_POLL, (call.at_home().state.now - job.row.created) * _OF_AGE)
    deque(job_events.follow(call.handle, _stored_name(job), passing, detail=False), maxlen=0)
    return job_of(call)


def job_of(call: Call) -> JobRecord:
    """The job that the path names."""
    return get_job(call, call.names["name"])


def get_job(call: Call, name: str) -> JobRecord:
    """A job."""
    job = _find_job(call, name) or _step(call, name)
    if job is None:
        resource = f"{PROVIDER}/workspaces/jobs/{name}"
        raise not_found(resource, f"workspace '{call.scope.workspace}'")
    return job


def _find_job(call: Call, name: str) -> JobRecord | None:
    try:
        return records.get_job(call.handle, name)
    except NotFound:
        return None


def _stored_name(job: JobRecord) -> str:
    """The name under which the simulated cloud keeps a job."""
    return str(job.row.parent) if is_scoring_step(job) else job.row.name


def _step(call: Call, name: str) -> JobRecord | None:
    """The scoring step of this name."""
    above = _job_of_scoring_step(name)
    job = _find_job(call, above) if above else None
    return scoring_step(job) if job and job.row.endpoint else None


def _jobs(call: Call) -> list[JobRecord]:
    endpoint, deployment = call.names.get("parent"), call.names.get("deployment")
    parents = [Address("batch-endpoint", endpoint)] if endpoint else []
    parents += [Address("batch-deployment", deployment, endpoint)] if deployment else []
    if any(call.peek(address) is None for address in parents):
        return []
    return records.list_jobs(call.handle, endpoint, deployment)


def _is_listed(job: JobRecord, view: str) -> bool:
    archived = bool(job.row.note.get("isArchived"))
    return view == "all" or archived is (view == "archivedonly")


def _key(job: JobRecord) -> str:
    return f"{clock.iso(job.row.created)} {job.row.name.casefold()}"


_SUFFIX = "-score"
_MODULE = "batchscoring"  # as azure-ai-ml 1.35.2 calls it (BATCH_JOB_CHILD_RUN_NAME)


def _job_of_scoring_step(name: str) -> str | None:
    """Return the job whose scoring step has this name; None if there is none."""
    job = name.removesuffix(_SUFFIX)
    return job if job and job != name else None


def is_scoring_step(job: JobRecord) -> bool:
    """Whether a job is a scoring step, which the simulated cloud does not keep."""
    return job.row.parent is not None and _job_of_scoring_step(job.row.name) == job.row.parent


def scoring_step(job: JobRecord) -> JobRecord:
    """The step that scores: the service runs it as a child of the job of an endpoint.

    The simulated cloud keeps the two as one. Here the step has a name, a parent and properties of
    its own, and all else of the job.
    """
    properties = {
        "azureml.runsource": "azureml.StepRun",
        "azureml.pipelinerunid": job.row.name,
        "azureml.rootpipelinerunid": job.row.name,
        "azureml.moduleName": _MODULE,
    }
    note = {**job.row.note, "displayName": _MODULE, "properties": properties, "tags": {}}
    name = f"{job.row.name}{_SUFFIX}"
    row = replace(job.row, name=name, parent=job.row.name, endpoint=None, note=note)
    return replace(job, row=row)


def trigger(call: Call) -> Response:
    """POST trigger of a schedule: return the started job, as azure-ai-ml 1.35.2 reads it."""
    job = schedules.trigger(call.handle, call.names["name"])
    return json_response({"scheduleActionType": "CreateJob", "submissionId": job.row.name})
