"""What was assumed is seen: settings, what was set, and what a job knows of its work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

TRAINING = SAMPLES / "training"

INVOKE = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch")


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample on a cloud whose nodes come at once."""
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", "--allocation", "0", "--preparation", "0")
    return mlctl


def invoked(cloud: Run, *more: str) -> str:
    return cloud(*INVOKE, *more, "--query", "name", "-o", "tsv").out.strip()


def shown(cloud: Run, job: str) -> Any:
    return cloud("job", "show", "-n", job).json


def settings(cloud: Run) -> dict[str, Any]:
    listed = cloud("local", "settings", "list", "-o", "json").json
    return {one["setting"]: one["value"] for one in listed}


def test_settings_say_what_takes_nodes_and_how_many_there_are(cloud: Run) -> None:
    assert settings(cloud)["preemption"] == "none"
    assert settings(cloud)["capacity"] == "unlimited"
    cloud("local", "preemption", "set", "--poisson", "0.1", "--shock", "0.05,0.6")
    cloud("local", "capacity", "set", "--nodes", "2", "--tier", "low_priority")
    said = settings(cloud)
    losses = ["0.1 losses per node-hour", "0.05 shocks an hour that take 60% of the nodes"]
    assert said["preemption"] == "; ".join(losses)
    assert said["capacity"] == "dedicated: unlimited; low_priority: 2 nodes"
    listed = cloud("local", "preemption", "show", "-o", "json").json
    assert [one["preemption"] for one in listed] == losses
    capacity = cloud("local", "capacity", "show", "-o", "json").json
    assert capacity[1] == {"tier": "low_priority", "nodes": "2 nodes"}


def test_delays_are_shown_by_the_names_that_set_them(cloud: Run) -> None:
    cloud("local", "delays", "set", "--allocation", "90", "--cv", "0.5")
    said = {
        one["delay"]: one["value"] for one in cloud("local", "delays", "show", "-o", "json").json
    }
    assert said == {
        "allocation": 90,
        "preparation": 0,
        "replacement": None,
        "leave": 0,
        "cv": 0.5,
    }


def test_a_job_says_how_much_work_it_has_and_who_said_so(cloud: Run) -> None:
    cloud("local", "workload", "set", "--seconds-per-file", "2")
    work = shown(cloud, invoked(cloud, "-m", "5", "--cv", "0.5"))["work"]
    assert (work["files"], work["mini_batch_size"], work["cv"]) == (100, 5, 0.5)
    assert work["said_by"] == {
        "files": "assumed",
        "seconds_per_file": "workload default",
        "cv": "the invocation",
    }


def test_a_training_job_says_how_much_work_it_has_too(cloud: Run) -> None:
    cloud("apply", TRAINING / "cluster.yml", "--yes")
    cloud("local", "workload", "set", "--seconds-per-step", "2")
    made = cloud("job", "create", "-f", TRAINING / "job.yml", "--checkpoint-every", "10").json
    assert made["work"] == {
        "steps": 100,
        "seconds_per_step": 2.0,
        "checkpoint_every": 10,
        "said_by": {
            "steps": "assumed",
            "seconds_per_step": "workload default",
            "checkpoint_every": "the submission",
        },
    }


def test_a_job_without_nodes_says_what_it_waits_for(cloud: Run) -> None:
    cloud("local", "capacity", "set", "--nodes", "0")
    job = invoked(cloud)
    assert shown(cloud, job)["waits_for"] == (
        "capacity: the region has 0 low-priority nodes, 0 are in use, 2 more are needed"
    )
    cloud("local", "lock")
    assert "resizing (0 -> 0)" in shown(cloud, job)["waits_for"]
    looked = cloud("job", "wait", "-n", job, "--limit", "1m")
    assert "waiting for: a resource lock blocks the cluster" in looked.err
    cloud("local", "lock", "--remove")
    cloud("local", "delays", "set", "--allocation", "60")
    cloud("local", "capacity", "set", "--none")
    assert shown(cloud, job)["waits_for"] == "nodes: 2 allocating"
    cloud("job", "wait", "-n", job)
    assert shown(cloud, job)["waits_for"] is None


def test_a_job_that_has_ended_says_what_its_idle_nodes_will_still_cost(cloud: Run) -> None:
    job = invoked(cloud, "--files", "40", "--seconds-per-file", "1")
    ended = cloud("job", "wait", "-n", job).json
    assert ended["cost_to_come"] > 0
    cloud("local", "advance", "1h")
    later = shown(cloud, job)
    assert later["cost_to_come"] == 0
    assert later["cost"] == pytest.approx(ended["cost"] + ended["cost_to_come"], abs=2e-6)


def test_a_list_of_jobs_counts_the_mini_batches_that_failed(cloud: Run) -> None:
    job = invoked(cloud, "--files", "20", "-m", "10", "--seconds-per-mini-batch", "9999")
    cloud("job", "wait", "-n", job)
    table = cloud("job", "list", "-o", "table").out
    assert "Failed" in table
    assert re.search(r"\b0\s+2\s+2\b", table)  # done, failed, of
