"""What a job waits for that has no nodes, on an emulator that has none to give."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.ports.jobs import Job
from mlctl.emulator import Response
from mlctl.kinds.address import Scope
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import Between, azure, no, says
from tests.builders.emulator import with_deployment

SCOPE = Scope("sub", "rg", "ws")
CLUSTER = "GET */computes/*"


def cluster(**inner: Any) -> Response:
    body = {
        "location": "East US",
        "properties": {"properties": {"vmPriority": "LowPriority", **inner}},
    }
    return says(200, body)


def waited(*answers: tuple[str, Response], status: str = "Queued") -> Job:
    """A job that has waited for a minute."""
    here = azure(Between(with_deployment().emulator, list(answers)), SCOPE)
    name = here.backend.jobs.invoke("scoring", "blue", {}, Workload(), DEFAULT_NAME).name
    told = here.backend.jobs.show(name).body
    queued = {**told, "properties": {**told["properties"], "status": status}}
    here.transport.emulator.answers += [("GET */jobs/*", says(200, queued))] * 50
    *_, last = here.backend.jobs.follow(name, 60, detail=False)
    return last.job


def reason(*answers: tuple[str, Response], **more: Any) -> object:
    return waited(*answers, **more).body["properties"].get("run", {}).get("waits_for")


USED = {"currentValue": 100, "limit": 100, "name": {"value": "x"}}
LOW = {**USED, "type": "x/totalLowPriorityCores/usages"}
DEDICATED = {**USED, "type": "x/totalDedicatedCores/usages"}
QUOTA = ("GET */usages", says(200, {"value": [LOW, DEDICATED]}))


def test_a_job_that_waits_for_nodes_says_how_many_there_are_and_which_quota_is_used_up() -> None:
    held = cluster(currentNodeCount=1, targetNodeCount=4, allocationState="Resizing")
    told = "nodes: 1 of 4 allocated; quota: 100 of 100 low-priority cores are used"
    assert reason((CLUSTER, held), QUOTA) == told
    dedicated = cluster(currentNodeCount=0, targetNodeCount=4, vmPriority="Dedicated")
    assert "quota: 100 of 100 dedicated cores" in str(reason((CLUSTER, dedicated), QUOTA))


def test_what_the_cluster_says_of_its_nodes_is_told() -> None:
    wrong = [{"error": {"code": "ClusterCoreQuotaReached", "message": "no cores"}}]
    held = cluster(currentNodeCount=0, targetNodeCount=2, errors=wrong)
    assert "(ClusterCoreQuotaReached) no cores" in str(reason((CLUSTER, held)))


def test_a_lock_and_other_jobs_hold_nodes_back() -> None:
    locked = cluster(currentNodeCount=0, targetNodeCount=0, allocationState="Resizing")
    assert str(reason((CLUSTER, locked))).startswith("a resource lock blocks the cluster")
    busy = cluster(currentNodeCount=2, targetNodeCount=2, allocationState="Steady")
    assert reason((CLUSTER, busy)) == "nodes in use by other jobs of the cluster"


@pytest.mark.parametrize("answer", [no(403), no(404), says(200, {"properties": {"properties": 7}})])
def test_where_the_cluster_cannot_be_read_the_job_is_shown_all_the_same(answer: Response) -> None:
    job = waited((CLUSTER, answer))
    assert (job.status, job.body["properties"].get("run")) == ("Queued", None)


def test_a_job_of_a_cluster_says_so_too() -> None:
    held = cluster(currentNodeCount=0, targetNodeCount=2)
    queued = {"jobType": "Command", "status": "Queued", "computeId": "/x/computes/cpu"}
    here = azure(Between(with_deployment().emulator, [(CLUSTER, held)]), SCOPE)
    here.transport.emulator.answers.append(
        ("GET */jobs/*", says(200, {"name": "train", "properties": queued}))
    )
    (told,) = here.backend.jobs.follow("train", 0, detail=False)
    assert told.job.body["properties"]["run"]["waits_for"] == "nodes: 0 of 2 allocated"


def test_a_pipeline_has_no_cluster_of_its_own() -> None:
    queued = {"jobType": "Pipeline", "status": "Queued"}
    answers = [("GET */jobs/*", says(200, {"name": "p", "properties": queued}))]
    here = azure(Between(with_deployment().emulator, answers), SCOPE)
    (told,) = here.backend.jobs.follow("p", 0, detail=False)
    assert "run" not in told.job.body["properties"]


def test_a_job_that_runs_waits_for_nothing() -> None:
    assert reason(status="Running") is None
