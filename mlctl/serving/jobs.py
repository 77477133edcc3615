"""Jobs of the simulated cloud with the results of the user's own code.

The code of a job runs once, before the job is submitted: each step's duration becomes its work, and
its failure the step's end. Nodes, preemption, order and cost are those of the event engine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from math import inf
from pathlib import Path

from mlctl.dataclasses import replace
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.rehearsal.process import Interpreter, sweep
from mlctl.running import commands
from mlctl.running.executor import JobRun, RunSettings
from mlctl.running.model import JobPlan, NodeResult, RunError, RunStatus
from mlctl.service_errors import Permanent
from mlctl.serving import job_plans
from mlctl.serving.deployments import CodeSettings
from mlctl.simulator.control_plane import local_paths, service
from mlctl.simulator.control_plane.jobs import artifacts, creation, records
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import CodeResult, JobRequest
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.workload import Workload

_LEAST_S = 1e-3  # of a job's time
_DEFAULT_STORE = "workspaceblobstore"


def create(
    workspace: WorkspaceHandle, request: JobRequest, code: CodeSettings, base: Path = Path()
) -> JobRecord:
    """Run the code of a job, and submit it with the results.

    Code runs only for a job that the workspace accepts. Local paths in it are relative to `base`.
    """
    is_pipeline = request.properties.get("jobType") == "Pipeline"
    to_run = {"": CodeResult(Workload(), {})} if is_pipeline else {}
    name = creation.check(workspace, replace(request, ran=to_run))
    plan = job_plans.plan(workspace, name, request.properties, code, base)
    ran = run(workspace, plan, code)
    job = creation.create(workspace, replace(request, name=name, ran=ran))
    keep_outputs(workspace, job, ran)
    return job


def run(workspace: WorkspaceHandle, plan: JobPlan, code: CodeSettings) -> dict[str, CodeResult]:
    """Run a plan in a new folder; return the result of each step by path, of the job under "".

    Raises:
        Permanent: the folder cannot be created.
    """
    folder, mark = results_folder(workspace, "job-"), uuid.uuid4().hex
    interpreter = Interpreter(code.python, alone=False, memory=0, mark=mark, ends=inf)
    settings = RunSettings(folder, interpreter, code.environment, os.cpu_count() or 1)
    try:
        results = JobRun(plan, settings).run()
    except RunError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise Permanent("NotRun", str(error)) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        sweep(mark)  # and no more: other jobs and endpoints run in this process, too
    ran = {
        name: _result(result)
        for name, result in results.items()
        if result.status is not RunStatus.BYPASSED
    }
    if set(ran) == {plan.name}:
        return {"": ran[plan.name]}
    return {"": CodeResult(Workload(), {"results": str(folder)}), **ran}


def results_folder(workspace: WorkspaceHandle, prefix: str) -> Path:
    """Create a folder for the code's results: beside the state file, if any."""
    beside = local_paths.code_folder(workspace.store)
    if beside is not None:
        beside.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=beside))


def _result(result: NodeResult) -> CodeResult:
    failed = result.status is RunStatus.FAILED
    workload = Workload(
        steps=1,
        seconds_per_step=max(_LEAST_S, result.seconds),
        checkpoint_every=0,
        fail_probability=float(failed),
    )
    note: dict[str, Data] = {"results": str(result.folder)}
    if result.parameters:
        note["parameters"] = dict(result.parameters)
    for number, trial in enumerate(result.trials):
        if (trial.parameters, trial.metrics) == (result.parameters, result.metrics):
            note["best"] = number
    if failed:
        note["failure"] = _failure(result)
    return CodeResult(workload, note, tuple(map(_result, result.trials)))


def _failure(result: NodeResult) -> str:
    """Explain a job's failure in the service's words, with the last lines of its output."""
    lines = commands.last_lines(result.log)
    text = f"Execution failed: {result.why}."
    if not lines:
        return text
    see = "Please check log file 'user_logs/std_log.txt' for error details."
    return "\n".join([f"{text} {see} Error:", *lines])


def keep_outputs(workspace: WorkspaceHandle, job: JobRecord, ran: Mapping[str, CodeResult]) -> None:
    """Record where the outputs of a job are, and register those that name an asset."""
    for step in records.children(workspace, job.row.name):
        own = CodeResult(Workload(), step.row.note)
        keep_outputs(workspace, step, {"": own})
    results = ran[""].note.get("results")
    if results is None:
        return
    folder = Path(str(results))
    uri = f"azureml://jobs/{job.row.name}/outputs"
    local_paths.note(workspace.store, f"{uri}/{artifacts.ARTIFACTS}", str(folder / "artifacts"))
    if any(result.note.get("failure") for result in ran.values()):
        return
    for name, item in arm_body.section(job.row.note, "outputs").items():
        place = folder / "outputs" / name
        if not place.exists():
            continue
        stored = f"azureml://datastores/{_DEFAULT_STORE}/paths/azureml/{job.row.name}/{name}"
        for at in (f"{uri}/{name}", stored):
            local_paths.note(workspace.store, at, str(place.resolve()))
        if isinstance(item, Mapping) and item.get("assetName"):
            _register(workspace, item, f"{stored}/")


def _register(workspace: WorkspaceHandle, output: Mapping[str, Data], uri: str) -> None:
    """Register an output as the asset that it names: a model or data."""
    kind = str(output.get("jobOutputType") or "uri_folder")
    is_model = kind.endswith("_model")
    version = str(output.get("assetVersion") or "1")
    address = Address("model" if is_model else "data", str(output["assetName"]), version=version)
    properties = {"modelUri": uri, "modelType": kind} if is_model else {"dataUri": uri}
    if not is_model:
        properties["dataType"] = kind
    service.put(workspace, address, {"properties": properties})
