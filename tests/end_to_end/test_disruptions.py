"""What nodes meet with, from the shell: losses, capacity and changes at awkward moments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run

ENDPOINT = ("-n", "heart-classifier-batch")
CLUSTER = ("-n", "low-pri-cluster")
PATIENT = ("--set", "retry_settings.timeout=9999999")
KINDS = ("job", "cluster")


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample on a cloud whose nodes come at once."""
    mlctl("apply", sample, "--yes")
    at_once = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
    mlctl("local", "delays", "set", *at_once)
    return mlctl


def invoke(cloud: Run, files: int, *more: str, count: int = 2) -> str:
    """The name of a new job of mini-batches of one file and 100 s, one at a time on each node."""
    work = ("--files", str(files), "-m", "1", "--seconds-per-mini-batch", "100", "-c", str(count))
    slots = ("--set", "max_concurrency_per_instance=1", *more)
    line = (*ENDPOINT, *work, *slots, "--query", "name", "-o", "tsv")
    return cloud("batch-endpoint", "invoke", *line).out.strip()


def wait(cloud: Run, job: str) -> Any:
    """The job at its end."""
    return cloud("job", "wait", "-n", job).json


def script(cloud: Run, *losses: tuple[float, int | str]) -> None:
    """Set exact losses, from now on."""
    Path("script.json").write_text(json.dumps(losses))
    assert cloud("local", "preemption", "set", "--script", "script.json").code == 0


def trace(cloud: Run, gap: int, *nodes: int) -> None:
    """Set how many nodes there are, from now on."""
    data = {"metadata": {"gap_seconds": gap}, "data": nodes}
    Path("trace.json").write_text(json.dumps(data))
    assert cloud("local", "preemption", "set", "--trace", "trace.json").code == 0


@pytest.mark.parametrize(
    ("at", "status", "end", "done", "lost"),
    [
        (200, "Completed", 200, 4, 0),  # what is done at that moment is done
        (199.5, "Canceled", 199.5, 2, 199),
        (100.5, "Canceled", 100.5, 2, 1),
        (0, "Canceled", 0, 0, 0),
    ],
)
def test_all_nodes_are_lost_at_a_moment(
    cloud: Run, at: float, status: str, end: float, done: int, lost: float
) -> None:
    job = invoke(cloud, 4)
    script(cloud, (at, "all"))
    ended = wait(cloud, job)
    assert (ended["status"], ended["makespan_s"], ended["lost_node_s"]) == (status, end, lost)
    assert ended["mini_batches"]["completed"] == done


def test_one_node_that_comes_back_after_half_a_minute(cloud: Run) -> None:
    cloud("local", "delays", "set", "--replacement", "30")
    script(cloud, (150, 0))
    ended = wait(cloud, invoke(cloud, 10))
    assert (ended["makespan_s"], ended["lost_node_s"], ended["billed_node_s"]) == (580, 50, 1130)
    cloud("local", "advance", "1h")  # both nodes idle from 580, when the job completes, to 700
    assert cloud("job", "show", "-n", ended["name"]).json["billed_node_s"] == 1370


@pytest.mark.parametrize(("files", "end", "billed", "lost"), [(10, 400, 500, 2), (14, 550, 700, 3)])
def test_a_trace_rises_falls_and_begins_again(
    cloud: Run, files: int, end: int, billed: int, lost: int
) -> None:
    cloud("local", "settings", "set", "cancel_when_preempted=false")
    trace(cloud, 100, 1, 2, 0, 2)
    job = cloud("job", "wait", "-n", invoke(cloud, files, "--seconds-per-mini-batch", "50")).json
    assert (job["makespan_s"], job["billed_node_s"], job["preempted_nodes"]) == (end, billed, lost)


def test_nothing_takes_no_node(cloud: Run) -> None:
    assert cloud("local", "preemption", "set", "--none").code == 0
    ended = wait(cloud, invoke(cloud, 4))
    assert (ended["makespan_s"], ended["preempted_nodes"]) == (200, 0)


