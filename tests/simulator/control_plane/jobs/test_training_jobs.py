"""Training jobs of a simulated workspace: how long one takes of which nobody has said it."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs import creation, job_events
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.workload import Workload


def create(local: LocalBackend, timeout: str | None, workload: Workload | None = None) -> JobRecord:
    properties: dict[str, Data] = {
        "jobType": "Command",
        "command": "python train.py",
        "environmentId": "azureml://registries/azureml/environments/e/versions/1",
        "computeId": "serverless",
        "limits": {"timeout": timeout, "jobLimitsType": "Command"},
    }
    return creation.create(local.handle, JobRequest("train", properties, workload or Workload()))


def ended(local: LocalBackend, made: JobRecord) -> JobRecord:
    *_, last = job_events.follow(local.handle, made.row.name, 1e8, detail=False)
    return last.record


@pytest.mark.parametrize("timeout", [None, "PT30M", "PT15M", "PT10S", "PT6H"])
def test_a_job_of_assumed_length_ends_within_its_own_time_limit(
    local: LocalBackend, timeout: str | None
) -> None:
    assert ended(local, create(local, timeout)).view.status is JobStatus.COMPLETED


def test_the_assumed_time_of_a_step_is_shown_as_it_is(local: LocalBackend) -> None:
    work = create(local, "PT30M").row.note["work"]
    assert isinstance(work, dict)
    assert (work["steps"], work["seconds_per_step"]) == (100, 9.0)
    assert isinstance(work["said_by"], dict)
    assert work["said_by"]["seconds_per_step"] == "assumed"


def test_a_job_that_is_said_to_take_longer_than_its_limit_is_cancelled(local: LocalBackend) -> None:
    made = create(local, "PT30M", Workload(seconds_per_step=60.0))
    assert ended(local, made).view.status is JobStatus.CANCELED
