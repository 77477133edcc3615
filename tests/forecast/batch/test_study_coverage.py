"""Of many small studies, as many intervals hold the truth of a closed form as they say."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, log

import pytest

from mlctl.forecast import statistics
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import Estimate
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import Poisson, PreemptionProcess, Shock
from tests.builders.forecasts import noted_share

STUDIES, RUNS = 400, 50
AT_ONCE = SimulationSettings(
    allocation_s=0.0, preparation_s=0.0, replacement_s=0.0, billing_granularity_s=0.0
)


def scenario(nodes: int, process: PreemptionProcess, count: int, seconds: float) -> Scenario:
    """Mini-batches of so many seconds, one at a time on each node; a node-hour costs 1 USD."""
    work = BatchWork(per_mini_batch_s=seconds)
    job = BatchSpec("1/forecast", "1/c", count, work, 1, nodes, timeout_s=1e7)
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, nodes, 0.0, price=1.0)
    return Scenario(cluster, job, AT_ONCE, 1.0, (process,))


ONE = scenario(1, Poisson(0.2), 100, 60.0)
STORM = scenario(2, Shock(0.5, 1.0), 2, HOUR)


def cancelled(of: Summary) -> Estimate:
    return of.cancelled


def time_until_done(of: Summary) -> Estimate:
    return statistics.mean(of.times_until_done)


def ends(of: Summary) -> list[float]:
    """When each history ended, done or not."""
    return [history.done_s for history in of.histories]


def mean_end(of: Summary) -> Estimate:
    return statistics.mean(ends(of))


def quartile_of_ends(of: Summary) -> Estimate:
    return statistics.quantile_interval(sorted(ends(of)), 0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "way", "told", "truth"),
    [
        (ONE, Way.ONCE, cancelled, -expm1(-0.2 * 100 / 60)),
        (ONE, Way.ONCE, mean_end, -expm1(-0.2 * 100 / 60) / 0.2 * HOUR),
        (STORM, Way.RESUBMIT, time_until_done, expm1(0.5) / 0.5 * HOUR),
        # A quarter of the tasks are lost by then, at a rate of 0.5 an hour.
        (
            scenario(1, Poisson(0.5), 1, 10 * HOUR),
            Way.ONCE,
            quartile_of_ends,
            -log(0.75) / 0.5 * HOUR,
        ),
    ],
    ids=["P(cancelled)", "end", "time", "quartile"],
)
def test_of_400_small_studies_the_intervals_cover_the_closed_form(
    there: Scenario, way: Way, told: Callable[[Summary], Estimate], truth: float
) -> None:
    held = 0
    for number in range(STUDIES):
        study = Study(there, RecoveryPolicy(way), f"coverage/{number}")
        found = told(Summary(there, study.histories(range(RUNS))))
        held += found.low <= truth <= found.high
    assert 0.92 <= noted_share(held, STUDIES) <= 0.98


def test_the_closed_forms_are_those_of_the_tables() -> None:
    assert -expm1(-0.2 * 100 / 60) == pytest.approx(0.283469, abs=1e-6)
    assert exp(0.1) / 0.1 - 1 / 0.1 == pytest.approx(1.051709, abs=1e-6)
