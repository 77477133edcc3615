"""Whole histories against numbers that were derived by hand or by formula."""

from __future__ import annotations

from dataclasses import replace
from math import exp, sqrt
from statistics import fmean, variance

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    DeletePool,
    ResizePool,
    SetCapacity,
    SubmitBatch,
    SubmitPoolJob,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import BatchWork, PoolSpec, SimulationSettings
from mlctl.simulator.engine.processes import (
    CapacitySteps,
    LossScript,
    Poisson,
    PreemptionProcess,
    Trace,
)
from mlctl.simulator.engine.usage import usage
from tests.builders import bodies
from tests.builders.bodies import CPU, OTHER
from tests.builders.histories import (
    AT_ONCE,
    DAY,
    HOUR,
    NO_CANCEL,
    batch,
    billed,
    cluster,
    ended,
    mini_batches,
    of,
    repeated,
    steps,
    training,
    world,
    z,
)
from tests.builders.simulated import refused
from tests.builders.workspace import strict

SURE = 4.0  # standard errors; the seeds are fixed, so what fails is wrong and not unlucky


def pool_hours(vms: int, hours: float) -> float:
    """The compute hours of a pool that is deleted after some time."""
    made = world(AddPool(PoolSpec("p", vms)))
    engine.run(made, hours * HOUR)
    engine.apply(made, DeletePool("p"))
    return next(usage(made)).node_s / HOUR


@pytest.mark.parametrize(("vms", "hours"), [(2, 24), (4, 12)])
def test_a_pool_bills_48_compute_hours_in_both_examples(vms: int, hours: float) -> None:
    assert pool_hours(vms, hours) == 48


def test_a_pool_resized_to_nothing_stops_billing_without_being_deleted() -> None:
    made = world(AddPool(PoolSpec("p", 3)))
    engine.run(made, 10 * HOUR)
    engine.apply(made, ResizePool("p", 0))
    engine.run(made, 30 * HOUR)
    engine.apply(made, DeletePool("p"))
    assert next(usage(made)).node_s == 30 * HOUR


@pytest.mark.parametrize(
    ("bills_allocating", "node_s"), [(False, 62_400), (True, 68_400)], ids=["prepared", "asked"]
)
def test_dedicated_nodes_bill_from_allocation_to_the_end_of_their_idle_time(
    bills_allocating: bool, node_s: float
) -> None:
    slow = replace(AT_ONCE, allocation_s=300.0, bill_allocating=bills_allocating)
    made = world(*of(cluster(20), batch(1000, 60, 20)), settings=slow)
    assert ended(made).makespan_s == 3300
    assert billed(made, 4000) == node_s


@pytest.mark.parametrize("losses", [LossScript(((1000.0, 0),)), Poisson(3.0)])
def test_a_node_that_bills_its_allocation_bills_all_the_time_with_capacity(
    losses: PreemptionProcess,
) -> None:
    """Replacements too: a lone node is on the bill from its job's submission to its last idling."""
    slow = replace(NO_CANCEL, allocation_s=100.0, preparation_s=50.0, replacement_s=200.0)
    settings = replace(slow, bill_allocating=True, billing_granularity_s=0.0)
    given = of(cluster(1, low=True), batch(100, 60, 1), losses)
    made = world(*given, settings=settings)
    done_s = ended(made).ended or 0.0
    assert done_s > 6000 + 150 + 250
    assert billed(made, done_s + 121) == pytest.approx(done_s + 120)
    apart = world(*given, settings=replace(settings, bill_allocating=False))
    preempted = ended(apart).preempted_nodes
    assert billed(apart, done_s + 121) == pytest.approx(done_s + 120 - 100 - 200 * preempted)


def test_without_capacity_no_allocation_is_billed() -> None:
    settings = replace(AT_ONCE, allocation_s=300.0, bill_allocating=True)
    made = world(*of(cluster(1, low=True), batch(1, 60, 1)), settings=settings)
    engine.apply(made, SetCapacity(CapacitySteps(((0.0, 0), (50.0, 1), (150.0, 0), (900.0, 1)))))
    assert ended(made).makespan_s == 1260
    assert billed(made, 2000) == 100 + 360 + 120  # the first attempt was cut off after 100 s


def test_one_mini_batch_more_takes_another_round() -> None:
    slow = replace(AT_ONCE, allocation_s=300.0)
    made = world(*of(cluster(20), batch(1001, 60, 20)), settings=slow)
    assert ended(made).makespan_s == 3360


def test_ten_mini_batches_on_two_nodes_with_two_slots_take_three_rounds() -> None:
    assert ended(world(*of(cluster(2), batch(10, 60, 2, concurrency=2)))).makespan_s == 180


