"""What every backend's jobs do."""

from __future__ import annotations

import pytest

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.jobs import Job, JobListView, Jobs, SupportsJobs
from mlctl.service_errors import NotFound, Permanent
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.bodies import CPU, stage

INPUT = {"inputData": {"x": {"jobInputType": "UriFolder", "uri": "https://host/data"}}}


def staged(backend: Backend) -> Jobs:
    stage(backend)
    assert isinstance(backend, SupportsJobs)
    return backend.jobs


def invoke(jobs: Jobs, deployment: str = "blue") -> Job:
    return jobs.invoke("heart-batch", deployment, INPUT, Workload(), DEFAULT_NAME)


def test_a_job_of_an_endpoint_is_in_every_list_that_it_belongs_to(backend: Backend) -> None:
    jobs = staged(backend)
    name = invoke(jobs).name
    for found in (jobs.list(), jobs.list("heart-batch"), jobs.list("heart-batch", "blue")):
        assert [each.name for each in found] == [name]
    assert jobs.show(name).body["properties"]["endpointName"] == "heart-batch"


def test_a_cancelled_job_is_not_cancelled_again(backend: Backend) -> None:
    jobs = staged(backend)
    name = invoke(jobs).name
    assert jobs.cancel(name).status == "Canceled"
    with pytest.raises(Permanent, match="has already ended"):
        jobs.cancel(name)
    *_, last = jobs.follow(name, 60.0, detail=False)
    assert last.job.ended


def test_a_command_job_is_created_under_its_name(backend: Backend) -> None:
    jobs = staged(backend)
    environment = "azureml://registries/azureml/environments/e/versions/1"
    asked = {"jobType": "Command", "command": "x", "computeId": CPU.id(backend.scope)}
    body = {"properties": {**asked, "environmentId": environment}}
    assert jobs.create("mine", body, Workload(), DEFAULT_NAME).name == "mine"
    assert jobs.show("mine").body["properties"]["command"] == "x"


def test_jobs_of_what_is_not_there_are_not_found(backend: Backend) -> None:
    jobs = staged(backend)
    with pytest.raises(NotFound):
        jobs.show("none")
    with pytest.raises(NotFound):
        jobs.list("none")
    with pytest.raises(NotFound):
        jobs.list("heart-batch", "green")
    with pytest.raises(NotFound):
        invoke(jobs, "green")


def test_a_pipeline_is_created_cancelled_and_archived_with_its_steps(backend: Backend) -> None:
    jobs = staged(backend)
    taken = {"value": "${{parent.jobs.prep.outputs.data}}", "job_input_type": "literal"}
    steps = {
        "prep": {"type": "command", "outputs": {"data": {}}},
        "train": {"type": "command", "inputs": {"data": taken}},
    }
    settings = {"default_compute": CPU.id(backend.scope)}
    body = {"properties": {"jobType": "Pipeline", "jobs": steps, "settings": settings}}
    assert jobs.create("taxi", body, Workload(), DEFAULT_NAME).name == "taxi"
    prep, train = jobs.children("taxi")
    for name, step in (("prep", prep), ("train", train)):
        told = step.body["properties"]
        assert (told["displayName"], told["parentJobName"]) == (name, "taxi")
        assert told["properties"]["azureml.pipelinerunid"] == "taxi"
    assert [each.name for each in jobs.list()] == ["taxi"]
    jobs.cancel("taxi")
    assert {each.status for each in jobs.children("taxi")} == {"Canceled"}
    jobs.change("taxi", {"isArchived": True})
    assert jobs.list() == []
    assert [each.name for each in jobs.list(view=JobListView.ARCHIVED)] == ["taxi"]
    jobs.change("taxi", {"isArchived": False})
    assert [each.name for each in jobs.list(view=JobListView.ALL)] == ["taxi"]
    with pytest.raises(NotFound):
        jobs.children("none")


def test_a_job_is_described_again_after_it_was_submitted(backend: Backend) -> None:
    jobs = staged(backend)
    job = invoke(jobs)
    name, tags = job.name, job.body["properties"].get("tags") or {}
    texts = {"displayName": "Nightly", "description": "of the night"}
    changes = {**texts, "tags": {**tags, "team": "ds"}}
    changed = jobs.change(name, changes)
    properties = changed.body["properties"]
    assert {key: properties[key] for key in changes} == changes
    assert jobs.show(name).body["properties"]["displayName"] == "Nightly"
    with pytest.raises(NotFound):
        jobs.change("none", changes)
