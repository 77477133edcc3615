"""Batch Pool and the shared queue beside it."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from statistics import fmean, stdev

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    AddPool,
    CancelJob,
    Command,
    DeletePool,
    ResizePool,
    SetSharedQueue,
    SubmitPoolJob,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import PoolSpec, SharedQueueSettings
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import AT_ONCE, HOUR, ended, world


def pool(*jobs: Command, vms: int = 1) -> World:
    """A pool `p` and what was submitted."""
    return world(AddPool(PoolSpec("p", vms)), *jobs)


def test_a_pool_bills_from_provisioned_to_deleted() -> None:
    slow = replace(AT_ONCE, provisioning_s=300.0)
    made = world(AddPool(PoolSpec("p", 2, price=1.0)), settings=slow)
    engine.run(made, HOUR)
    assert views.pool(made, "p").provisioned == 2
    assert next(usage(made)).node_s == 2 * (HOUR - 300)


def test_a_job_of_a_busy_vm_that_is_deleted_is_the_first_to_start_again() -> None:
    made = pool(*(SubmitPoolJob(f"j{number}", 100, "p") for number in range(3)), vms=2)
    engine.run(made, 50)
    engine.apply(made, ResizePool("p", 1))
    assert views.pool(made, "p").queue == ("j1", "j2")
    assert [ended(made, name).ended for name in ("j0", "j1", "j2")] == [100, 200, 300]


def test_a_pool_that_shrinks_gives_its_free_vms_back_first() -> None:
    made = pool(*(SubmitPoolJob(f"j{number}", 100 + number, "p") for number in range(3)), vms=3)
    engine.run(made, 101.5)
    engine.apply(made, ResizePool("p", 1))
    assert (views.pool(made, "p").busy, ended(made, "j2").ended) == (1, 102)


def test_a_deleted_pool_fails_its_jobs() -> None:
    made = pool(*(SubmitPoolJob(f"j{number}", 100, "p") for number in range(3)))
    engine.apply(made, DeletePool("p"))
    assert {views.job(made, f"j{number}").status for number in range(3)} == {JobStatus.FAILED}


def test_a_queued_pool_job_can_be_cancelled() -> None:
    made = pool(SubmitPoolJob("j0", 100, "p"), SubmitPoolJob("j1", 100, "p"), CancelJob("j1"))
    engine.run(made, 0)
    assert (views.pool(made, "p").queue, ended(made, "j0").ended) == ((), 100)


def test_jobs_without_a_pool_share_a_queue_with_a_limit() -> None:
    jobs = [SubmitPoolJob(f"j{number}", 100) for number in range(5)]
    made = world(SetSharedQueue(SharedQueueSettings(slots=2)), *jobs)
    assert [ended(made, f"j{number}").started for number in range(5)] == [0, 0, 100, 100, 200]


def test_other_people_make_the_shared_queue_uncertain_as_queueing_theory_says() -> None:
    # M/M/1 with 0.5 of its capacity used by others: a job waits for 1 of their mean jobs.
    waits = []
    for seed in range(1500):
        made = world(
            SetSharedQueue(SharedQueueSettings(1, 1.0, HOUR / 2)),
            seed=f"commons/{seed}",
            watched=False,
        )
        engine.run(made, 40 * HOUR)
        engine.apply(made, SubmitPoolJob("j", 60))
        waits.append((ended(made).started or 0) - 40 * HOUR)
    assert abs(fmean(waits) - HOUR / 2) < 4 * stdev(waits) / sqrt(len(waits))