@pytest.mark.parametrize(
    "never", [("--poisson", "0"), ("--shock", "0,1"), ("--shock", "99,0"), ("--shock", "inf,1")]
)
def test_what_never_happens_or_always_is_refused(cloud: Run, never: tuple[str, ...]) -> None:
    done = cloud("local", "preemption", "set", *never)
    assert done.code == 1
    assert "must be more than 0, not " in done.err


def test_the_eviction_rates_of_azure_are_known_by_their_bands(cloud: Run) -> None:
    """7.5 % an hour is a rate of .0780 an hour: in 1000 node-hours, 78 losses."""
    cloud("local", "settings", "set", "cancel_when_preempted=false")
    assert cloud("local", "preemption", "set", "--eviction-rate", "5-10").code == 0
    ended = wait(cloud, invoke(cloud, 1000, "--seconds-per-mini-batch", "3600", *PATIENT))
    hours = 1000 + ended["lost_node_s"] / 3600
    assert ended["preempted_nodes"] == pytest.approx(
        0.0780 * hours, abs=4 * (0.0780 * hours) ** 0.5
    )
    assert cloud("local", "preemption", "set", "--eviction-rate", "7").code == 2


def test_another_policy_holds_from_its_moment_on(cloud: Run) -> None:
    script(cloud, (400, "all"))
    job = invoke(cloud, 20)
    cloud("local", "advance", "250s")
    script(cloud, (30, 1))
    ended = wait(cloud, job)
    assert (ended["preempted_nodes"], ended["lost_node_s"], ended["makespan_s"]) == (1, 80, 1080)


def test_a_cluster_that_may_have_fewer_nodes_gives_them_back_under_its_job(cloud: Run) -> None:
    job = invoke(cloud, 8)
    cloud("local", "advance", "150s")
    assert cloud("compute", "update", *CLUSTER, "--max-instances", "1").code == 0  # takes 10 s
    ended = wait(cloud, job)
    assert (ended["makespan_s"], ended["lost_node_s"], ended["preempted_nodes"]) == (700, 60, 0)
    assert (ended["billed_node_s"], ended["mini_batches"]["attempts"]) == (860, 9)


def test_nodes_that_were_preparing_do_not_cancel_a_job(cloud: Run) -> None:
    times = ("--allocation", "10", "--preparation", "50", "--replacement", "20")
    cloud("local", "delays", "set", *times)
    script(cloud, (30, "all"))
    ended = wait(cloud, invoke(cloud, 4))
    assert (ended["status"], ended["makespan_s"], ended["billed_node_s"]) == ("Completed", 300, 540)


def test_a_node_that_is_asked_for_waits_for_capacity(cloud: Run) -> None:
    cloud("local", "capacity", "set", "--nodes", "0")
    job = invoke(cloud, 4)
    before = cloud("local", "status").json["time"]
    assert cloud("job", "wait", "-n", job).json["status"] == "Queued"
    assert cloud("local", "status").json["time"] == before
    cloud("local", "capacity", "set", "--nodes", "1")
    assert wait(cloud, job)["makespan_s"] == 400


@pytest.mark.parametrize(
    ("threshold", "size", "files", "status"),
    [
        (3, 1, 3, "Completed"),
        (2, 1, 3, "Failed"),
        (24, 10, 25, "Failed"),
        (25, 10, 25, "Completed"),
        (9, 10, 10, "Failed"),
        (-1, 10, 25, "Completed"),
    ],
)
def test_the_error_threshold_is_the_most_files_that_may_fail(
    cloud: Run, threshold: int, size: int, files: int, status: str
) -> None:
    more = ("--fail-probability", "1", "-m", str(size), "--set", f"error_threshold={threshold}")
    assert wait(cloud, invoke(cloud, files, *more))["status"] == status


