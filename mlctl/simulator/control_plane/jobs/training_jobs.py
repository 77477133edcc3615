"""Training jobs: the engine's specification from a command job."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.dataclasses import replace
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.jobs import batch_jobs, records, workloads
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow, WorkspaceTransaction
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.engine.commands import SubmitTraining
from mlctl.simulator.engine.model import ClusterSpec, Tier, TrainingSpec
from mlctl.workload import RESUMES, Workload

_NO_CLUSTER = ("serverless", "local")  # of a job: nodes of its own, or this machine
_DEFAULT_SIZE = "STANDARD_DS3_V2"  # A: Azure chooses one by the remaining quota
_MOST = 2**31 - 1


def submit(transaction: WorkspaceTransaction, row: JobRow, request: JobRequest) -> JobRecord:
    """Submit a training job as `row` says, whose note is completed."""
    _check_environment(transaction, request.properties)
    ran = request.ran.get("")
    if ran is not None:
        request = replace(request, workload=ran.workload)
    workload = request.workload.over(workloads.get(transaction.db, request.workload_name))
    engine_name = transaction.engine_name(row.name)
    spec = training_spec(transaction, engine_name, request.properties, workload)
    spec = replace(spec, first=_resumed(transaction, request.properties, spec.steps))
    note = {key: value for key, value in request.properties.items() if key != "status"}
    note.setdefault("displayName", row.name)
    note["checkpointEvery"], note["checkpointFirst"] = spec.checkpoint_every, spec.first
    note["work"] = workloads.describe(
        transaction.db, request.source, workloads.TRAINING, limit_s=spec.max_runtime_s
    )
    note |= ran.note if ran is not None else {}
    return records.submit(transaction, replace(row, note=note), SubmitTraining(spec))


def _resumed(transaction: WorkspaceTransaction, properties: Mapping[str, Data], steps: int) -> int:
    """Return the steps of an earlier job's checkpoint from which the job resumes."""
    name = arm_body.section(properties, "properties").get(RESUMES)
    if not name:
        return 0
    row = records.job_row(transaction.db, transaction.state, str(name))
    progress = records.job_record(transaction.world, transaction.state.id, row).view.training
    return min(progress.saved, steps - 1) if progress is not None else 0


def _check_environment(transaction: WorkspaceTransaction, properties: Mapping[str, Data]) -> None:
    text = str(properties.get("environmentId") or "")
    address = batch_jobs.address_in(transaction.state, text, "environment")
    if address is None:
        return
    curated = kind_of(address).content.curated
    if not (curated and address.name.startswith(curated)):  # it is taken, there or not
        transaction.require(address)


def training_spec(
    transaction: WorkspaceTransaction, name: str, properties: Mapping[str, Data], workload: Workload
) -> TrainingSpec:
    """Return the engine's specification of the job `name` (its name there), by ARM's properties."""
    nodes = arm_body.section(properties, "resources").get("instanceCount", 1)
    timeout = arm_body.section(properties, "limits").get("timeout")
    limit_s = parse_iso(arm_body.duration(timeout, "limits.timeout")) if timeout else None
    cluster, own_cluster = nodes_of(transaction, name, properties)
    return TrainingSpec(
        name,
        workload.steps or 0,
        workloads.step_time(workload, limit_s),
        cluster,
        own_cluster,
        workload.checkpoint_every or 0,
        workload.seconds_per_checkpoint or 0.0,
        workload.seconds_to_restore or 0.0,
        arm_body.whole_number(nodes, 1, "instanceCount", greatest=_MOST),
        limit_s,
        workload.fail_probability or 0.0,
    )


def nodes_of(
    transaction: WorkspaceTransaction, name: str, properties: Mapping[str, Data]
) -> tuple[str, ClusterSpec | None]:
    """Return the engine's name of a job's cluster, or "" and the job's own nodes."""
    address = _compute(transaction.state, properties)
    machine = _instance(transaction, address) if address else None
    if address is None or machine is not None:
        return "", _own_nodes(name, properties, transaction.state, machine)
    resource = transaction.require(address)
    batch_jobs.ensure_in_engine(transaction, resource)
    return transaction.engine_name(resource.address.name), None


def _compute(state: WorkspaceState, properties: Mapping[str, Data]) -> Address | None:
    """Return the cluster that a job names; None for a serverless job, or one that runs here."""
    text = str(properties.get("computeId") or _NO_CLUSTER[0])
    if text.rpartition("/")[2].casefold() in _NO_CLUSTER:
        return None
    address = batch_jobs.address_in(state, text, "compute")
    if address is None:
        raise NotFound("ComputeNotFound", f"`{text}` is no cluster of this workspace.")
    return address


def _instance(transaction: WorkspaceTransaction, address: Address) -> Mapping[str, Data] | None:
    """Return the properties of the compute instance of that name; None if there is none."""
    instance_address = Address("compute-instance", address.name)
    instance = rows.find(transaction.db, transaction.state.id, instance_address)
    return instance.body["properties"]["properties"] if instance else None


def _own_nodes(
    name: str,
    properties: Mapping[str, Data],
    state: WorkspaceState,
    machine: Mapping[str, Data] | None,
) -> ClusterSpec:
    """Return the nodes that a job gets for itself: serverless ones, or a compute instance."""
    spot = arm_body.section(properties, "queueSettings").get("jobTier") == "Spot"
    vm_size = str(arm_body.section(properties, "resources").get("instanceType") or _DEFAULT_SIZE)
    if machine is not None:
        vm_size, spot = str(machine["vmSize"]), False
    size = catalog.size_of(vm_size)
    if size is None:
        raise bad(f"The specified VM size {vm_size} is not available.", "InvalidVMSize")
    price = state.price_list().price(vm_size, state.location)
    return ClusterSpec(
        f"{name}-nodes",
        Tier.LOW_PRIORITY if spot else Tier.DEDICATED,
        cores=size.vcpus,
        price=price.of_tier(low_priority=spot),
        region=state.location,
    )
