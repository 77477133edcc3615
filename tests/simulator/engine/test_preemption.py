"""Losses and capacity: who is hit, who waits, who comes back."""

from __future__ import annotations

from dataclasses import replace
from math import exp, sqrt

import pytest

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    DeleteCluster,
    EngineError,
    Preempt,
    SetCapacity,
    SetLock,
    SetPreemption,
    SubmitBatch,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import SimulationSettings, Tier
from mlctl.simulator.engine.processes import (
    ALL,
    CapacitySteps,
    Constant,
    LossScript,
    OnOff,
    Poisson,
    Shock,
    Trace,
)
from mlctl.simulator.engine.state import NodeState
from tests.builders.histories import (
    AT_ONCE,
    DAY,
    EVER,
    HOUR,
    NO_CANCEL,
    batch,
    billed,
    cluster,
    ended,
    of,
    repeated,
    states,
    world,
    z,
)

SLOW = replace(AT_ONCE, allocation_s=100.0, preparation_s=50.0)


def test_a_node_without_capacity_waits_in_allocating() -> None:
    made = world(SetCapacity(Constant(1)), *of(cluster(3), batch(3, 60, 3)))
    engine.run(made, 1)
    seen = [(node.state.name, node.waiting) for node in views.nodes(made, "c")]
    assert seen == [("RUNNING", False), ("ALLOCATING", True), ("ALLOCATING", True)]


def test_clusters_of_a_region_and_tier_share_its_capacity() -> None:
    jobs = [SubmitBatch(batch(2, 60, 2, name=f"j{name}", on=name)) for name in "ab"]
    made = world(
        SetCapacity(Constant(3)), *(AddCluster(cluster(2, name=name)) for name in "ab"), *jobs
    )
    engine.run(made, 1)
    running = [views.counts(made, name).running for name in "ab"]
    assert running == [2, 1]
    assert ended(made, "jb").makespan_s == 120


def test_capacity_that_one_cluster_gives_back_is_for_another() -> None:
    jobs = [SubmitBatch(batch(1, 60, 1, name=f"j{name}", on=name)) for name in "ab"]
    clusters = [AddCluster(cluster(1, name=name)) for name in "ab"]
    made = world(SetCapacity(Constant(1)), *clusters, *jobs)
    assert ended(made, "jb").started == 60 + 120


def test_dedicated_capacity_that_was_given_is_not_taken_back() -> None:
    made = world(
        SetCapacity(CapacitySteps(((50, 0),))), *of(cluster(1), batch(1, 60, 1)), settings=SLOW
    )
    assert ended(made).makespan_s == 210


def test_low_priority_capacity_is_taken_back_before_the_node_is_there() -> None:
    gap = SetCapacity(CapacitySteps(((0, 1), (50, 0), (80, 1))))
    made = world(gap, *of(cluster(1, low=True), batch(1, 60, 1)), settings=SLOW)
    assert (ended(made).makespan_s, ended(made).preempted_nodes) == (80 + 150 + 60, 0)


def test_capacity_of_one_tier_does_not_concern_the_other() -> None:
    made = world(SetCapacity(Constant(0), Tier.LOW_PRIORITY), *of(cluster(1), batch(1, 60, 1)))
    assert ended(made).makespan_s == 60


def test_a_waiting_node_comes_when_there_is_capacity_again() -> None:
    late = SetCapacity(CapacitySteps(((0, 0), (500, 1))))
    assert ended(world(late, *of(cluster(1), batch(1, 60, 1)), settings=SLOW)).makespan_s == 710


def test_dedicated_nodes_are_never_preempted() -> None:
    made = world(
        *of(cluster(2), batch(20, 100, 2), Poisson(50), Shock(50), LossScript(((10, ALL),)))
    )
    engine.apply(made, SetCapacity(Constant(0)))
    assert (ended(made).makespan_s, ended(made).preempted_nodes) == (1000, 0)
    with pytest.raises(
        EngineError, match="cluster `c` is dedicated: its nodes are never preempted"
    ):
        engine.apply(made, Preempt("c"))


