"""A training job that a policy brings to its end: what is known in closed form."""

from __future__ import annotations

import pytest

from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import with_deadline
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.forecast.training.study import TrainingScenario
from mlctl.simulator.engine.model import ClusterSpec, SimulationSettings, Tier, TrainingSpec
from mlctl.simulator.engine.processes import OnOff, PreemptionProcess


def study(way: Way, *processes: PreemptionProcess, serverless: bool = False) -> RecoveryStudy:
    """100 steps of a minute, a checkpoint after each tenth, on one node."""
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 1, 0.0, price=1.0)
    named, own = ("", cluster) if serverless else (cluster.name, None)
    job = TrainingSpec("1/forecast", 100, 60.0, named, own, checkpoint_every=10, restore_s=30.0)
    training = TrainingScenario(cluster, job, SimulationSettings(), 0.2, processes)
    return RecoveryStudy(as_batch(training), RecoveryPolicy(way, resumes=True), job=job)


@pytest.mark.parametrize("serverless", [False, True])
def test_a_run_that_loses_nothing_takes_its_start_and_its_steps(serverless: bool) -> None:
    calm = study(Way.DEDICATED, serverless=serverless)
    [history] = calm.histories(range(1))
    settings = SimulationSettings()
    assert history.done_s == settings.allocation_s + settings.preparation_s + 6000.0
    assert history.tries == 1
    assert history.low_s == 0
    assert history.dedicated_s >= 6000.0


def test_in_an_outage_the_rest_is_done_on_dedicated_nodes_by_the_deadline() -> None:
    gone = study(Way.DEADLINE, OnOff(3.0, 1e6))
    [planned] = with_deadline([gone], 4 * 3600.0)
    histories = planned.histories(range(20))
    assert all(history.done and history.done_s <= 4 * 3600.0 for history in histories)
    resumed = [history for history in histories if 0 < history.low_s < 6000.0]
    assert resumed
    for history in resumed:  # what checkpoints have is not done again
        assert history.dedicated_s < 6000.0 + SimulationSettings().preparation_s + 31.0
    assert min(history.dedicated_s for history in resumed) < 5700.0


def test_each_history_is_of_its_number_alone() -> None:
    stormy = study(Way.REMAINING, OnOff(1.0, 600.0))
    assert stormy.histories(range(3, 5)) == stormy.histories(range(5))[3:]
