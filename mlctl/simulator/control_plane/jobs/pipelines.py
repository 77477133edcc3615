"""Pipeline jobs: a graph of steps, each a job of the engine, planned when it is submitted.

What is planned is one command to the engine: which step begins when is up to its events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from mlctl.dataclasses import dataclass, field, replace
from mlctl.digests import sha256, uuid_of
from mlctl.kinds import control_flow
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.jobs import pipeline_nodes, records, sweeps, workloads
from mlctl.simulator.control_plane.jobs.pipeline_nodes import PipelineNode
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow, WorkspaceTransaction
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.engine import ended_jobs
from mlctl.simulator.engine.commands import SubmitGroup
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import GroupSpec, MemberSpec, TrainingSpec

_STEP_RUN = "azureml.StepRun"
_JOB_TYPES = {"pipeline": "Pipeline", "sweep": "Sweep"}
_PLACES = ("name", "componentId", "computeId", "inputs", "outputs", "_source")  # of a step


def submit(transaction: WorkspaceTransaction, row: JobRow, request: JobRequest) -> JobRecord:
    """Submit a pipeline job as `row` says, whose note is completed."""
    properties = request.properties
    component = pipeline_nodes.spec_of(transaction, properties.get("componentId"))
    settings = arm_body.section(properties, "settings")
    compute = properties.get("computeId") or settings.get("default_compute")
    inputs = pipeline_nodes.input_texts(
        arm_body.section(properties, "inputs"), arm_body.section(component, "inputs")
    )
    outer = PipelineContext(row.name, "", inputs, str(compute or ""), _goes_on(settings))
    reuses = not request.ran and transaction.state.settings.reuse_steps and not is_forced(settings)
    plan = _Plan(transaction, request, row.name, reuses)
    group = plan.group(row.name, _steps(transaction, properties, component), outer)
    outputs = arm_body.section(component, "outputs") | arm_body.section(properties, "outputs")
    declared = {key: value for key, value in properties.items() if key != "status"}
    note = {**declared, **row.note}
    note |= {"outputs": outputs, "displayName": note.get("displayName") or row.name}
    note |= request.ran[""].note if request.ran else {}
    note["properties"] = {
        **_run_properties(settings, compute),
        **arm_body.section(note, "properties"),
    }
    return records.submit(transaction, replace(row, note=note), SubmitGroup(group), plan.rows)


def _steps(
    transaction: WorkspaceTransaction, properties: Mapping[str, Data], component: Mapping[str, Data]
) -> dict[str, Data]:
    """Return the steps of a pipeline job: its own, its component's, or its component's job's.

    A component without known steps (of a registry, a command) is one step.
    """
    steps = arm_body.section(properties, "jobs") or arm_body.section(component, "jobs")
    source = str(component.get("sourceJobId") or "").rpartition("/")[2]
    if not steps and source:
        with suppress(NotFound):
            steps = arm_body.section(
                records.job_row(transaction.db, transaction.state, source).note, "jobs"
            )
    component_id = properties.get("componentId")
    if steps or not component_id:
        return steps
    return {str(component.get("name") or "step"): {"type": "command", "componentId": component_id}}


@dataclass(frozen=True, slots=True)
class PipelineContext:
    """Where steps are: the job above them, their path from the outermost, inherited settings."""

    parent: str
    path: str
    inputs: Mapping[str, str]
    compute: str
    goes_on: bool


@dataclass(slots=True)
class _Plan:
    """The plan of one pipeline job; `rows` are those of its steps at every depth."""

    transaction: WorkspaceTransaction
    request: JobRequest
    root: str
    reuses: bool
    rows: list[JobRow] = field(default_factory=list)

    def group(self, name: str, steps: Mapping[str, Data], outer: PipelineContext) -> GroupSpec:
        """Plan the steps of a pipeline, and of those within it."""
        if not steps:
            raise bad("A pipeline job needs at least one step.", "InvalidPipeline")
        if self.request.ran:
            steps = self._of_code(steps, outer)
        keys: dict[str, str] = {}  # by which steps before are the same as others
        members = {
            step: self._member(step, steps, outer, keys)
            for step in pipeline_nodes.sort_steps(steps)
        }
        declared = tuple(members[step] for step in steps)
        return GroupSpec(self._engine_name(name), declared, goes_on=outer.goes_on)

    def _of_code(self, steps: Mapping[str, Data], outer: PipelineContext) -> dict[str, Data]:
        """Return the steps that ran where the user's code did; all if it has not run."""
        steps = pipeline_nodes.unrolled(steps, outer.inputs)
        paths = [name for name in self.request.ran if name]
        prefix = f"{outer.path}/".replace("/", ".")[1:]

        def has_run(step: str) -> bool:
            path = f"{prefix}{step}"
            return any(name == path or name.startswith(f"{path}.") for name in paths)

        return control_flow.drop_unrun(steps, has_run) if paths else steps

    def _member(
        self, step: str, steps: Mapping[str, Data], outer: PipelineContext, keys: dict[str, str]
    ) -> MemberSpec:
        path = f"{outer.path}/{step}"
        name = self._name(path)
        node = pipeline_nodes.read(self.transaction, step, steps[step], outer.inputs)
        needed = pipeline_nodes.needed_steps(step, steps[step], steps)
        needed_names = tuple(
            self._engine_name(self._name(f"{outer.path}/{needed_step}")) for needed_step in needed
        )
        inputs = pipeline_nodes.with_outputs(node.input_texts, keys)
        keys[step] = key(node, inputs)
        row = self._row(name, node, outer)
        if node.is_pipeline:
            self.rows.append(row)
            compute = node.compute or outer.compute
            inner = PipelineContext(name, path, inputs, compute, outer.goes_on)
            return MemberSpec(self.group(name, node.component["jobs"], inner), needed_names)
        run = pipeline_nodes.NodeContext(self.transaction, self._engine_name(name), outer.compute)
        stored = workloads.part_workload(self.transaction.db, step, self.request.workload_name)
        workload = self.request.workload.over(stored)
        ran = self.request.ran.get(path[1:].replace("/", "."))
        if ran is not None:
            row = replace(row, note={**row.note, **ran.note})
            workload = ran.workload
        if node.kind == "sweep":
            trials, rows = sweeps.trials(
                run,
                name,
                sweeps.sweep_of_node(run, node),
                workload,
                self.transaction.state.now,
                ran,
            )
            self.rows += [row, *rows]
            return MemberSpec(trials, needed_names)
        spec, own_cluster = pipeline_nodes.leaf(run, node, workload, ran=ran is not None)
        if ran is None:
            figures = workloads.BATCH if node.kind == "parallel" else workloads.TRAINING
            limit_s = spec.max_runtime_s if isinstance(spec, TrainingSpec) else None
            work = workloads.describe(
                self.transaction.db, self.request.source, figures, step, limit_s=limit_s
            )
            row = replace(row, note={**row.note, "work": work})
        reused = find(self.transaction, keys[step]) if self.reuses else None
        self.rows.append(note_reuse(row, keys[step], reused))
        return MemberSpec(spec, needed_names, own_cluster, reused=reused is not None)

    def _row(self, name: str, node: PipelineNode, outer: PipelineContext) -> JobRow:
        free = {
            "azureml.runsource": _STEP_RUN,
            "azureml.nodeid": name[:8],
            "azureml.moduleid": node.component_version,
            "azureml.moduleName": node.module,
            "azureml.moduleVersion": str(node.component.get("version") or "1"),
            "azureml.pipelinerunid": outer.parent,
            "azureml.pipeline": outer.parent,
            "azureml.rootpipelinerunid": self.root,
            "azureml.DevPlatv2": "true",
        }
        note: dict[str, Data] = {
            "displayName": node.step,
            "experimentName": self.request.properties.get("experimentName") or "Default",
            "computeId": node.compute or outer.compute or None,
            "componentId": node.component_id,
            "outputs": node.declared_outputs,
            "properties": free,
            "tags": {"azureml.nodeid": name[:8], "azureml.pipeline": outer.parent},
        }
        job_type, now = _JOB_TYPES.get(node.kind, "Command"), self.transaction.state.now
        return JobRow(name, job_type, None, None, now, note, outer.parent)

    def _name(self, path: str) -> str:
        state = self.transaction.state
        return uuid_of(f"{state.seed}/{state.id}/{self.root}{path}")

    def _engine_name(self, name: str) -> str:
        return self.transaction.engine_name(name)