def test_a_preempted_node_stays_listed_and_comes_back_under_its_number() -> None:
    slow = replace(AT_ONCE, replacement_s=100.0, preparation_s=50.0)
    made = world(*of(cluster(2, low=True), batch(40, 60, 2)), settings=slow)
    engine.run(made, 200)
    engine.apply(made, Preempt("c", (0,)))
    seen = [states(made, at)[0] for at in (299, 300, 349, 350)]
    assert seen == ["PREEMPTED", "PREPARING", "PREPARING", "RUNNING"]
    assert [node.serial for node in views.nodes(made, "c")] == [1, 2]


def test_a_preempted_node_does_not_bill() -> None:
    slow = replace(AT_ONCE, replacement_s=100.0)
    made = world(*of(cluster(2, low=True), batch(40, 60, 2)), settings=slow)
    engine.run(made, 200)
    engine.apply(made, Preempt("c", (0,)))
    assert billed(made, 1000) == 1000 + 900


def test_a_replacement_takes_as_long_as_an_allocation_unless_it_is_said() -> None:
    made = world(
        *of(cluster(2, low=True), batch(40, 60, 2)), settings=replace(SLOW, replacement_s=None)
    )
    engine.run(made, 200)
    engine.apply(made, Preempt("c", (0,)))
    assert [states(made, at)[0] for at in (299, 300, 350)] == ["PREEMPTED", "PREPARING", "RUNNING"]


def test_a_preempted_node_that_nobody_wants_is_gone() -> None:
    made = world(*of(cluster(2, low=True), batch(2, 60, 2)))
    engine.run(made, 70)
    engine.apply(made, Preempt("c", (0,)))
    assert states(made, 71) == ["IDLE"]


def test_after_two_days_the_platform_gives_a_preempted_node_up_and_a_new_one_is_asked_for() -> None:
    made = world(AddCluster(cluster(1, 1, low=True)), settings=replace(AT_ONCE, allocation_s=9.0))
    engine.run(made, 100)
    engine.apply(made, SetCapacity(Constant(0)))
    assert states(made, 100 + 2 * DAY - 1) == ["PREEMPTED"]
    assert states(made, 100 + 2 * DAY) == ["ALLOCATING"]
    assert [node.serial for node in views.nodes(made, "c")] == [2]


def test_nodes_that_are_not_replaced_stay_lost() -> None:
    once = replace(NO_CANCEL, replace=False)
    made = world(*of(cluster(1, low=True), batch(2, 60, 1), LossScript(((30, 0),))), settings=once)
    assert states(made, 9 * DAY) == ["PREEMPTED"]


@pytest.mark.slow
def test_what_takes_nodes_holds_for_those_that_are_up_when_it_is_set() -> None:
    made = world(AddCluster(cluster(50, 50, low=True)))
    engine.run(made, HOUR)
    engine.apply(made, SetPreemption((Poisson(1e6),)))
    engine.run(made, HOUR + 1)
    assert made.clusters["c"].preempted_nodes > 50
    engine.apply(made, SetPreemption(()))
    before = made.clusters["c"].preempted_nodes
    engine.run(made, DAY)
    assert made.clusters["c"].preempted_nodes == before


def test_the_platform_gives_up_a_node_whose_return_was_cut_short() -> None:
    slow = replace(AT_ONCE, replacement_s=100.0)
    made = world(AddCluster(cluster(1, 1, low=True)), settings=slow)
    gone = SetCapacity(CapacitySteps(((100, 0), (200, 1), (250, 0))))
    engine.apply(made, gone)
    assert states(made, 100 + 2 * DAY - 1) == ["PREEMPTED"]
    assert states(made, 100 + 2 * DAY) == ["ALLOCATING"]


def test_a_script_takes_the_nodes_that_it_names_at_its_moments() -> None:
    script = LossScript(((250.0, ALL), (50.0, 1)))
    once = replace(NO_CANCEL, replace=False)
    made = world(*of(cluster(3, low=True), batch(99, 60, 3), script), settings=once)
    engine.run(made, 30)
    assert states(made, 100) == ["RUNNING", "PREEMPTED", "RUNNING"]
    assert states(made, 250) == ["PREEMPTED"] * 3


def test_times_of_a_script_count_from_when_it_was_set() -> None:
    made = world(*of(cluster(2, low=True), batch(99, 60, 2)), settings=NO_CANCEL)
    engine.run(made, 1000)
    engine.apply(made, SetPreemption((LossScript(((50.0, 0),)),)))
    engine.run(made, EVER)
    assert views.job(made, "j").preempted_nodes == 1
    assert views.job(made, "j").makespan_s == 99 * 30 + 30