@pytest.mark.slow
def test_a_task_that_starts_again_after_every_loss_takes_as_long_as_theory_says() -> None:
    rate, hours = 0.1, 2.0
    job = batch(1, hours * HOUR, 1)
    seen = repeated(12_000, "O5", of(cluster(1, low=True), job, Poisson(rate)), NO_CANCEL)
    grown = exp(rate * hours)
    expected = (grown * grown - 2 * rate * hours * grown - 1) / rate**2
    times = [(view.makespan_s or 0) / HOUR for view in seen]
    assert abs(z(seen, lambda view: (view.makespan_s or 0) / HOUR, (grown - 1) / rate)) < SURE
    assert abs(z(seen, lambda view: view.preempted_nodes, grown - 1)) < SURE
    assert variance(times) == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_a_job_on_a_single_low_priority_node_is_cancelled_as_often_as_theory_says() -> None:
    rate, n = 0.2, 100
    seen = repeated(12_000, "O8", of(cluster(1, low=True), batch(n, 60, 1), Poisson(rate)))
    q = exp(-rate / 60)
    assert abs(z(seen, lambda view: view.status is JobStatus.CANCELED, 1 - q**n)) < SURE
    expected = q * (1 - q**n) / (1 - q)
    assert abs(z(seen, lambda view: mini_batches(view).completed, expected)) < SURE
    assert abs(z(seen, lambda view: (view.makespan_s or 0) / HOUR, (1 - q**n) / rate)) < SURE


@pytest.mark.slow
def test_four_nodes_that_are_not_replaced_are_all_lost_after_the_fourth_harmonic_number() -> None:
    rate = 0.5
    once = replace(AT_ONCE, replace=False)
    endless = batch(400, HOUR, 4)
    seen = repeated(4000, "O10", of(cluster(4, low=True), endless, Poisson(rate)), once)
    expected = (1 + 1 / 2 + 1 / 3 + 1 / 4) / rate
    assert {view.status for view in seen} == {JobStatus.CANCELED}
    assert abs(z(seen, lambda view: (view.makespan_s or 0) / HOUR, expected)) < SURE


@pytest.mark.parametrize(
    ("size", "cost"), [(593, 1.03409), (10, 2.0011), (5000, 1.1553)], ids=["best", "small", "large"]
)
def test_the_mini_batch_size_is_a_checkpoint_interval(size: int, cost: float) -> None:
    rate, files = 0.2, size * 20
    load = BatchWork(per_file_s=1.0, per_mini_batch_s=10.0)
    job = batch(files, 0, 1, workload=load, mini_batch_size=size)
    times = 40_000 // size + 40
    seen = repeated(times, "O12", of(cluster(1, low=True), job, Poisson(rate)), NO_CANCEL)
    length = (size + 10) / HOUR
    exact = (exp(rate * length) - 1) / rate * HOUR / size
    assert exact == pytest.approx(cost, abs=5e-4)
    assert abs(z(seen, lambda view: (view.makespan_s or 0) / files, exact)) < SURE


@pytest.mark.slow
def test_retries_save_as_many_jobs_as_theory_says() -> None:
    p, n, tries = 0.1, 1000, 3
    load = BatchWork(per_mini_batch_s=60, fail_probability=p)
    failing = batch(n, 0, 20, workload=load, error_threshold=0)
    strict = repeated(800, "O13", of(cluster(20), failing))
    assert (
        abs(z(strict, lambda view: view.status is JobStatus.COMPLETED, (1 - p**tries) ** n)) < SURE
    )
    lenient = repeated(600, "O13b", of(cluster(20), replace(failing, error_threshold=-1)))
    expected = n * (1 - p**tries) / (1 - p)
    assert abs(z(lenient, lambda view: mini_batches(view).attempts, expected)) < SURE


def test_mini_batches_that_always_time_out_are_tried_three_times_each() -> None:
    made = world(*of(cluster(2), batch(8, 400, 2, timeout_s=300.0)))
    view, counts = ended(made), mini_batches(ended(made))
    assert (view.status, view.makespan_s) == (JobStatus.COMPLETED, 3600)
    assert (counts.attempts, counts.failed, counts.completed) == (24, 8, 0)


@pytest.mark.parametrize(("place", "at"), [("tail", 2700), ("head", 900)])
def test_the_first_failed_mini_batch_fails_a_job_without_tolerance(place: str, at: float) -> None:
    there = replace(AT_ONCE, failed_goes_to=type(AT_ONCE.failed_goes_to)(place))
    job = batch(8, 400, 2, timeout_s=300.0, error_threshold=0)
    view = ended(world(*of(cluster(2), job), settings=there))
    assert (view.status, view.makespan_s) == (JobStatus.FAILED, at)


