"""Batch jobs: mini-batches lost, failed, retried and done."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from math import sqrt
from statistics import fmean, stdev

import pytest

from mlctl.simulator.engine import engine
from mlctl.simulator.engine import sampling as drawn
from mlctl.simulator.engine.commands import CancelJob, EngineError, SubmitBatch
from mlctl.simulator.engine.jobs import BatchJob, JobStatus
from mlctl.simulator.engine.model import PREEMPTION_WARNING, BatchWork, QueueEnd
from mlctl.simulator.engine.processes import (
    ALL,
    HyperExponential,
    LossScript,
    Poisson,
    Shock,
    Weibull,
)
from tests.builders.histories import (
    AT_ONCE,
    EVER,
    HOUR,
    NO_CANCEL,
    batch,
    cluster,
    ended,
    lines,
    lost_at,
    mini_batches,
    of,
    repeated,
    world,
)

SLOW = replace(AT_ONCE, allocation_s=100.0, preparation_s=100.0)


def test_a_lost_node_costs_what_was_in_flight_on_it_and_nothing_else() -> None:
    made = world(*of(cluster(2, low=True), batch(20, 100, 2)))
    hit = lost_at(250, (0,), made)
    assert (mini_batches(hit).completed, mini_batches(hit).attempts) == (4, 7)
    view = ended(made)
    assert (view.lost_node_s, mini_batches(view).attempts) == (50, 21)
    assert view.makespan_s == 1050


def test_a_lost_mini_batch_goes_to_the_head_and_a_failed_one_to_the_tail() -> None:
    late = replace(AT_ONCE, replacement_s=1000.0)
    made = world(*of(cluster(2, low=True), batch(6, 100, 2)), settings=late)
    lost_at(50, (0,), made)
    events = [event for event in engine.advance(made, 450) if event.event == "MB_START"]
    assert [event.facts["mini_batch"] for event in events] == [0, 2, 3, 4]


def test_what_a_node_had_on_its_slots_is_begun_again_in_order() -> None:
    late = replace(AT_ONCE, replacement_s=1000.0)
    made = world(*of(cluster(2, low=True), batch(9, 100, 2, concurrency=2)), settings=late)
    assert lost_at(50, (1,), made).lost_node_s == 50
    events = [event for event in engine.advance(made, 150) if event.event == "MB_START"]
    assert [event.facts["mini_batch"] for event in events] == [2, 3]


def test_a_lost_mini_batch_can_be_told_to_queue_last() -> None:
    late = replace(AT_ONCE, replacement_s=1000.0, preempted_goes_to=QueueEnd.TAIL)
    made = world(*of(cluster(2, low=True), batch(6, 100, 2)), settings=late)
    lost_at(50, (0,), made)
    events = [event for event in engine.advance(made, 600) if event.event == "MB_START"]
    assert [event.facts["mini_batch"] for event in events] == [2, 3, 4, 5, 0]


def test_a_job_is_cancelled_with_its_last_usable_node_and_says_why() -> None:
    made = world(*of(cluster(2, low=True), batch(20, 100, 2)))
    assert lost_at(150, (0,), made).status is JobStatus.RUNNING
    view = lost_at(150, (0, 1), world(*of(cluster(2, low=True), batch(20, 100, 2))))
    assert (view.status, view.makespan_s) == (JobStatus.CANCELED, 150)
    assert view.reason.startswith("the last usable node of the cluster was preempted")
    assert view.warning == PREEMPTION_WARNING


def test_nodes_that_are_still_preparing_are_no_capacity_to_go_on_with() -> None:
    late = replace(AT_ONCE, preparation_s=100.0)
    made = world(*of(cluster(2, low=True), batch(20, 100, 2)), settings=late)
    lost_at(150, (0,), made)
    assert lost_at(200, (1,), made).status is JobStatus.CANCELED


def test_preempting_nodes_before_the_job_had_a_usable_one_does_not_cancel_it() -> None:
    made = world(*of(cluster(2, low=True), batch(4, 100, 2)), settings=SLOW)
    view = lost_at(150, (0, 1), made)
    assert (view.status, view.preempted_nodes) == (JobStatus.QUEUED, 2)
    assert ended(made).makespan_s == 150 + 100 + 200


def test_many_jobs_whose_nodes_are_lost_while_preparing_are_not_cancelled_for_that() -> None:
    slow = replace(AT_ONCE, preparation_s=60.0)
    job = batch(960, 60, 16)
    seen = repeated(200, "R7b", of(cluster(16, low=True), job, Poisson(0.5)), slow)
    assert {view.status for view in seen} == {JobStatus.COMPLETED}


def test_an_idle_node_of_the_job_is_usable() -> None:
    made = world(*of(cluster(2, low=True), batch(3, 100, 2)))
    assert lost_at(150, (0,), made).status is JobStatus.RUNNING
    assert ended(made).makespan_s == 250


def test_grace_gives_a_replacement_its_chance() -> None:
    patient = replace(AT_ONCE, replacement_s=50.0, cancel_grace_s=60.0)
    made = world(*of(cluster(1, low=True), batch(2, 100, 1)), settings=patient)
    assert lost_at(150, (0,), made).status is JobStatus.RUNNING
    assert (ended(made).status, ended(made).makespan_s) == (JobStatus.COMPLETED, 300)


def test_grace_is_over_when_nothing_comes() -> None:
    patient = replace(AT_ONCE, replacement_s=90.0, cancel_grace_s=60.0)
    made = world(*of(cluster(1, low=True), batch(2, 100, 1)), settings=patient)
    lost_at(150, (0,), made)
    assert (ended(made).status, ended(made).makespan_s) == (JobStatus.CANCELED, 210)


def test_a_cancelled_job_is_submitted_again_as_a_new_one() -> None:
    made = world(*of(cluster(1, low=True), batch(2, 100, 1)))
    lost_at(150, (0,), made)
    with pytest.raises(EngineError, match="a job `j` already exists"):
        engine.apply(made, SubmitBatch(batch(2, 100, 1)))
    engine.apply(made, SubmitBatch(batch(2, 100, 1, name="again")))
    assert ended(made, "again").makespan_s == 200


def test_a_cancelled_job_cannot_be_cancelled_again() -> None:
    made = world(*of(cluster(1), batch(2, 100, 1)), CancelJob("j"))
    with pytest.raises(EngineError, match="job `j` has already ended: it is Canceled"):
        engine.apply(made, CancelJob("j"))


@pytest.mark.parametrize(("counts", "failed"), [(False, 0), (True, 1)])
def test_a_preemption_uses_up_no_try_unless_it_is_told_to(counts: bool, failed: int) -> None:
    strict = replace(NO_CANCEL, preemption_counts_as_try=counts)
    twice = LossScript(((50, 0), (120, 0)))
    job = batch(1, 100, 1, max_retries=2)
    view = ended(world(*of(cluster(1, low=True), job, twice), settings=strict))
    assert (mini_batches(view).failed, view.status) == (failed, JobStatus.COMPLETED)


def test_a_preemption_uses_up_no_try_where_there_is_only_one() -> None:
    job = batch(1, 100, 1, max_retries=0)
    view = ended(world(*of(cluster(1, low=True), job, LossScript(((50, 0),))), settings=NO_CANCEL))
    assert (mini_batches(view).completed, mini_batches(view).attempts) == (1, 2)


@pytest.mark.parametrize(
    ("retries", "are_tries", "attempts"), [(3, False, 4), (3, True, 3), (0, False, 1), (0, True, 1)]
)
def test_retries_are_tries_unless_they_come_on_top_of_the_first_attempt(
    retries: int, are_tries: bool, attempts: int
) -> None:
    told = replace(AT_ONCE, retries_are_tries=are_tries)
    job = batch(1, 0, 1, workload=BatchWork(per_mini_batch_s=9, fail_probability=1.0))
    view = ended(world(*of(cluster(1), replace(job, max_retries=retries)), settings=told))
    assert (mini_batches(view).attempts, mini_batches(view).failed) == (attempts, 1)


def test_of_a_mini_batch_that_would_time_out_only_the_time_that_it_ran_is_lost() -> None:
    job = batch(1, 400, 1, timeout_s=300.0)
    made = world(*of(cluster(1, low=True), job), settings=NO_CANCEL)
    assert lost_at(50, (0,), made).lost_node_s == 50


@pytest.mark.parametrize(("seconds", "status"), [(300, "Completed"), (300.5, "Failed")])
def test_a_mini_batch_that_ends_with_its_timeout_has_ended(seconds: float, status: str) -> None:
    job = batch(1, seconds, 1, timeout_s=300.0, error_threshold=0)
    assert ended(world(*of(cluster(1), job))).status.value == status


@pytest.mark.parametrize(
    ("threshold", "status"), [(-1, "Completed"), (9, "Completed"), (8, "Failed"), (0, "Failed")]
)
def test_the_error_threshold_counts_files_and_not_mini_batches(threshold: int, status: str) -> None:
    job = replace(
        batch(9, 0, 1, workload=BatchWork(per_mini_batch_s=9, fail_probability=1.0)),
        mini_batch_size=5,
        error_threshold=threshold,
    )
    view = ended(world(*of(cluster(1), job)))
    assert view.status.value == status
    assert mini_batches(view).failed_files == (5 if threshold == 0 else 9)


def test_a_job_that_fails_while_mini_batches_are_queued_ends_there_in_one_event() -> None:
    work = BatchWork(per_mini_batch_s=10, fail_probability=0.5)
    job = batch(200, 0, 2, workload=work, max_retries=1, error_threshold=5)
    fast = world(*of(cluster(2), job), watched=False)
    assert engine.finish(fast, "j", EVER)
    assert fast.jobs["j"].status is JobStatus.FAILED
    assert ended(fast) == ended(world(*of(cluster(2), job)))


def test_the_last_mini_batch_has_what_is_left() -> None:
    job = batch(25, 0, 1, workload=BatchWork(per_file_s=6, per_mini_batch_s=1), mini_batch_size=10)
    assert list(drawn.service_times("0", job)) == [[61, 61, 31]]
    assert ended(world(*of(cluster(1), job))).makespan_s == 153


def test_a_rerun_takes_as_long_as_the_run_that_was_lost() -> None:
    job = batch(1, 0, 1, workload=BatchWork(per_mini_batch_s=100, cv=1.0))
    alone = ended(world(*of(cluster(1, low=True), job))).makespan_s or 0
    again = ended(
        world(*of(cluster(1, low=True), job, LossScript(((alone / 2, 0),))), settings=NO_CANCEL)
    )
    assert again.makespan_s == pytest.approx(alone * 1.5)


def test_service_times_have_the_mean_and_variation_that_were_asked_for() -> None:
    job = batch(20_000, 0, 1, workload=BatchWork(per_mini_batch_s=60, cv=0.5))
    times = list(chain.from_iterable(drawn.service_times("cv", job)))
    assert abs(fmean(times) - 60) < 4 * 30 / sqrt(20_000)
    assert stdev(times) / fmean(times) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("limit", [55.0, 90.0, 200.0])
def test_attempts_that_are_skipped_through_end_as_if_each_had_its_event(limit: float) -> None:
    """Of 700 mini-batches, more than are sampled at once, some or many time out."""
    work = BatchWork(per_mini_batch_s=60, cv=1.0)
    job = batch(700, 0, 3, workload=work, concurrency=2, timeout_s=limit, error_threshold=-1)
    given = of(cluster(3, low=True), job, Poisson(2.0))
    slow, fast = world(*given, settings=NO_CANCEL), world(*given, settings=NO_CANCEL, watched=False)
    assert ended(slow) == ended(fast)
    assert slow.number == fast.number


def test_a_run_that_is_cancelled_early_has_sampled_few_service_times() -> None:
    job = batch(100_000, 0, 1, workload=BatchWork(per_mini_batch_s=60, cv=0.5))
    made = world(*of(cluster(1, low=True), job, LossScript(((6000.0, 0),))), watched=False)
    engine.run(made, 5999)
    (running,) = made.jobs.values()
    assert isinstance(running, BatchJob)
    assert 50 < len(running.times) < 1000


def test_of_what_ends_in_the_same_second_completions_come_before_timeouts() -> None:
    work = BatchWork(trace=(10.0, 20.0, 20.0, 70.0))
    job = batch(8, 0, 1, workload=work, concurrency=2, timeout_s=40.0)
    made = world(*of(cluster(1), job), watched=False)
    events = [event for event in engine.advance(made, 60) if event.at == 60]
    assert [event.event for event in events[::2]] == ["MB_DONE", "MB_TIMEOUT"]


def test_service_times_of_a_trace_are_taken_in_turn() -> None:
    job = batch(5, 0, 1, workload=BatchWork(trace=(10.0, 20.0)))
    assert ended(world(*of(cluster(1), job))).makespan_s == 70


@pytest.mark.parametrize("cv", [1.0, 3.0])
def test_hyper_exponential_lives_have_the_mean_and_variation_that_were_asked_for(cv: float) -> None:
    lives = lifetimes(HyperExponential(2.0, cv))
    assert fmean(lives) == pytest.approx(HOUR / 2, rel=4 * cv / sqrt(len(lives)))
    assert stdev(lives) / fmean(lives) == pytest.approx(cv, rel=0.15)


def test_weibull_lives_have_the_mean_that_was_asked_for() -> None:
    assert fmean(lifetimes(Weibull(2.0, 0.7))) == pytest.approx(HOUR / 2, rel=0.08)


def lifetimes(process: HyperExponential | Weibull) -> list[float]:
    """How long single nodes live."""
    job = batch(1, EVER / 10, 1)
    seen = repeated(5000, f"lives/{process}", of(cluster(1, low=True), job, process))
    return [view.makespan_s or 0 for view in seen]


def test_no_losses_at_all_give_what_dedicated_nodes_give() -> None:
    rare = ended(world(*of(cluster(20, low=True), batch(1000, 60, 20), Poisson(1e-9))))
    assert rare.makespan_s == 3000


@pytest.mark.parametrize("nodes", [1, 3])
def test_slower_allocation_never_makes_a_job_faster(nodes: int) -> None:
    times = [
        ended(
            world(
                *of(cluster(nodes), batch(40, 33.3, nodes)),
                settings=replace(AT_ONCE, allocation_s=allocation),
            )
        ).makespan_s
        or 0
        for allocation in (0.0, 10.0, 100.0, 500.0)
    ]
    assert times == sorted(times)


def test_the_same_seed_gives_the_same_log_and_another_one_another() -> None:
    def log(seed: str) -> list[str]:
        job = batch(50, 0, 3, workload=BatchWork(per_mini_batch_s=60, cv=0.5, fail_probability=0.1))
        chance = (Poisson(5.0), Shock(2.0, 0.5))
        return lines(engine.advance(world(*of(cluster(3, low=True), job, *chance), seed=seed), 9e3))

    assert log("one") == log("one")
    assert log("one") != log("two")


def test_a_script_for_all_nodes_cancels_once() -> None:
    job = of(cluster(3, low=True), batch(9, 100, 3), LossScript(((50, ALL),)))
    events = lines(engine.advance(world(*job), EVER))
    assert len([line for line in events if "JOB_ENDED" in line]) == 1