def test_a_trace_goes_round() -> None:
    made = world(
        *of(cluster(1, 1, low=True), batch(10, 300, 1), Trace(100.0, (1, 1, 0))),
        settings=NO_CANCEL,
    )
    seen = [states(made, at)[0] for at in (150, 250, 350, 550, 650)]
    assert seen == ["RUNNING", "PREEMPTED", "RUNNING", "PREEMPTED", "RUNNING"]


def test_a_trace_takes_every_node_as_often_as_any_other() -> None:
    hit = {0: 0, 1: 0, 2: 0}
    for seed in range(300):
        made = world(
            AddCluster(cluster(3, 3, low=True)),
            SetPreemption((Trace(100.0, (3, 2)),)),
            seed=f"victims/{seed}",
            watched=False,
        )
        engine.run(made, 150)
        for node in views.nodes(made, "c"):
            hit[node.number] += node.state is NodeState.PREEMPTED
    assert sum(hit.values()) == 300
    assert all(70 <= number <= 130 for number in hit.values())  # 4 standard deviations are 33


def test_a_shock_takes_its_fraction() -> None:
    once = replace(NO_CANCEL, replace=False)
    job = batch(10_000, HOUR, 40)
    seen = repeated_losses(of(cluster(40, low=True), job, Shock(1.0, 0.3)), once, HOUR)
    expected = 40 * (1 - exp(-0.3))
    spread = 40 * sqrt(exp(-0.3 * 1.7) - exp(-0.6)) + sqrt(40) / 2  # shared shocks, then each node
    assert abs(seen - expected) < 4 * spread / sqrt(60)


def repeated_losses(
    commands: tuple[object, ...], settings: SimulationSettings, until: float
) -> float:
    """The mean number of lost nodes."""
    total = 0
    for seed in range(60):
        made = world(*commands, settings=settings, seed=f"shock/{seed}", watched=False)  # type: ignore[arg-type]
        engine.run(made, until)
        total += views.job(made, "j").preempted_nodes
    return total / 60


@pytest.mark.slow
def test_a_cancelled_job_under_total_shocks_does_not_depend_on_the_number_of_nodes() -> None:
    chance = [
        repeated(2000, "W", of(cluster(nodes, low=True), batch(60 * nodes, 60, nodes), Shock(0.7)))
        for nodes in (1, 5)
    ]
    expected = 1 - 2.718281828**-0.7
    for seen in chance:
        assert abs(z(seen, lambda view: view.status is JobStatus.CANCELED, expected)) < 4


@pytest.mark.slow
def test_outages_leave_as_much_time_as_their_rates_say() -> None:
    up = 0.0
    for seed in range(150):
        made = world(
            SetCapacity(OnOff(1.0, HOUR / 4), Tier.LOW_PRIORITY),
            AddCluster(cluster(1, 1, low=True)),
            seed=f"outage/{seed}",
            watched=False,
        )
        up += billed(made, 100 * HOUR)
    assert up / 150 / (100 * HOUR) == pytest.approx(1 / (1 + 1 / 4), abs=0.01)


def test_a_node_that_waited_for_capacity_when_the_lock_came_asks_again() -> None:
    made = world(SetCapacity(Constant(0)), *of(cluster(1), batch(1, 60, 1)))
    engine.apply(made, SetLock("c"))
    engine.apply(made, SetCapacity(None))
    engine.run(made, HOUR)
    engine.apply(made, SetLock("c", locked=False))
    assert ended(made).makespan_s == HOUR + 60


def test_a_cluster_made_again_under_its_name_has_other_luck() -> None:
    def first_loss() -> float:
        engine.apply(made, AddCluster(cluster(1, 1, low=True)))
        began = made.now
        losses = (event.at for event in engine.advance(made, began + 99 * HOUR))
        lost = next(iter([at - began for at in losses if made.clusters["c"].preempted_nodes]))
        engine.apply(made, DeleteCluster("c"))
        return lost

    made = world(SetPreemption((Poisson(1.0),)))
    assert first_loss() != pytest.approx(first_loss())