def test_quota_counts_the_most_nodes_of_every_cluster_until_it_is_deleted(
    local: LocalBackend,
) -> None:
    strict(local)
    local.put(CPU, bodies.cluster(10, "LowPriority")).wait()
    assert refused(local.put, OTHER, bodies.cluster(16, "LowPriority"))
    local.put(OTHER, bodies.cluster(15, "LowPriority")).wait()  # 25 nodes of 4 cores are 100
    local.delete(CPU).wait()
    local.put(OTHER, bodies.cluster(16, "LowPriority")).wait()


def test_five_hours_of_work_on_two_vms_are_done_first_in_first_out() -> None:
    jobs = [SubmitPoolJob(f"j{number}", HOUR, "p") for number in range(5)]
    made = world(AddPool(PoolSpec("p", 2)), *jobs)
    engine.run(made, DAY)
    seen = [views.job(made, job.name) for job in jobs]
    assert [(view.started or 0) / HOUR for view in seen] == [0, 0, 1, 1, 2]
    assert max(view.ended or 0 for view in seen) == 3 * HOUR


def logged_points(checkpoint_every: int) -> tuple[float, float]:
    """How far off the logged points and the time are, in standard errors."""
    rate, n, step = 0.5, 100, 60.0
    job = training(n, step, checkpoint_every=checkpoint_every)
    seen = repeated(3000, "O19", of(cluster(1, low=True), job, Poisson(rate)))
    part = checkpoint_every or n
    q = exp(-rate * step / HOUR)
    points = n / part * q * (1 - q**part) / ((1 - q) * q**part)
    time = n / part * (exp(rate * part * step / HOUR) - 1) / rate * HOUR
    assert points == pytest.approx({0: 155.4675, 10: 103.8509}[checkpoint_every], abs=1e-4)
    return (
        z(seen, lambda view: steps(view).metric_count, points),
        z(seen, lambda view: view.makespan_s or 0, time),
    )


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint_every", [0, 10])
def test_a_restarted_training_job_logs_steps_again_as_often_as_theory_says(
    checkpoint_every: int,
) -> None:
    assert max(map(abs, logged_points(checkpoint_every))) < SURE


def traced(settings: SimulationSettings) -> tuple[views.JobView, float]:
    """Twenty mini-batches while there are 2, 2, 1, 0, 0 and 2 nodes; the cluster's bill."""
    trace = Trace(300.0, (2, 2, 1, 0, 0, 2))
    made = world(*of(cluster(2, low=True), batch(20, 100, 2), trace), settings=settings)
    return ended(made), billed(made)


def test_a_job_whose_nodes_are_all_taken_is_cancelled_with_its_progress() -> None:
    view, node_s = traced(AT_ONCE)
    assert (view.status, view.makespan_s, mini_batches(view).completed) == (
        JobStatus.CANCELED,
        900,
        15,
    )
    assert (node_s, view.billed_node_s) == (1500, 1500)


def test_completions_come_before_losses_of_the_same_moment() -> None:
    view, node_s = traced(NO_CANCEL)
    assert (view.status, view.makespan_s, node_s) == (JobStatus.COMPLETED, 1800, 2100)
    assert (view.preempted_nodes, view.preempted_cores, view.lost_node_s) == (2, 8, 0)


@pytest.mark.parametrize(("least", "hours"), [(1, 24), (0, 0)])
def test_the_least_nodes_run_and_bill_always(least: int, hours: float) -> None:
    assert billed(world(AddCluster(cluster(2, least))), DAY) == hours * HOUR


def test_two_jobs_on_one_cluster_take_as_long_as_their_work() -> None:
    jobs = [SubmitBatch(batch(10, 60, 2, name=name)) for name in "ab"]
    made = world(AddCluster(cluster(2)), *jobs)
    assert ended(made, "a").makespan_s == 300
    assert ended(made, "b").makespan_s == 600


def test_the_model_of_the_speed_study_takes_as_long_as_its_other_implementations() -> None:
    slow = replace(AT_ONCE, replacement_s=180.0)
    job = batch(1000, 60, 20)
    seen = repeated(400, "M", of(cluster(20, low=True), job, Poisson(0.5)), slow)
    times = [view.makespan_s or 0 for view in seen]
    assert abs(fmean(times) - 3116.0) < SURE * sqrt(variance(times) / len(times)) + 3
