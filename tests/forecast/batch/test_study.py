"""Studies in pieces: whoever carries them out, and however many, they are the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mlctl.forecast import gather
from mlctl.forecast.batch.policy import History, parse
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.forecast.gather import histories, histories_of
from mlctl.forecast.history import EngineCloud, HistoryCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut.history import obstacle
from mlctl.forecast.training.study import TrainingScenario, TrainingStudy
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import Poisson

CLUSTER = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 2, price=1.0)
JOB = BatchSpec("1/forecast", "1/c", 40, BatchWork(per_mini_batch_s=60.0), 1, 2, timeout_s=1e6)
SETTINGS = SimulationSettings()
SCENARIO = Scenario(CLUSTER, JOB, SETTINGS, 0.2, (Poisson(2.0),))
BATCH = Study(SCENARIO)
TRAINING = TrainingStudy(
    TrainingScenario(CLUSTER, TrainingSpec("1/t", 60, 60.0, "1/c"), SETTINGS, 0.2, (Poisson(1.0),))
)


def of(found: Iterable[tuple[int, list[History]]], at: int = 0) -> list[History]:
    return [one for part, some in found if part == at for one in some]


def test_more_runs_begin_with_the_same_ones() -> None:
    few, many = of(histories([(BATCH, range(30))])), of(histories([(BATCH, range(70))]))
    assert many[:30] == few
    assert of(histories([(BATCH, range(30, 70))])) == many[30:]
    assert len(set(many)) > 1


def test_every_executor_makes_the_same_histories_of_every_kind() -> None:
    with ThreadPoolExecutor(2) as pool:
        for each in (BATCH, TRAINING):
            (alone,), (shared,) = histories_of([each], 40), histories_of([each], 40, pool)
            assert shared == alone
            assert [type(one) for one in shared] == [type(one) for one in alone]


def test_short_parts_share_a_task_and_long_ones_are_divided() -> None:
    parts = [(BATCH, range(1)), (BATCH, range(5, 5)), (BATCH, range(100)), (BATCH, range(3))]
    tasks = list(gather._tasks(parts))
    assert max(sum(len(runs) for _, runs in task) for task in tasks) == 3
    assert tasks[0] == [(0, range(1)), (2, range(2))]
    numbers = [(at, run) for task in tasks for at, runs in task for run in runs]
    assert numbers == [(at, run) for at, (_, runs) in enumerate(parts) for run in runs]
    assert len(list(gather._tasks([(BATCH, range(9_000))]))) == 90
    assert len(list(gather._tasks([(BATCH, range(1_024_000))]))) == 512


def test_histories_travel_as_columns() -> None:
    (table,) = gather._carried_out([(BATCH, range(200))])
    assert table[0] is History
    assert [len(column) for column in table[1:]] == [200] * len(History._fields)
    assert len(pickle.dumps(table)) < 100 * 200


@pytest.mark.parametrize("through_the_engine", [False, True])
def test_where_nothing_is_left_to_chance_there_is_one_history(
    monkeypatch: pytest.MonkeyPatch, through_the_engine: bool
) -> None:
    calm = replace(SCENARIO, processes=())
    if through_the_engine:
        calm = replace(calm, cluster=replace(CLUSTER, min_instances=1))
    made: list[object] = []
    carry_out = Study._carry_out

    def counted(study: Study, cloud: HistoryCloud) -> History:
        made.append(cloud)
        return carry_out(study, cloud)

    monkeypatch.setattr(Study, "_carry_out", counted)
    assert len(set(Study(calm).histories(range(10)))) == len(made) == 1


@pytest.mark.parametrize(
    "chancy",
    [
        SCENARIO,
        replace(SCENARIO, processes=(), settings=replace(SETTINGS, delay_cv=0.5)),
        replace(SCENARIO, processes=(), settings=replace(SETTINGS, p_unusable=0.5)),
        replace(SCENARIO, processes=(), job=replace(JOB, workload=BatchWork(60.0, cv=0.5))),
        replace(
            SCENARIO, processes=(), job=replace(JOB, workload=BatchWork(60.0, fail_probability=0.5))
        ),
    ],
)
def test_what_is_left_to_chance_is_carried_out_each_time(chancy: Scenario) -> None:
    assert len(set(Study(chancy).histories(range(20)))) > 1


def test_a_certain_scenario_has_the_history_of_the_engine() -> None:
    calm = Study(replace(SCENARIO, processes=()))
    history = calm.histories(range(3))[2]
    cloud = EngineCloud(calm.scenario, calm.seed_of(2))
    assert cloud.run(JOB.files, Tier.LOW_PRIORITY, 1e6).ended == history.time_s


def test_only_the_policy_that_minds_a_deadline_is_told_of_it() -> None:
    mindful = Study(SCENARIO, parse("deadline"))
    told = with_deadline([BATCH, mindful], 7200.0)
    assert told[0] is BATCH
    alone = Study(SCENARIO.dedicated, parse("dedicated")).histories(range(1))[0]
    switch = told[1].policy.switch
    assert switch is not None
    assert switch.at(JOB.files) == 7200.0 - alone.done_s
    assert switch.at(JOB.files // 2) > switch.at(JOB.files)
    assert with_deadline([mindful], None) == [mindful]


def test_bills_of_a_lone_node_are_its_time_with_and_without_its_allocation() -> None:
    """With it all the time until done; without (by the shortcut) less a wait for each node."""
    cluster = replace(CLUSTER, max_instances=1, idle_s=0.0)
    settings = replace(SETTINGS, preparation_s=0.0, billing_granularity_s=0.0)
    scenario = Scenario(cluster, replace(JOB, instance_count=1), settings, 0.2, (Poisson(1.0),))
    billing = replace(scenario, settings=replace(settings, bill_allocating=True))
    assert obstacle(scenario) is None
    assert obstacle(billing) is not None
    without, with_it = (Study(each).histories(range(40)) for each in (scenario, billing))
    assert max(run.tries for run in without) > 1
    for run, same in zip(without, with_it, strict=True):
        assert (run.done_s, run.tries) == (same.done_s, same.tries)
        assert same.low_s == pytest.approx(same.done_s)
        assert run.low_s == pytest.approx(run.done_s - 180.0 * run.tries)
