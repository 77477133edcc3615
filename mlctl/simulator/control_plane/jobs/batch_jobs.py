"""Batch jobs: the engine's specification from an invocation, its deployment and its cluster."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from mlctl import pointer
from mlctl.dataclasses import dataclass, field
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address, Reference, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import records, workloads
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow, WorkspaceTransaction
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.engine.commands import SubmitBatch
from mlctl.simulator.engine.model import BatchSpec
from mlctl.simulator.engine.state import Cluster
from mlctl.workload import DEFAULT_NAME, Workload

_DEFAULT_COMPUTE = ("deploymentConfiguration", "settings", "default_compute")
_KEPT = ("inputData", "outputData", "outputDataset", "outputFileName", "description")


@dataclass(frozen=True, slots=True)
class Invocation:
    """An invocation of an endpoint (of its default deployment if none is named).

    `body` has ARM's properties of a batch job, which override the deployment's. `workload` says how
    much work there is; the stored workload `workload_name` says the rest. `results` is the folder
    with what the user's own code has predicted, where that was run; `ran` is as in `JobRequest`,
    for a deployment of a pipeline.
    """

    endpoint: str
    deployment: str | None
    body: Mapping[str, Data]
    workload: Workload = Workload()
    workload_name: str = DEFAULT_NAME
    results: str = ""
    ran: Mapping[str, workloads.CodeResult] = field(default_factory=dict)


def invoke(
    transaction: WorkspaceTransaction, deployment: StoredResource, invocation: Invocation
) -> JobRecord:
    """Submit a job of a deployment of a model."""
    state = transaction.state
    cluster = transaction.require(compute_of(deployment, state))
    ensure_in_engine(transaction, cluster)
    name = name_of(transaction, invocation)
    workload = invocation.workload.over(workloads.get(transaction.db, invocation.workload_name))
    spec = BatchSpec(
        transaction.engine_name(name),
        transaction.engine_name(cluster.address.name),
        **_engine_fields(deployment.body["properties"], invocation.body, workload),
    )
    origin = (deployment.address.parent, deployment.address.name, state.now)
    note = invocation_note(invocation, cluster.address, state, name) | _notice(
        spec, transaction.world.clusters[spec.cluster]
    )
    asked_for = workloads.WorkloadSource(
        invocation.workload, invocation.workload_name, "the invocation"
    )
    work = workloads.describe(transaction.db, asked_for, workloads.BATCH)
    file_name = deployment.body["properties"].get("outputFileName") or records.DEFAULT_FILE
    file_setting = {"output_file_name": file_name} if file_name != records.DEFAULT_FILE else {}
    note["work"] = {"mini_batch_size": spec.mini_batch_size, **file_setting, **work}
    row = JobRow(name, "Batch", *origin, note)
    return records.submit(transaction, row, SubmitBatch(spec))


def name_of(transaction: WorkspaceTransaction, invocation: Invocation) -> str:
    """Return the name of an invocation's job: given or generated."""
    return str(invocation.body.get("name") or records.new_name(transaction, "batchjob"))


def ensure_in_engine(transaction: WorkspaceTransaction, cluster: StoredResource) -> None:
    """Create a cluster or pool in the engine if its command was never appended."""
    command = command_log.create_command(
        transaction.db, transaction.state, cluster.address, cluster.body
    )
    name = transaction.engine_name(cluster.address.name)
    has_nodes = kind_of(cluster.address).quota.has_nodes
    existing: Container[str] = transaction.world.clusters if has_nodes else transaction.world.pools
    if command is not None and name not in existing:
        replay.carry_out(transaction, command)


