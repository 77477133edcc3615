"""Jobs that people submit, by ARM's type of job."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import replay
from mlctl.simulator.control_plane.jobs import (
    batch_jobs,
    pipelines,
    sweeps,
    training_jobs,
    workloads,
)
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
from mlctl.simulator.control_plane.jobs.requests import JobRequest
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle, ensure_workspace

_CREATE = {
    "Command": training_jobs.create,
    "Pipeline": pipelines.create,
    "Sweep": sweeps.create,
}


def create(workspace: WorkspaceHandle, request: JobRequest) -> JobRecord:
    """Submit a job.

    Raises:
        ServiceError: a resource that it names does not exist (404), or the request is not valid.
    """
    kind = str(request.properties.get("jobType"))
    if kind not in _CREATE:
        text = f"The simulated cloud runs {_enumerate(_CREATE)} jobs, not `{kind}`."
        raise Permanent("UnsupportedJobType", text, target="jobType")
    return _CREATE[kind](workspace, request)


def invoke(workspace: WorkspaceHandle, invocation: Invocation) -> JobRecord:
    """Submit a job of a batch endpoint: of a model, or of a pipeline component.

    Raises:
        ServiceError: a resource that it names does not exist (404), or the request is not valid.
    """
    workloads.check(invocation.workload)
    with replay.transaction(workspace.store) as transaction:
        state = ensure_workspace(transaction.db, workspace)
        deployment = batch_jobs.deployment_of(transaction, state, invocation)
        configured = part.section(deployment.body["properties"], "deploymentConfiguration")
        if configured.get("deploymentConfigurationType") != "PipelineComponent":
            return batch_jobs.invoke(transaction, state, deployment, invocation)
        name = batch_jobs.name_of(transaction, state, invocation)
        cluster = batch_jobs.compute_of(deployment, state)
        note = batch_jobs.invocation_note(invocation, cluster, state, name)
        tags = {"azureml.jobtype": "azureml.pipelinejob", **note["tags"]}
        origin = (deployment.address.parent, deployment.address.name, state.now)
        row = JobRow(name, "Pipeline", *origin, {**note, "tags": tags})
        return pipelines.submit(
            transaction, state, row, _pipeline_request(configured, row, invocation)
        )


def _pipeline_request(
    configured: Mapping[str, Data], row: JobRow, invocation: Invocation
) -> JobRequest:
    """The pipeline job that an invocation is, with the settings of its deployment."""
    settings = part.section(configured, "settings")
    properties = {
        "componentId": part.section(configured, "componentId").get("assetId"),
        "computeId": row.note["computeId"],
        "settings": settings,
        "inputs": part.section(invocation.body, "inputData"),
        "outputs": part.section(invocation.body, "outputData"),
        "experimentName": row.note["experimentName"],
    }
    return JobRequest(row.name, properties, invocation.workload, invocation.workload_name)


def _enumerate(words: Mapping[str, Data]) -> str:
    *first_words, last = (word.lower() for word in words)
    return f"{', '.join(first_words)} and {last}"
