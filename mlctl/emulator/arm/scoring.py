"""The step of a job of an endpoint that scores: the service runs it as a child of the job.

The simulated cloud keeps the two as one. Here the step has a name, a parent and properties of its
own, and all else of the job.
"""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.control_plane.jobs.records import JobRecord

_SUFFIX = "-score"
_MODULE = "batchscoring"  # as azure-ai-ml 1.35.2 calls it (BATCH_JOB_CHILD_RUN_NAME)


def job_name(name: str) -> str | None:
    """The job that the step of this name belongs to; None where it is no name of a step."""
    job = name.removesuffix(_SUFFIX)
    return job if job and job != name else None


def is_step(job: JobRecord) -> bool:
    """Whether a job is such a step, which the simulated cloud does not keep."""
    return job.row.parent is not None and job_name(job.row.name) == job.row.parent


def step(job: JobRecord) -> JobRecord:
    """The step of a job of an endpoint."""
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
