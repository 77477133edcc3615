"""What policies do over the runs of a history: they keep progress, and know when nothing helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.forecast.batch.policy import HOPELESS_RUNS, RecoveryPolicy, Switch, Way
from mlctl.forecast.batch.study import Study, histories_until, is_hopeless, runs_of, with_deadline
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.weather.models import AnyMoment
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import (
    LossScript,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
)

AT_ONCE = SimulationSettings(
    allocation_s=0.0, preparation_s=0.0, replacement_s=0.0, billing_granularity_s=0.0
)


def scenario(*processes: PreemptionProcess, hours: float = 10, nodes: int = 1) -> Scenario:
    """Mini-batches of a minute on nodes of a dollar an hour, a fifth of it on low priority."""
    work = BatchWork(per_mini_batch_s=60.0)
    job = BatchSpec("1/forecast", "1/c", int(hours * 60), work, 1, nodes, timeout_s=1e6)
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, nodes, 0.0, price=1.0)
    return Scenario(cluster, job, AT_ONCE, 0.2, processes)


def by_deadline(of: Scenario, deadline_h: float) -> Study:
    [study] = with_deadline([Study(of, RecoveryPolicy(Way.DEADLINE))], deadline_h * HOUR)
    return study


def test_work_longer_than_half_the_time_is_done_on_low_priority_in_calm_weather() -> None:
    study = by_deadline(scenario(hours=10), 12)
    summary = study.summary(study.histories(range(1)), 12 * HOUR)
    assert summary.costs_until_done == [pytest.approx(2.0)]
    assert summary.switched.value == 0


@pytest.mark.parametrize("cv", [0.0, 1e-9])
def test_a_deadline_keeps_what_is_done(cv: float) -> None:
    """By shortcut and engine: six hours are done when the node is lost, and the next has four."""
    lost = scenario(LossScript(((6 * HOUR, "all"),)), hours=10)
    lost = replace(lost, job=replace(lost.job, workload=BatchWork(0.0, 60.0, cv=cv)))
    [history] = by_deadline(lost, 11).histories(range(1))
    assert (history.done, history.tries, history.dedicated_s) == (True, 2, 0.0)
    assert history.done_s == pytest.approx(10 * HOUR, rel=1e-3)


def test_a_job_without_nodes_is_moved_in_time() -> None:
    out = scenario(OnOff(1e-9, 1e9, out_s=1e8), hours=4)
    study = by_deadline(out, 6)
    [history] = study.histories(range(1))
    assert history.done_s == pytest.approx(6 * HOUR)
    assert history.dedicated_s == pytest.approx(4 * HOUR)
    assert study.summary([history], 6 * HOUR).document()["until_done"]["p_dedicated"]["value"] == 1


def test_fewer_files_may_be_begun_later_but_for_the_round_that_their_last_takes() -> None:
    switch = Switch(100.0, 10.0, 60.0, 6, 10.0)
    assert [switch.at(files) for files in (6, 5, 3, 1)] == [30.0, 30.0, 50.0, 70.0]


def test_a_job_that_never_comes_near_its_end_is_given_up_early() -> None:
    study = Study(scenario(Shock(5.0, 1.0), hours=40))
    histories = histories_until(study, 1000)
    assert all(run.hopeless and run.tries == HOPELESS_RUNS for run in histories)
    assert is_hopeless(histories)
    assert len(histories) == 20


def test_a_job_that_comes_near_its_end_is_run_until_it_is_done() -> None:
    histories = Study(scenario(Shock(0.3, 1.0), hours=10)).histories(range(100))
    assert not any(run.hopeless for run in histories)
    assert max(run.tries for run in histories) > HOPELESS_RUNS


def test_where_losses_follow_a_record_no_job_is_given_up_early() -> None:
    minutely = LossScript(tuple((60.0 * minute, "all") for minute in range(1, 100)))
    [history] = Study(scenario(minutely, hours=0.5)).histories(range(1))
    assert (history.done, history.hopeless) == (True, False)
    assert history.tries > HOPELESS_RUNS


def test_few_histories_that_carry_the_mean_ask_for_more() -> None:
    rare = Study(scenario(AnyMoment(0.01, HOUR, None, 3.4), hours=0.1))
    few = rare.histories(range(1000))
    assert rare.summary(few).carried_by < 25
    assert runs_of(rare, few, None) == 2000
    assert runs_of(rare, few, 1000) == 1000
    plain = Study(scenario(Poisson(0.5), hours=1))
    assert runs_of(plain, plain.histories(range(1000)), None) == 1000


def test_the_engine_has_fewer_histories_of_a_longer_job() -> None:
    job = scenario(Poisson(0.1), hours=100).job
    slow = replace(
        scenario(Poisson(0.1)),
        job=replace(job, workload=BatchWork(0.0, 60.0, cv=0.5), files=80_000),
    )
    some = Study(scenario(Poisson(0.1))).histories(range(1)) * 20
    assert runs_of(Study(slow), some, None) == 10


def test_the_nodes_that_stay_are_paid_while_the_twin_works() -> None:
    """The low-priority node stays for the four dedicated hours, and for its minute of idle time."""
    out = scenario(OnOff(1e-9, 1e9), LossScript(((HOUR, "all"),)), hours=4)
    kept = replace(out, cluster=replace(out.cluster, min_instances=1))
    [history] = Study(kept, RecoveryPolicy(Way.FALLBACK, 1)).histories(range(1))
    assert history.dedicated_s == pytest.approx(4 * HOUR)
    assert history.low_s == pytest.approx(5 * HOUR, rel=0.01)


def test_a_single_mini_batch_is_not_given_up_for_it_shows_nothing_of_its_progress() -> None:
    """One in twenty runs completes: after 30 runs a fifth of the histories are not done yet."""
    work = scenario(Shock(3.0, 1.0), hours=1 / 60)
    long = replace(work, job=replace(work.job, workload=BatchWork(per_mini_batch_s=HOUR)))
    histories = Study(long).histories(range(60))
    assert all(run.done for run in histories)
    assert max(run.tries for run in histories) > HOPELESS_RUNS
