"""The shortcut beside the event engine: the same histories, one by one."""

from __future__ import annotations

import os
from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.forecast.batch import policy
from mlctl.forecast.batch.policy import History, RecoveryPolicy, Switch, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.history import EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import history as skip
from mlctl.forecast.weather.models import AnyMoment
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import (
    ByHour,
    HyperExponential,
    LossScript,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
    Weibull,
)

SEEDS = 5  # of each example
# `make test-shortcut` makes 10 000 histories of each law.
EXAMPLES = int(os.environ.get("MLCTL_TEST_HISTORIES", "1500")) // SEEDS

rates = st.sampled_from([0.05, 0.5, 2.0])
processes: st.SearchStrategy[PreemptionProcess] = st.one_of(
    st.builds(Poisson, rates),
    st.builds(Poisson, rates, st.just(ByHour((0.5, 2.0) * 12, 1000.0))),
    st.builds(HyperExponential, rates, st.just(2.0)),
    st.builds(Weibull, rates, st.just(0.7)),
    st.builds(Shock, rates, st.sampled_from([0.3, 0.8, 1.0])),
    st.builds(OnOff, rates, st.sampled_from([300.0, 3000.0])),
    st.builds(AnyMoment, rates, st.sampled_from([300.0, 3000.0])),
    st.builds(
        LossScript,
        st.lists(
            st.tuples(
                st.integers(0, 8).map(lambda at: at * 120.0), st.sampled_from(["all", 0, 1, 3])
            ),
            min_size=1,
            max_size=5,
        ).map(tuple),
    ),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Small jobs in bad weather, so that much happens in the last rounds."""
    nodes, slots = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    size = draw(st.integers(1, 4))
    job = BatchSpec(
        "1/forecast",
        "1/c",
        draw(st.integers(1, 200)),
        BatchWork(per_file_s=draw(st.sampled_from([7.0, 30.0])), per_mini_batch_s=60.0),
        size,
        nodes,
        slots,
        timeout_s=1e9,
    )
    delay = st.sampled_from([0.0, 60.0, 180.0])
    return Scenario(
        ClusterSpec(
            "1/c",
            Tier.LOW_PRIORITY,
            0,
            draw(st.integers(1, 6)),
            draw(st.sampled_from([0.0, 120.0, 1800.0])),
            4,
            1.0,
            "eastus",
        ),
        job,
        SimulationSettings(
            allocation_s=draw(delay),
            preparation_s=draw(delay),
            replacement_s=draw(st.sampled_from([None, 0.0, 90.0])),
            delay_cv=draw(st.sampled_from([0.0, 0.0, 0.7])),
            cancel_when_preempted=draw(st.booleans()),
            progress_update_timeout_s=0.0,
            billing_granularity_s=draw(st.sampled_from([0.0, 1.0])),
        ),
        0.2,
        tuple(draw(st.lists(processes, max_size=3))),
    )


policies = st.sampled_from(
    [
        RecoveryPolicy(Way.ONCE),
        RecoveryPolicy(Way.RESUBMIT),
        RecoveryPolicy(Way.REMAINING),
        RecoveryPolicy(Way.FALLBACK, 2),
        RecoveryPolicy(Way.DEADLINE, switch=Switch(3000.0, 300.0, 1200.0, 40, 60.0)),
        RecoveryPolicy(Way.DEDICATED),
    ]
)


def both(scenario: Scenario, plan: RecoveryPolicy, seed: str) -> tuple[History, History] | None:
    """The history by the shortcut and by the engine; None where the shortcut gives up."""
    job = scenario.job
    try:
        cloud = skip.SkipCloud(scenario, seed)
        short = policy.carry_out(plan, cloud, job.files, job.mini_batch_size)
    except skip.Inexact:
        return None
    engine = EngineCloud(scenario, seed)
    return short, policy.carry_out(plan, engine, job.files, job.mini_batch_size)


def same(one: object, other: object) -> bool:
    """Whether two values are equal, but for how sums of seconds were rounded."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    return one == other


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(scenarios(), policies)
def test_the_shortcut_gives_the_history_of_the_engine(
    scenario: Scenario, plan: RecoveryPolicy
) -> None:
    assert skip.obstacle(scenario) is None
    for run in range(SEEDS):
        found = both(scenario, plan, f"law/{run}")
        if found is not None:
            short, full = found
            assert all(map(same, short, full)), (run, short, full)


def test_an_allocation_that_an_outage_cuts_off_is_drawn_again_by_both() -> None:
    job = BatchSpec("1/forecast", "1/c", 9, BatchWork(per_mini_batch_s=60.0), 1, 3, timeout_s=1e6)
    varied = SimulationSettings(allocation_s=900.0, delay_cv=2.0, progress_update_timeout_s=0.0)
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 3)
    scenario = Scenario(cluster, job, varied, 0.2, (OnOff(6.0, 300.0),))
    for run in range(30):
        found = both(scenario, RecoveryPolicy(), f"law/{run}")
        if found is not None:
            assert all(map(same, *found)), (run, *found)


def test_where_nothing_is_left_to_chance_all_histories_are_one() -> None:
    job = BatchSpec("1/forecast", "1/c", 90, BatchWork(per_mini_batch_s=60.0), 1, 4, timeout_s=1e6)
    scenario = Scenario(ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 4), job, SimulationSettings(), 0.2)
    found = both(scenario, RecoveryPolicy(), "law/7")
    assert found is not None
    assert Study(scenario).histories(range(5, 8)) == [found[1]] * 3
