"""What a configuration costs: the job, and the nodes that stay from one job to the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.forecast.advice.search import Candidate, Place, Wishes
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)

CLUSTER = ClusterSpec("1/c", Tier.LOW_PRIORITY, 2, 2, idle_s=1800.0, price=1.0)
JOB = BatchSpec("1/forecast", "1/c", 41, BatchWork(per_mini_batch_s=60.0), 1, 2, timeout_s=1e6)
SCENARIO = Scenario(CLUSTER, JOB, SimulationSettings(), 0.5)


@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize("tier", [Tier.LOW_PRIORITY, Tier.DEDICATED])
def test_nodes_that_stay_are_paid_once(tier: Tier, release: bool) -> None:
    """Two nodes are there from one job to the next: an hour of each costs what an hour costs."""
    settings = replace(SCENARIO.settings, release_idle_nodes=release)
    scenario = replace(SCENARIO, settings=settings).on(tier)
    wishes = Wishes(every_s=10 * HOUR)
    way = Way.DEDICATED if tier is Tier.DEDICATED else Way.RESUBMIT
    candidate = Candidate({}, Study(scenario, RecoveryPolicy(way)), Place("", "", scenario), wishes)
    candidate.found = candidate.study.histories(range(1))
    assert candidate.cost == pytest.approx(2 * 10 * scenario.price)


def test_nodes_that_go_cost_nothing_from_one_job_to_the_next() -> None:
    scenario = replace(SCENARIO, cluster=replace(CLUSTER, min_instances=0))
    candidate = Candidate({}, Study(scenario), Place("", "", scenario))
    candidate.found = candidate.study.histories(range(1))
    assert candidate.between == [0.0]