def _goes_on(settings: Mapping[str, Data]) -> bool:
    """Whether other steps go on when one has failed; by default they do (as recorded)."""
    return str(settings.get("continue_on_step_failure", True)).casefold() != "false"


def _run_properties(settings: Mapping[str, Data], compute: Data) -> dict[str, str]:
    """Return what the service says of a pipeline's run (recorded by the tests of azure-ai-ml)."""
    default_compute = (
        {"azureml.defaultComputeName": str(compute).rpartition("/")[2]} if compute else {}
    )
    return {
        "azureml.DevPlatv2": "true",
        "azureml.DatasetAccessMode": "Asset",
        "azureml.runsource": "azureml.PipelineRun",
        "runSource": "MFE",
        "runType": "HTTP",
        "azureml.parameters": "{}",
        "azureml.continue_on_step_failure": str(_goes_on(settings)),
        "azureml.continue_on_failed_optional_input": "True",
        "azureml.enforceRerun": str(is_forced(settings)),
        **default_compute,
        "azureml.defaultDataStoreName": "workspaceblobstore",
        "azureml.pipelineComponent": "pipelinerun",
    }


@dataclass(frozen=True, slots=True)
class Reused:
    """The step that ran, and its pipeline job."""

    run: str
    pipeline: str


def is_forced(settings: Mapping[str, Data]) -> bool:
    """Whether a pipeline job says that every step is to run again."""
    return str(settings.get("force_rerun", False)).casefold() == "true"


