"""Jobs that people submit, by ARM's type of job."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.jobs import pipelines, sweeps, training_jobs
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.requests import JobRequest
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_CREATE = {
    "Command": training_jobs.create,
    "Pipeline": pipelines.create,
    "Sweep": sweeps.create,
}


def create(workspace: WorkspaceHandle, asked: JobRequest) -> JobRecord:
    """Submit a job.

    Raises:
        ServiceError: a resource that it names does not exist (404), or the request is not valid.
    """
    kind = str(asked.properties.get("jobType"))
    if kind not in _CREATE:
        text = f"The simulated cloud runs {_listed(_CREATE)} jobs, not `{kind}`."
        raise Permanent("UnsupportedJobType", text, target="jobType")
    return _CREATE[kind](workspace, asked)


def _listed(words: Mapping[str, Data]) -> str:
    *others, last = (word.lower() for word in words)
    return f"{', '.join(others)} and {last}"
