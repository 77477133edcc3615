"""Submit jobs: by ARM's type of job, and those of the classic batch service."""

from __future__ import annotations

from contextlib import suppress

from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import replay
from mlctl.simulator.control_plane.jobs import (
    batch_jobs,
    pipelines,
    records,
    sweeps,
    training_jobs,
    workloads,
)
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow, WorkspaceTransaction
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine.commands import SetSharedQueue, SubmitPoolJob
from mlctl.simulator.engine.model import SharedQueueSettings

_HERE = "local"  # the compute of a job whose code the tool itself runs, in place of a cluster
# By ARM's type of job: what its name begins with where none is given, and what submits it.
_SUBMIT = {
    "Command": ("job", training_jobs.submit),
    "Pipeline": ("pipeline", pipelines.submit),
    "Sweep": ("sweep", sweeps.submit),
}


def create(workspace: WorkspaceHandle, request: JobRequest) -> JobRecord:
    """Submit a job.

    Raises:
        ServiceError: a resource that it names does not exist (404), the request is not valid, or
            it is for this machine, and its code has not run here.
    """
    compute = str(request.properties.get("computeId") or "")
    if compute.rpartition("/")[2].casefold() == _HERE and not request.ran:
        why = "a job with `compute: local` runs its code on this machine, which was not asked for"
        how = "--run-code here, `mlctl emulator start --run-code` for az and the SDK"
        raise Permanent("NotRun", f"{why}: {how}, `mlctl job run FILE` without a workspace")
    with records.transaction(workspace, creates=True) as transaction:
        return _create(transaction, request)


class _Checked(Exception): ...


def check(workspace: WorkspaceHandle, request: JobRequest) -> str:
    """Return the name of the job that `create` would submit; nothing is stored.

    Raises:
        ServiceError: as `create`.
    """
    name = ""
    with suppress(_Checked), records.transaction(workspace, creates=True) as transaction:
        name = _create(transaction, request).row.name
        raise _Checked
    return name


def _create(transaction: WorkspaceTransaction, request: JobRequest) -> JobRecord:
    kind = str(request.properties.get("jobType"))
    if kind not in _SUBMIT:
        text = f"The simulated cloud runs command, pipeline and sweep jobs, not `{kind}`."
        raise Permanent("UnsupportedJobType", text, target="jobType")
    prefix, submit = _SUBMIT[kind]
    workloads.check(request.workload)
    name = request.name or records.new_name(transaction, prefix)
    row = JobRow(name, kind, None, None, transaction.state.now, {})
    return submit(transaction, row, request)


def invoke(workspace: WorkspaceHandle, invocation: Invocation) -> JobRecord:
    """Submit a job of a batch endpoint: of a model, or of a pipeline component."""
    workloads.check(invocation.workload)
    with records.transaction(workspace, creates=True) as transaction:
        state = transaction.state
        deployment = batch_jobs.deployment_of(transaction, invocation)
        configured = arm_body.section(deployment.body["properties"], "deploymentConfiguration")
        if configured.get("deploymentConfigurationType") != "PipelineComponent":
            return batch_jobs.invoke(transaction, deployment, invocation)
        name = batch_jobs.name_of(transaction, invocation)
        cluster = batch_jobs.compute_of(deployment, state)
        note = batch_jobs.invocation_note(invocation, cluster, state, name)
        tags = {"azureml.jobtype": "azureml.pipelinejob", **note["tags"]}
        origin = (deployment.address.parent, deployment.address.name, state.now)
        row = JobRow(name, "Pipeline", *origin, {**note, "tags": tags})
        settings = arm_body.section(configured, "settings")
        properties = {
            "componentId": arm_body.section(configured, "componentId").get("assetId"),
            "computeId": row.note["computeId"],
            "settings": settings,
            "inputs": arm_body.section(invocation.body, "inputData"),
            "outputs": arm_body.section(invocation.body, "outputData"),
            "experimentName": row.note["experimentName"],
        }
        return pipelines.submit(
            transaction,
            row,
            JobRequest(
                row.name, properties, invocation.workload, invocation.workload_name, invocation.ran
            ),
        )


def submit_pool_job(
    workspace: WorkspaceHandle, pool: str | None, duration: float, name: str | None
) -> JobRecord:
    """Submit a job that takes one VM for `duration` seconds."""
    with records.transaction(workspace, creates=True) as transaction:
        name = name or records.new_name(transaction, "pooljob")
        pool_name, note = None, {}
        if pool is not None:
            resource = transaction.require(Address("batch-pool", pool))
            batch_jobs.ensure_in_engine(transaction, resource)
            pool_name = transaction.engine_name(resource.address.name)
            note = {"poolName": resource.address.name}
        row = JobRow(name, "Pool", None, None, transaction.state.now, note)
        command = SubmitPoolJob(transaction.engine_name(name), duration, pool_name)
        return records.submit(transaction, row, command)


def set_shared_queue(workspace: WorkspaceHandle, tenancy: SharedQueueSettings) -> None:
    """Set how the shared queue behaves."""
    with replay.transaction(workspace.store) as transaction, records.translate_refusals(0):
        replay.run_command(transaction, SetSharedQueue(tenancy))