def key(node: PipelineNode, inputs: Mapping[str, str]) -> str:
    """Return a step's key for reuse: its component, its own settings, and its inputs.

    In `inputs` the outputs of other steps are named by the keys of those. A component that is not
    deterministic is never the same: the key is empty.
    """
    if str(node.component.get("is_deterministic", True)).casefold() == "false":
        return ""
    own_fields = {name: value for name, value in node.data.items() if name not in _PLACES}
    identity = [node.component_id, own_fields, dict(inputs)]
    return sha256(json.dumps(identity, sort_keys=True))


def note_reuse(row: JobRow, key: str, reused: Reused | None) -> JobRow:
    """Return a step's row with its key, and with what it reuses (properties as recorded)."""
    recorded = {}
    if reused is not None:
        recorded = {
            "azureml.isreused": "true",
            "azureml.reusedrunid": reused.run,
            "azureml.reusedpipelinerunid": reused.pipeline,
        }
    properties = {**recorded, **row.note["properties"]}
    return replace(row, note={**row.note, "properties": properties, "reuseKey": key})


def find(transaction: WorkspaceTransaction, key: str) -> Reused | None:
    """Find the newest step with that key that has completed, and ran itself."""
    query = (
        "SELECT name, parent FROM jobs WHERE workspace = ? AND parent IS NOT NULL"
        " AND json_extract(note, '$.reuseKey') = ?"
        " AND json_extract(note, '$.properties.\"azureml.isreused\"') IS NULL ORDER BY id DESC"
    )
    for name, parent in transaction.db.execute(query, (transaction.state.id, key)) if key else ():
        job = ended_jobs.find(transaction.world, transaction.engine_name(str(name)))
        if job is not None and job.status is JobStatus.COMPLETED:
            return Reused(str(name), str(parent))
    return None