def deployment_of(transaction: WorkspaceTransaction, invocation: Invocation) -> StoredResource:
    """Return the deployment that an invocation names, or else the default one.

    Raises:
        ServiceError: there is none (404, 400), or it cannot take jobs (409).
    """
    endpoint = transaction.require(Address("batch-endpoint", invocation.endpoint))
    name = invocation.deployment or pointer.get(
        endpoint.body, ("properties", "defaults", "deploymentName")
    )
    if not name:
        text = f"Endpoint `{endpoint.address.name}` has no default deployment: name one."
        raise Permanent("NoDefaultDeployment", text)
    deployment = transaction.require(Address("batch-deployment", str(name), endpoint.address.name))
    if deployment.state in ("Creating", "Failed"):
        text = f"The deployment `{name}` cannot take jobs: it is {deployment.state.lower()}."
        raise Permanent("DeploymentNotReady", text, status=409)
    return deployment


def compute_of(deployment: StoredResource, state: WorkspaceState) -> Address:
    """Return the cluster that a deployment's jobs run on.

    Raises:
        ServiceError: it names none of this workspace.
    """
    properties = deployment.body["properties"]
    text = properties.get("compute") or pointer.get(properties, _DEFAULT_COMPUTE)
    address = address_in(state, str(text or ""), "compute")
    if address is None:
        name = deployment.address.name
        text = f"The deployment `{name}` names no cluster of this workspace that a job can run on."
        raise Permanent("ComputeNotFound", text)
    return address


def address_in(state: WorkspaceState, text: str, kind: str) -> Address | None:
    """Return the address that a text names in this workspace; None if it names nothing here."""
    reference = Reference.parse(f"azureml:{text}" if text.startswith("/") else text, kind)
    if reference is None or reference.within(state.scope).scope is not None:
        return None
    return reference.address


def _engine_fields(
    deployment: Mapping[str, Data], job: Mapping[str, Data], workload: Workload
) -> dict[str, Any]:
    """Return the engine's fields: the job's values, or else the deployment's."""
    work: dict[str, Any] = {
        "files": workload.files or 0,
        "workload": workloads.batch_work(workload),
    }
    retry = arm_body.section(deployment, "retrySettings") | arm_body.section(job, "retrySettings")
    nodes = arm_body.section(deployment, "resources") | arm_body.section(job, "compute")
    settings = {**deployment, **job, **retry, "instanceCount": nodes.get("instanceCount", 1)}
    least = {
        field: arm_body.whole_number(settings.get(name), low, name, _MOST)
        for field, name, low in _WHOLE
    }
    timeout = parse_iso(arm_body.duration(settings.get("timeout"), "retrySettings.timeout"))
    return {**work, **least, "timeout_s": timeout}


_MOST = 2**53  # the largest integer that JSON readers keep exactly
_WHOLE = (
    ("mini_batch_size", "miniBatchSize", 1),
    ("instance_count", "instanceCount", 1),
    ("concurrency", "maxConcurrencyPerInstance", 1),
    ("max_retries", "maxRetries", 0),
    ("error_threshold", "errorThreshold", -1),
)


def _notice(spec: BatchSpec, cluster: Cluster) -> dict[str, Data]:
    """R3: return the notice of a job that requests more nodes than its cluster may have."""
    limit = cluster.spec.max_instances
    if spec.instance_count <= limit:
        return {}
    name = command_log.resource_name(spec.cluster)
    has = f"cluster `{name}` has at most {limit}: the job runs on that"
    return {"notice": f"instance_count is {spec.instance_count}, but {has}"}


def invocation_note(
    invocation: Invocation, cluster: Address, state: WorkspaceState, name: str
) -> dict[str, Data]:
    """Return the properties of the job's body that the engine does not use."""
    free = arm_body.section(invocation.body, "properties")
    return {
        "displayName": name,
        "experimentName": free.get("experimentName") or invocation.endpoint,
        "computeId": cluster.id(state.scope),
        **{key: invocation.body[key] for key in _KEPT if key in invocation.body},
        "properties": {key: str(value) for key, value in free.items() if key != "experimentName"},
        "tags": invocation.body.get("tags") or {},
        **({"results": invocation.results} if invocation.results else {}),
    }
