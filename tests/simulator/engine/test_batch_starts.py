"""What it takes until a node works for a batch job, and jobs that stand still."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import expm1
from typing import Any

import pytest

from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import SetCapacity
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import BatchSpec, BatchWork, SimulationSettings
from mlctl.simulator.engine.processes import CapacitySteps, LossScript, Poisson
from mlctl.simulator.engine.state import World
from tests.builders.histories import (
    AT_ONCE,
    HOUR,
    NO_CANCEL,
    batch,
    billed,
    cluster,
    ended,
    lost_at,
    mini_batches,
    of,
    repeated,
    world,
    z,
)


def starting(n: int, seconds: float, nodes: int, start: float, **more: Any) -> BatchSpec:
    """A job of `n` mini-batches whose nodes take `start` seconds until they can work."""
    work = BatchWork(per_mini_batch_s=seconds, per_start_s=start)
    return batch(n, seconds, nodes, workload=work, **more)


def test_every_node_starts_once_and_then_works() -> None:
    made = world(*of(cluster(4), starting(10, 60, 4, 45)))
    assert ended(made).makespan_s == 45 + 3 * 60
    assert billed(made) == 4 * (45 + 180)


def test_a_node_that_comes_back_starts_again_and_what_it_had_begun_is_lost() -> None:
    made = world(*of(cluster(2, low=True), starting(4, 100, 2, 50)))
    assert lost_at(40, (0,), made).lost_node_s == 40
    view = ended(made)
    # Node 0 starts again at 40 and works from 90 on, node 1 works from 50 on.
    assert (view.makespan_s, view.lost_node_s) == (90 + 200, 40)


def test_a_node_that_idles_for_its_job_starts_only_once() -> None:
    made = world(*of(cluster(2, low=True), starting(3, 100, 2, 50)))
    lost_at(200, (0,), made)  # node 1 has had nothing to do since 150
    assert ended(made).makespan_s == 200 + 100


def test_a_node_that_has_started_in_vain_idles() -> None:
    made = world(*of(cluster(2, low=True), starting(2, 100, 2, 50), LossScript(((140.0, 0),))))
    view = ended(made)  # node 0 starts again from 140 on, and node 1 takes its mini-batch at 150
    assert (view.makespan_s, mini_batches(view).attempts) == (250, 3)


def test_the_expected_time_of_a_task_on_nodes_that_start_is_that_of_a_longer_task() -> None:
    """A task of 1.5 h after 0.5 h of starting, at 0.3 losses an hour: (e^(0.3 * 2) - 1) / 0.3."""
    job = starting(1, 1.5 * HOUR, 1, 0.5 * HOUR)
    settings = replace(NO_CANCEL, first_task_creation_timeout_s=0.0)
    views = repeated(2000, "starts", of(cluster(1, low=True), job, Poisson(0.3)), settings)
    assert abs(z(views, lambda view: view.makespan_s or 0.0, expm1(0.6) / 0.3 * HOUR)) < 4


def stalled(settings: SimulationSettings, **more: Any) -> tuple[JobStatus, float | None, str]:
    """A job of 20 mini-batches of 100 s on two nodes, which are lost for good after 250 s."""
    made = world(*of(cluster(2, low=True), batch(20, 100, 2, **more)), settings=settings)
    engine.apply(made, SetCapacity(CapacitySteps(((250.0, 0),))))
    engine.finish(made, "j", 1e6)
    job = made.jobs["j"]
    return job.status, job.ended, job.reason


@pytest.mark.parametrize(
    ("limit", "timeout", "at"),
    [(None, 100.0, 200 + 600), (None, 300.0, 200 + 900), (300.0, 300.0, 500), (60.0, 300.0, 60)],
)
def test_a_job_that_stands_still_fails(limit: float | None, timeout: float, at: float) -> None:
    """Its last mini-batches began after 200 s; by default 600 s or three times the timeout."""
    settings = replace(NO_CANCEL, progress_update_timeout_s=limit)
    status, end, reason = stalled(settings, timeout_s=timeout)
    assert (status, end) == (JobStatus.FAILED, at)
    assert "progress_update_timeout" in reason


def test_progress_is_the_last_end_or_begin_of_an_attempt() -> None:
    """Of 100 and 500 s on two nodes; at first the shorter one ends, then one begins again."""
    work = BatchWork(trace=(100.0, 500.0))
    for losses, at in (
        (((250.0, "all"),), 100 + 600),
        (((250.0, 1), (300.0, "all")), 250 + 600),
    ):
        job = batch(2, 0, 2, workload=work, timeout_s=1000.0, max_retries=0)
        settings = replace(NO_CANCEL, replace=False)
        made = world(*of(cluster(2, low=True), job, LossScript(losses)), settings=settings)
        assert (ended(made).status, made.now) == (JobStatus.FAILED, at)


def test_without_the_timeout_it_stands_still_for_ever() -> None:
    settings = replace(NO_CANCEL, progress_update_timeout_s=0.0)
    assert stalled(settings, timeout_s=300.0)[0] is JobStatus.RUNNING


def test_a_job_that_goes_on_does_not_fail_however_long_it_is() -> None:
    made = world(*of(cluster(1), batch(50, 100, 1, timeout_s=100.0)), watched=False)
    assert ended(made).status is JobStatus.COMPLETED


@pytest.mark.parametrize(("start", "limit", "at"), [(700, 600, 600), (700, 0, 760), (90, 60, 60)])
def test_a_job_whose_nodes_start_for_too_long_fails(start: float, limit: float, at: float) -> None:
    settings = replace(AT_ONCE, first_task_creation_timeout_s=float(limit))
    view = ended(world(*of(cluster(1), starting(1, 60, 1, start)), settings=settings))
    assert view.makespan_s == at
    assert (view.status is JobStatus.FAILED) is bool(limit)
    assert ("first_task_creation_timeout" in view.reason) is bool(limit)


def test_a_job_that_waits_for_its_first_node_has_not_started() -> None:
    made = world(*of(cluster(1, low=True), batch(1, 60, 1)))
    engine.apply(made, SetCapacity(CapacitySteps(((0.0, 0), (9000.0, 1)))))
    assert ended(made).makespan_s == 9060


def test_a_progress_limit_shorter_than_the_start_of_a_node_does_not_stop_time() -> None:
    """No mini-batch has begun when the first look falls due: the next one is later than now."""
    settings = replace(AT_ONCE, first_task_creation_timeout_s=600.0, progress_update_timeout_s=50.0)
    made = world(*of(cluster(1), starting(1, 40, 1, 120)), settings=settings)
    handled = count()

    def bounded(_: World) -> None:
        assert next(handled) < 1000

    made.observer = bounded
    assert ended(made).status is JobStatus.COMPLETED
