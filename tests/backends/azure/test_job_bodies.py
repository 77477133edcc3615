"""Jobs as the service was recorded to tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mlctl.backends.ports.jobs import Job
from mlctl.render.cloud import jobs as render
from mlctl.service_errors import Transient
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import SCOPE, azure
from tests.builders.replayed import CARDS, Replayed, filled

pytest.importorskip("azure.core")

from mlctl.backends.azure.job_bodies import job_of, newest

ENDPOINT, DEPLOYMENT = "batch-ept-c4e0029f383b4fa", "batch-dpm-a47c6993a20d475"


def told(card: str) -> Job:
    return job_of(filled(CARDS[card].response.body))


def shown(job: Job) -> Any:
    return render.resource(job, SCOPE)


@pytest.mark.parametrize("card", ["invoke-uri-file", "job-get-of-invoke"])
def test_a_job_of_an_endpoint_names_endpoint_and_deployment_in_either_form(card: str) -> None:
    data = shown(told(card))
    assert (data["endpoint_name"], data["deployment_name"]) == (ENDPOINT, DEPLOYMENT)
    assert (data["type"], data["status"]) == ("pipeline", "Preparing")
    assert data["display_name"] == "blue_store_3k1gd32x"


def test_the_answer_to_an_invocation_tells_the_cluster_and_the_inputs() -> None:
    data = shown(told("invoke-uri-file"))
    assert data["compute"] == "cpu-cluster"
    assert data["inputs"]["UriFile"] == {
        "type": "uri_file",
        "path": "https://azuremlexamples.blob.core.windows.net/datasets/iris.csv",
    }


def test_an_answer_that_is_little_more_than_a_name_will_do() -> None:
    job = job_of({"name": "batchjob-1", "properties": None})
    assert (job.name, job.status, job.ended) == ("batchjob-1", "Unknown", False)
    with pytest.raises(Transient, match="has no name"):
        job_of({"properties": {}})


@pytest.mark.parametrize(
    ("card", "start", "end"),
    [
        ("job-get-command", "2025-11-04T09:28:29Z", "2025-11-04T09:28:29Z"),
        ("job-get-failed", "2023-12-01T22:19:54Z", "2023-12-01T22:20:57Z"),
        ("job-put-again", "2024-07-25T08:32:04Z", "2024-07-25T08:33:09Z"),
        ("job-get-serverless", None, None),
    ],
)
def test_times_of_command_jobs_are_in_their_properties(
    card: str, start: str | None, end: str | None
) -> None:
    data = shown(told(card))
    assert (data.get("start_time"), data.get("end_time")) == (start, end)
    assert (data["type"], "endpoint_name" in data) == ("command", False)


@pytest.mark.parametrize(
    ("card", "tier"),
    [("job-get-command", None), ("job-get-failed", None), ("job-get-serverless", "standard")],
)
def test_a_tier_called_null_is_none(card: str, tier: str | None) -> None:
    assert (shown(told(card)).get("queue_settings") or {}).get("job_tier") == tier


def test_a_failed_job_has_ended_and_says_so_by_its_status_alone() -> None:
    job = told("job-get-failed")
    assert (job.ended, job.status) == (True, "Failed")


def test_jobs_are_listed_shown_and_cancelled_as_recorded() -> None:
    jobs = azure(Replayed.of("job-list")).backend.jobs
    assert [(one.name, one.status) for one in jobs.list()] == [("commandjob01", "Completed")]
    assert azure(Replayed.of("job-get-command")).backend.jobs.show("commandjob01").ended
    began = azure(Replayed.of("job-cancel")).backend.arm.begin("POST", path("job-cancel"))
    began.wait()  # 200 and nothing else: it is done


def test_a_job_is_created_as_recorded() -> None:
    service = Replayed.of("job-put-create")
    body = filled(CARDS["job-put-create"].request.body)
    job = azure(service).backend.jobs.create("test_749647599434", body, Workload(), DEFAULT_NAME)
    assert (job.status, service.bodies) == ("Starting", [body])


def path(card: str) -> str:
    return str(filled(CARDS[card].request.path))


@pytest.mark.parametrize(
    ("days", "read", "first"), [([4, 3, 2, 1], 2, "4"), ([3, 4, 1, 2], 4, "4")]
)
def test_a_list_is_read_to_its_end_only_where_its_newest_jobs_are_not_first(
    days: list[int], read: int, first: str
) -> None:
    pages: list[int] = []

    def bodies() -> Iterator[dict[str, Any]]:
        for day in days:
            pages.append(day)
            created = {"createdAt": f"2026-01-0{day}T00:00:00Z"}
            yield {"name": str(day), "systemData": created, "properties": {"jobType": "Command"}}

    assert [job.name for job in newest(bodies(), 2)] == [first, "3"]
    assert len(pages) == read
