"""Training jobs: the engine's specification from a command job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from sqlite3 import Connection

from mlctl import catalog
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import batch_jobs, records, workloads
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
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


def submit(
    transaction: replay.EngineTransaction, state: WorkspaceState, row: JobRow, request: JobRequest
) -> JobRecord:
    """Submit a training job as `row` says, whose note is completed."""
    _check_environment(transaction, state, request.properties)
    ran = request.ran.get("")
    if ran is not None:
        request = replace(request, workload=ran.workload)
    workload = request.workload.over(workloads.get(transaction.db, request.workload_name))
    engine_name = command_log.engine_name(state.id, row.name)
    spec = training_spec(transaction, state, engine_name, request.properties, workload)
    spec = replace(spec, first=_resumed(transaction, state, request.properties, spec.steps))
    note = {key: value for key, value in request.properties.items() if key != "status"}
    note.setdefault("displayName", row.name)
    note["checkpointEvery"], note["checkpointFirst"] = spec.checkpoint_every, spec.first
    note["work"] = workloads.describe(
        transaction.db, request.source, workloads.TRAINING, limit_s=spec.max_runtime_s
    )
    note |= ran.note if ran is not None else {}
    return records.submit(transaction, state, replace(row, note=note), SubmitTraining(spec))


def _resumed(
    transaction: replay.EngineTransaction,
    state: WorkspaceState,
    properties: Mapping[str, Data],
    steps: int,
) -> int:
    """How many steps the checkpoint has from which the job goes on: that of an earlier job."""
    name = arm_body.section(properties, "properties").get(RESUMES)
    if not name:
        return 0
    row = records.job_row(transaction.db, state, str(name))
    progress = records.job_record(transaction.world, state.id, row).view.training
    return min(progress.saved, steps - 1) if progress is not None else 0


def _check_environment(
    transaction: replay.EngineTransaction, state: WorkspaceState, properties: Mapping[str, Data]
) -> None:
    text = str(properties.get("environmentId") or "")
    address = batch_jobs.address_in(state, text, "environment")
    if address is None:
        return
    curated = kind_of(address).content.curated
    if not (curated and address.name.startswith(curated)):  # it is taken, there or not
        records.require_resource(transaction.db, state, address)


def training_spec(
    transaction: replay.EngineTransaction,
    state: WorkspaceState,
    name: str,
    properties: Mapping[str, Data],
    workload: Workload,
) -> TrainingSpec:
    """The engine's specification of the job `name` (its name there) from ARM's properties."""
    nodes = arm_body.section(properties, "resources").get("instanceCount", 1)
    timeout = arm_body.section(properties, "limits").get("timeout")
    limit_s = parse_iso(arm_body.duration(timeout, "limits.timeout")) if timeout else None
    cluster, own_cluster = nodes_of(transaction, state, name, properties)
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
    transaction: replay.EngineTransaction,
    state: WorkspaceState,
    name: str,
    properties: Mapping[str, Data],
) -> tuple[str, ClusterSpec | None]:
    """The cluster of a job by the engine's name, or "" and nodes that the job gets for itself."""
    address = _compute(state, properties)
    machine = _instance(transaction.db, state, address) if address else None
    if address is None or machine is not None:
        return "", _own_nodes(name, properties, state, machine)
    resource = records.require_resource(transaction.db, state, address)
    batch_jobs.ensure_in_engine(transaction, state, resource)
    return command_log.engine_name(state.id, resource.address.name), None


def _compute(state: WorkspaceState, properties: Mapping[str, Data]) -> Address | None:
    """The cluster that a job names; None for a serverless job, and one that runs here."""
    text = str(properties.get("computeId") or _NO_CLUSTER[0])
    if text.rpartition("/")[2].casefold() in _NO_CLUSTER:
        return None
    address = batch_jobs.address_in(state, text, "compute")
    if address is None:
        raise NotFound("ComputeNotFound", f"`{text}` is no cluster of this workspace.")
    return address


def _instance(db: Connection, state: WorkspaceState, address: Address) -> Mapping[str, Data] | None:
    """The properties of the compute instance of that name; None if there is none."""
    instance = rows.find(db, state.id, Address("compute-instance", address.name))
    return instance.body["properties"]["properties"] if instance else None


def _own_nodes(
    name: str,
    properties: Mapping[str, Data],
    state: WorkspaceState,
    machine: Mapping[str, Data] | None,
) -> ClusterSpec:
    """The nodes that a job gets for itself: serverless ones, or a compute instance."""
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
