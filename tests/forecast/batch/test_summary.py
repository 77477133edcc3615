"""What histories come to: what is never done is an outcome of its own."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from mlctl.forecast.batch.policy import History
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.history import LONGEST_S
from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import Poisson

CLUSTER = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 2, price=1.0)
JOB = BatchSpec("1/forecast", "1/c", 40, BatchWork(per_mini_batch_s=60.0), 1, 2, timeout_s=1e6)
SCENARIO = Scenario(CLUSTER, JOB, SimulationSettings(), 0.5, (Poisson(2.0),))

DONE = History(JobStatus.COMPLETED, 100.0, 3600.0, 0, 0.0, 40, 0, False, 1, True, 100.0, 3600.0, 0)
NEVER = DONE._replace(
    status=JobStatus.CANCELED, given_up=True, done=False, done_s=LONGEST_S, low_s=36000.0
)
FAILED = DONE._replace(status=JobStatus.FAILED, done=False, low_s=7200.0)


def test_what_is_never_done_is_not_averaged_with_what_is_done() -> None:
    summary = Summary(SCENARIO, [DONE, DONE, NEVER, DONE])
    assert summary.times_until_done == [100.0, 100.0, inf, 100.0]
    until_done = summary.document()["until_done"]
    time_s, cost = until_done["time_s"], until_done["cost"]
    assert time_s is not None
    assert cost is not None
    assert (time_s["value"], cost["value"]) == (100.0, 0.5)
    assert (until_done["not_done"], until_done["p_not_done"]["value"]) == (1, 0.25)
    assert until_done["spent"] == 5.0


def test_what_is_never_done_is_later_than_any_quantile() -> None:
    assert Summary(SCENARIO, [DONE] * 99 + [NEVER]).document()["until_done"]["time_p95_s"]
    document = Summary(SCENARIO, [DONE] * 9 + [NEVER]).document()
    assert document["until_done"]["time_p95_s"] is None


@pytest.mark.parametrize("end", [NEVER, FAILED])
def test_what_is_never_done_at_all_has_no_time_and_no_cost_until_done(end: History) -> None:
    until_done = Summary(SCENARIO, [end, end]).document()["until_done"]
    assert (until_done["cost"], until_done["time_s"], until_done["time_p95_s"]) == (None,) * 3
    assert until_done["spent"] == end.low_s / 3600 * 0.5


def test_a_failed_run_is_neither_cancelled_nor_done() -> None:
    document = Summary(SCENARIO, [DONE, FAILED]).document()
    assert (document["failed"]["value"], document["cancelled"]["value"]) == (0.5, 0.0)
    assert document["until_done"]["not_done"] == 1


def test_where_there_is_one_history_its_numbers_are_certain() -> None:
    document = Summary(replace(SCENARIO, processes=()), [DONE] * 3, 50.0).document()
    assert document["late"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert document["until_done"]["p_not_done"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert document["completion_s"] is not None
    assert document["completion_s"]["p95"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    assert Summary(SCENARIO, [DONE] * 3).document()["failed"]["high"] == pytest.approx(
        0.632, abs=1e-3
    )


def test_of_a_single_run_times_and_costs_are_until_it_ended_however_it_did() -> None:
    cancelled = DONE._replace(status=JobStatus.CANCELED, done=False, done_s=50.0, low_s=1800.0)
    summary = Summary(SCENARIO, [DONE, cancelled, NEVER], single_run=True)
    assert summary.times_until_done == [100.0, 50.0, inf]
    assert summary.costs_until_done == [0.5, 0.25, inf]
    assert summary.not_done == 2
