"""Batch jobs: the engine's specification from an invocation, its deployment and its cluster."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from mlctl import pointer
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address, Reference, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import records, workloads
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.engine.commands import SubmitBatch
from mlctl.simulator.engine.model import BatchSpec, BatchWork
from mlctl.simulator.engine.state import Cluster
from mlctl.workload import DEFAULT_NAME, Workload

_DEFAULT_COMPUTE = ("deploymentConfiguration", "settings", "default_compute")
_KEPT = ("inputData", "outputData", "outputDataset", "outputFileName", "description")


@dataclass(frozen=True, slots=True)
class Invocation:
    """An invocation of an endpoint (of its default deployment if none is named).

    `body` has ARM's properties of a batch job, which override the deployment's. `workload` says how
    much work there is; the stored workload `workload_name` says the rest.
    """

    endpoint: str
    deployment: str | None
    body: Mapping[str, Data]
    workload: Workload = Workload()
    workload_name: str = DEFAULT_NAME


def invoke(
    transaction: replay.EngineTransaction,
    state: WorkspaceState,
    deployment: StoredResource,
    wanted: Invocation,
) -> JobRecord:
    """Submit a job of a deployment of a model.

    Raises:
        ServiceError: a resource that it names does not exist (404), or the request is not valid.
    """
    cluster = records.require_resource(transaction.db, state, compute_of(deployment, state))
    ensure_in_engine(transaction, state, cluster)
    name = name_of(transaction, state, wanted)
    given = wanted.workload.over(workloads.get(transaction.db, wanted.workload_name))
    spec = BatchSpec(
        command_log.engine_name(state.id, name),
        command_log.engine_name(state.id, cluster.address.name),
        **_engine_fields(deployment.body["properties"], wanted.body, given),
    )
    asked = (deployment.address.parent, deployment.address.name, state.now)
    note = noted(wanted, cluster.address, state, name) | _notice(
        spec, transaction.world.clusters[spec.cluster]
    )
    asked_for = workloads.Asked(wanted.workload, wanted.workload_name, "the invocation")
    work = workloads.said(transaction.db, asked_for, workloads.BATCH)
    note["work"] = {"mini_batch_size": spec.mini_batch_size, **work}
    row = JobRow(name, "Batch", *asked, note)
    return records.submit(transaction, state, row, SubmitBatch(spec))


def name_of(
    transaction: replay.EngineTransaction, state: WorkspaceState, wanted: Invocation
) -> str:
    """The name of an invocation's job: one is made up where none is given."""
    return str(wanted.body.get("name") or records.new_name(transaction.db, state, "batchjob"))


def ensure_in_engine(
    transaction: replay.EngineTransaction,
    state: WorkspaceState,
    cluster: StoredResource,
) -> None:
    """Create a cluster or pool in the engine if its command was never appended."""
    wanted = command_log.create_command(transaction.db, state, cluster.address, cluster.body)
    name = command_log.engine_name(state.id, cluster.address.name)
    has_nodes = kind_of(cluster.address).quota.has_nodes
    there: Container[str] = transaction.world.clusters if has_nodes else transaction.world.pools
    if wanted is not None and name not in there:
        replay.carry_out(transaction, wanted)


def deployment_of(
    transaction: replay.EngineTransaction, state: WorkspaceState, wanted: Invocation
) -> StoredResource:
    """The deployment that an invocation is of: the one that it names, or the default one.

    Raises:
        ServiceError: there is none (404, 400), or it cannot take jobs (409).
    """
    endpoint = records.require_resource(
        transaction.db, state, Address("batch-endpoint", wanted.endpoint)
    )
    name = wanted.deployment or pointer.get(
        endpoint.body, ("properties", "defaults", "deploymentName")
    )
    if not name:
        text = f"Endpoint `{endpoint.address.name}` has no default deployment: name one."
        raise Permanent("NoDefaultDeployment", text)
    found = records.require_resource(
        transaction.db, state, Address("batch-deployment", str(name), endpoint.address.name)
    )
    if found.state in ("Creating", "Failed"):
        text = f"The deployment `{name}` cannot take jobs: it is {found.state.lower()}."
        raise Permanent("DeploymentNotReady", text, status=409)
    return found


def compute_of(deployment: StoredResource, state: WorkspaceState) -> Address:
    """The cluster that a deployment's jobs run on.

    Raises:
        ServiceError: it names none of this workspace.
    """
    properties = deployment.body["properties"]
    text = properties.get("compute") or pointer.get(properties, _DEFAULT_COMPUTE)
    named = Reference.parse(reference_text(str(text)), "compute") if text else None
    if named is None or named.address is None or named.within(state.scope).scope is not None:
        name = deployment.address.name
        text = f"The deployment `{name}` names no cluster of this workspace that a job can run on."
        raise Permanent("ComputeNotFound", text)
    return named.address


def reference_text(text: str) -> str:
    """An ARM id as a reference in YAML: `azureml:/subscriptions/...`."""
    return f"azureml:{text}" if text.startswith("/") else text


def _engine_fields(
    deployment: Mapping[str, Data], job: Mapping[str, Data], given: Workload
) -> dict[str, Any]:
    """The fields of the engine's specification: the job's values, or else the deployment's."""
    work: dict[str, Any] = {"files": given.files or 0, "workload": batch_work(given)}
    retry = part.section(deployment, "retrySettings") | part.section(job, "retrySettings")
    nodes = part.section(deployment, "resources") | part.section(job, "compute")
    settings = {**deployment, **job, **retry, "instanceCount": nodes.get("instanceCount", 1)}
    least = {
        field: part.whole_number(settings.get(name), low, name, _MOST)
        for field, name, low in _WHOLE
    }
    timeout = parse_iso(part.duration(settings.get("timeout"), "retrySettings.timeout"))
    return {**work, **least, "timeout_s": timeout}


_MOST = 2**53  # the largest integer that JSON readers keep exactly
_WHOLE = (
    ("mini_batch_size", "miniBatchSize", 1),
    ("instance_count", "instanceCount", 1),
    ("concurrency", "maxConcurrencyPerInstance", 1),
    ("max_retries", "maxRetries", 0),
    ("error_threshold", "errorThreshold", -1),
)


def batch_work(given: Workload) -> BatchWork:
    """The engine's form of a workload."""
    return BatchWork(
        given.seconds_per_file or 0.0,
        given.seconds_per_mini_batch or 0.0,
        given.cv or 0.0,
        given.fail_probability or 0.0,
        given.times or (),
        given.seconds_per_start or 0.0,
    )


def _notice(spec: BatchSpec, there: Cluster) -> dict[str, Data]:
    """R3: the notice of a job that asks for more nodes than its cluster may have."""
    most = there.spec.max_instances
    if spec.instance_count <= most:
        return {}
    name = command_log.resource_name(spec.cluster)
    has = f"cluster `{name}` has at most {most}: the job runs on that"
    return {"notice": f"instance_count is {spec.instance_count}, but {has}"}


def noted(
    wanted: Invocation, cluster: Address, state: WorkspaceState, name: str
) -> dict[str, Data]:
    """The properties of the job's body that are not of the engine."""
    free = part.section(wanted.body, "properties")
    return {
        "displayName": name,
        "experimentName": free.get("experimentName") or wanted.endpoint,
        "computeId": cluster.id(state.scope),
        **{key: wanted.body[key] for key in _KEPT if key in wanted.body},
        "properties": {key: str(value) for key, value in free.items() if key != "experimentName"},
        "tags": wanted.body.get("tags") or {},
    }