def test_a_mini_batch_that_takes_as_long_as_its_time_out_is_in_time(cloud: Run) -> None:
    ended = wait(cloud, invoke(cloud, 4, "--set", "retry_settings.timeout=100"))
    assert ended["mini_batches"] == {"total": 4, "completed": 4, "failed": 0, "attempts": 4}


def test_jobs_on_one_cluster_are_served_first_in_first_out(cloud: Run) -> None:
    ends = [wait(cloud, job)["makespan_s"] for job in [invoke(cloud, 4) for _ in range(3)]]
    assert ends == [200, 400, 600]
    assert cloud("local", "advance", "120s").code == 0
    rows = cloud("local", "usage", "-o", "json").json
    hours = {kind: sum(one["node_hours"] for one in rows if one["kind"] == kind) for kind in KINDS}
    assert hours["job"] == pytest.approx(hours["cluster"], abs=1e-5)
    assert hours["cluster"] == pytest.approx((2 * 600 + 2 * 120) / 3600, abs=1e-6)


def test_a_job_that_asks_for_more_nodes_than_its_cluster_has_is_told_so(cloud: Run) -> None:
    line = ("batch-endpoint", "invoke", *ENDPOINT, "--files", "8", "-m", "1", "-c", "7")
    made = cloud(*line)
    told = "instance_count is 7, but cluster `low-pri-cluster` has at most 2: the job runs on that"
    assert (made.code, made.json["notice"]) == (0, told)
    assert told in made.err
    cloud("local", "settings", "set", "reject_excess_instances=true")
    assert cloud(*line).code == 1
    assert "notice" not in cloud(*line[:-1], "2").json


def test_the_only_node_is_lost(cloud: Run) -> None:
    script(cloud, (150, 0))
    ended = wait(cloud, invoke(cloud, 4, count=1))
    assert (ended["status"], ended["makespan_s"]) == ("Canceled", 150)
    assert (ended["mini_batches"]["completed"], ended["lost_node_s"]) == (1, 50)


def test_a_job_cannot_choose_its_tier(cloud: Run) -> None:
    line = ("batch-endpoint", "invoke", *ENDPOINT, "--files", "4")
    refused = cloud(*line, "--set", "tier=dedicated")
    assert (refused.code, "tier" in refused.err) == (1, True)
    assert cloud(*line, "--tier", "dedicated").code == 2


def test_low_priority_cores_are_one_number_for_all_families(mlctl: Run) -> None:
    def made(name: str, size: str, most: int) -> int:
        line = ("--type", "amlcompute", "--tier", "low_priority", "--max-instances", str(most))
        return mlctl("compute", "create", "-n", name, "--size", size, *line).code

    mlctl("local", "settings", "set", "quota_refuses=max")
    assert made("first", "Standard_D4ds_v5", 15) == 0  # 60 of 100 cores
    assert made("second", "Standard_E4ds_v5", 11) == 1
    assert made("second", "Standard_E4ds_v5", 10) == 0


def test_jobs_get_the_nodes_that_the_quota_allows(cloud: Run) -> None:
    def makespan(cores: int) -> float:
        cloud("local", "quota", "set", "--low-priority-cores", str(cores))
        return float(wait(cloud, invoke(cloud, 4))["makespan_s"])

    assert [makespan(cores) for cores in (4, 7, 8)] == [400, 400, 200]


def test_nothing_tells_of_a_loss_before_it_comes(cloud: Run) -> None:
    cloud("local", "settings", "set", "cancel_when_preempted=false")

    def told(*losses: tuple[float, int | str]) -> list[tuple[float, str]]:
        script(cloud, *losses)
        job = invoke(cloud, 8)
        cloud("job", "stream", "-n", job, "--events", "events.jsonl")
        cloud("local", "advance", "1h")
        lines = map(json.loads, Path("events.jsonl").read_text().splitlines())
        return [(one["t"], one["event"]) for one in lines if one["t"] < 150]

    assert told((150, "all")) == told((99999, "all")) != []
