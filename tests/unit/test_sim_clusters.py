"""Clusters: autoscaling, capacity, locks, resizing, bills."""

from __future__ import annotations

from dataclasses import replace
from math import exp, sqrt

import pytest

from mlctl.cloud.sim import engine, views
from mlctl.cloud.sim.commands import (
    AddCluster,
    CancelJob,
    Configure,
    DeleteCluster,
    Lock,
    Preempt,
    Refused,
    ResizeCluster,
    SetCapacity,
    SetPreemption,
    SubmitBatch,
    SubmitTraining,
    Unknown,
)
from mlctl.cloud.sim.jobs import Status
from mlctl.cloud.sim.model import Settings, Tier
from mlctl.cloud.sim.processes import ALL, Constant, OnOff, Poisson, Script, Shock, Steps, Trace
from mlctl.cloud.sim.state import NodeState, World
from mlctl.cloud.sim.usage import usage
from mlctl.cloud.sim.views import Counts
from tests.histories import (
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
    training,
    world,
    z,
)

SLOW = replace(AT_ONCE, allocation_s=100.0, preparation_s=50.0)


def counts(made: World, at: float) -> Counts:
    """The nodes of `c` at a later moment."""
    engine.run(made, at)
    return views.counts(made, "c")


def states(made: World, at: float) -> list[str]:
    """The state of every node of `c` at a later moment."""
    engine.run(made, at)
    return [node.state.name for node in views.nodes(made, "c")]


def test_a_new_cluster_has_no_nodes_and_is_steady() -> None:
    new = counts(world(AddCluster(cluster(4))), 0)
    assert (new.current, new.target, new.allocation_state) == (0, 0, "steady")


def test_nodes_are_allocated_then_prepared_then_run() -> None:
    made = world(*of(cluster(2), batch(4, 60, 2)), settings=SLOW)
    assert [states(made, at) for at in (0, 99, 100, 149, 150)] == [
        ["ALLOCATING"] * 2,
        ["ALLOCATING"] * 2,
        ["PREPARING"] * 2,
        ["PREPARING"] * 2,
        ["RUNNING"] * 2,
    ]


def test_what_is_allocating_is_the_difference_of_current_and_target() -> None:
    made = world(*of(cluster(2), batch(4, 60, 2)), settings=SLOW)
    assert counts(made, 0).allocation_state == "resizing (0 -> 2)"
    assert counts(made, 120).allocation_state == "steady"


@pytest.mark.parametrize(
    ("instances", "most", "n", "concurrency", "nodes"),
    [(2, 4, 10, 1, 2), (9, 4, 10, 1, 4), (4, 4, 3, 1, 3), (4, 4, 5, 2, 3), (4, 4, 1, 2, 1)],
)
def test_a_job_seeks_no_more_nodes_than_it_may_have_or_needs(
    instances: int, most: int, n: int, concurrency: int, nodes: int
) -> None:
    made = world(*of(cluster(most), batch(n, 60, instances, concurrency=concurrency)))
    assert counts(made, 1).running == nodes


def test_more_instances_than_nodes_are_warned_of_and_can_be_refused() -> None:
    made = world(AddCluster(cluster(2)))
    events = engine.apply(made, SubmitBatch(batch(9, 60, 3)))
    assert "WARNING" in [event.event for event in events]
    engine.apply(made, Configure(replace(AT_ONCE, reject_excess_instances=True)))
    with pytest.raises(Refused, match="instance_count is 3, but cluster `c` has at most 2 nodes"):
        engine.apply(made, SubmitBatch(batch(9, 60, 3, name="k")))


def test_an_idle_node_goes_when_its_time_is_over_and_not_before() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)))
    assert (states(made, 179), states(made, 180)) == (["IDLE"] * 2, [])


def test_a_node_that_idles_while_others_run_goes_as_well() -> None:
    made = world(*of(cluster(2), batch(3, 300, 2)))
    assert states(made, 300 + 121) == ["RUNNING"]
    assert billed(made, EVER) == (300 + 120) + (600 + 120)


@pytest.mark.parametrize("watched", [True, False])
def test_a_node_that_still_waits_when_its_work_is_done_is_not_wanted_any_more(
    watched: bool,
) -> None:
    job = of(cluster(2), batch(2, 60, 2))
    made = world(SetCapacity(Constant(1)), *job, watched=watched)
    assert (states(made, 59), states(made, 60)) == (["RUNNING", "ALLOCATING"], ["RUNNING"])


def test_the_target_is_never_above_the_maximum() -> None:
    jobs = [SubmitBatch(batch(9, 60, 2, name=name)) for name in "xyz"]
    made = world(AddCluster(cluster(2)), *jobs, settings=SLOW)
    assert counts(made, 0).allocation_state == "resizing (0 -> 2)"


def test_a_job_that_waits_for_several_nodes_is_not_overtaken() -> None:
    made = world(
        AddCluster(cluster(2)),
        SubmitBatch(batch(3, 100, 1, name="first")),
        SubmitTraining(training(1, 50, instance_count=2, name="both")),
        SubmitBatch(batch(1, 10, 1, name="last")),
    )
    assert [ended(made, name).started for name in ("first", "both", "last")] == [0, 300, 350]


def test_a_job_does_not_pay_for_a_node_that_is_kept_for_the_cluster() -> None:
    made = world(*of(cluster(1, 1), batch(1, 60, 1)))
    engine.run(made, DAY)
    assert {one.name: one.node_s for one in usage(made)} == {"c": DAY, "j": 180}


def test_a_job_that_comes_while_nodes_are_idle_needs_no_allocation() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)), settings=SLOW)
    engine.run(made, 150 + 60 + 60)
    engine.apply(made, SubmitBatch(batch(2, 60, 2, name="k")))
    assert ended(made, "k").makespan_s == 60


def test_the_least_nodes_stay_idle_for_ever() -> None:
    made = world(*of(cluster(3, 1), batch(3, 60, 3)))
    assert (states(made, 100), states(made, DAY)) == (["IDLE"] * 3, ["IDLE"])


def test_jobs_take_nodes_in_the_order_in_which_they_were_submitted() -> None:
    jobs = [SubmitBatch(batch(4, 100, 2, name=name)) for name in "xyz"]
    made = world(AddCluster(cluster(3)), *jobs)
    engine.run(made, 50)
    assert [node.job for node in views.nodes(made, "c")] == ["x", "x", "y"]
    assert [ended(made, name).makespan_s for name in "xyz"] == [200, 300, 500]


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
    made = world(SetCapacity(Steps(((50, 0),))), *of(cluster(1), batch(1, 60, 1)), settings=SLOW)
    assert ended(made).makespan_s == 210


def test_low_priority_capacity_is_taken_back_before_the_node_is_there() -> None:
    gap = SetCapacity(Steps(((0, 1), (50, 0), (80, 1))))
    made = world(gap, *of(cluster(1, low=True), batch(1, 60, 1)), settings=SLOW)
    assert (ended(made).makespan_s, ended(made).preempted_nodes) == (80 + 150 + 60, 0)


def test_capacity_of_one_tier_does_not_concern_the_other() -> None:
    made = world(SetCapacity(Constant(0), Tier.LOW_PRIORITY), *of(cluster(1), batch(1, 60, 1)))
    assert ended(made).makespan_s == 60


def test_a_waiting_node_comes_when_there_is_capacity_again() -> None:
    late = SetCapacity(Steps(((0, 0), (500, 1))))
    assert ended(world(late, *of(cluster(1), batch(1, 60, 1)), settings=SLOW)).makespan_s == 710


def test_dedicated_nodes_are_never_preempted() -> None:
    made = world(*of(cluster(2), batch(20, 100, 2), Poisson(50), Shock(50), Script(((10, ALL),))))
    engine.apply(made, SetCapacity(Constant(0)))
    assert (ended(made).makespan_s, ended(made).preempted_nodes) == (1000, 0)
    with pytest.raises(Refused, match="cluster `c` is dedicated: its nodes are never preempted"):
        engine.apply(made, Preempt("c"))


def test_a_preempted_node_stays_listed_and_comes_back_under_its_number() -> None:
    slow = replace(AT_ONCE, replacement_s=100.0, preparation_s=50.0)
    made = world(*of(cluster(2, low=True), batch(40, 60, 2)), settings=slow)
    engine.run(made, 200)
    engine.apply(made, Preempt("c", (0,)))
    seen = [states(made, at)[0] for at in (299, 300, 349, 350)]
    assert seen == ["PREEMPTED", "PREPARING", "PREPARING", "RUNNING"]
    assert [node.birth for node in views.nodes(made, "c")] == [1, 2]


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
    assert [node.birth for node in views.nodes(made, "c")] == [2]


def test_nodes_that_are_not_replaced_stay_lost() -> None:
    once = replace(NO_CANCEL, replace=False)
    made = world(*of(cluster(1, low=True), batch(2, 60, 1), Script(((30, 0),))), settings=once)
    assert states(made, 9 * DAY) == ["PREEMPTED"]


def test_a_job_that_has_ended_does_not_count_what_is_lost_after_it() -> None:
    made = world(*of(cluster(1, low=True), batch(1, 60, 1)))
    engine.run(made, 70)
    engine.apply(made, Preempt("c"))
    assert ended(made).preempted_nodes == 0


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


def test_a_script_takes_the_nodes_that_it_names_at_its_moments() -> None:
    script = Script(((250.0, ALL), (50.0, 1)))
    once = replace(NO_CANCEL, replace=False)
    made = world(*of(cluster(3, low=True), batch(99, 60, 3), script), settings=once)
    engine.run(made, 30)
    assert states(made, 100) == ["RUNNING", "PREEMPTED", "RUNNING"]
    assert states(made, 250) == ["PREEMPTED"] * 3


def test_times_of_a_script_count_from_when_it_was_set() -> None:
    made = world(*of(cluster(2, low=True), batch(99, 60, 2)), settings=NO_CANCEL)
    engine.run(made, 1000)
    engine.apply(made, SetPreemption((Script(((50.0, 0),)),)))
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


def repeated_losses(commands: tuple[object, ...], settings: Settings, until: float) -> float:
    """The mean number of lost nodes."""
    total = 0
    for seed in range(60):
        made = world(*commands, settings=settings, seed=f"shock/{seed}", watched=False)  # type: ignore[arg-type]
        engine.run(made, until)
        total += views.job(made, "j").preempted_nodes
    return total / 60


def test_a_cancelled_job_under_total_shocks_does_not_depend_on_the_number_of_nodes() -> None:
    chance = [
        repeated(2000, "W", of(cluster(nodes, low=True), batch(60 * nodes, 60, nodes), Shock(0.7)))
        for nodes in (1, 5)
    ]
    expected = 1 - 2.718281828**-0.7
    for seen in chance:
        assert abs(z(seen, lambda view: view.status is Status.CANCELED, expected)) < 4


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


def test_a_locked_cluster_is_stuck_at_resizing_from_none_to_none() -> None:
    made = world(AddCluster(cluster(2)), Lock("c"), SubmitBatch(batch(2, 60, 2)))
    assert counts(made, DAY).allocation_state == "resizing (0 -> 0)"
    assert views.job(made, "j").status is Status.QUEUED


def test_an_unlocked_cluster_goes_on() -> None:
    made = world(AddCluster(cluster(2)), Lock("c"), SubmitBatch(batch(2, 60, 2)))
    engine.run(made, HOUR)
    engine.apply(made, Lock("c", locked=False))
    assert ended(made).makespan_s == HOUR + 60


def test_a_locked_cluster_keeps_its_nodes_and_bills_them() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)))
    engine.apply(made, Lock("c"))
    assert billed(made, HOUR) == 2 * HOUR
    with pytest.raises(Refused, match="a resource lock holds it"):
        engine.apply(made, DeleteCluster("c"))


def test_a_node_that_waited_for_capacity_when_the_lock_came_asks_again() -> None:
    made = world(SetCapacity(Constant(0)), *of(cluster(1), batch(1, 60, 1)))
    engine.apply(made, Lock("c"))
    engine.apply(made, SetCapacity(None))
    engine.run(made, HOUR)
    engine.apply(made, Lock("c", locked=False))
    assert ended(made).makespan_s == HOUR + 60


def test_more_nodes_may_come_while_a_job_runs() -> None:
    made = world(*of(cluster(1), batch(20, 60, 4)))
    engine.run(made, 300)
    engine.apply(made, ResizeCluster("c", max_instances=4))
    assert ended(made).makespan_s == 300 + 4 * 60


def test_fewer_nodes_cost_the_mini_batches_that_run_on_the_last_ones_and_no_more() -> None:
    made = world(*of(cluster(4), batch(40, 60, 4)))
    engine.run(made, 330)
    engine.apply(made, ResizeCluster("c", max_instances=2))
    view = ended(made)
    assert (view.makespan_s, view.lost_node_s, view.preempted_nodes) == (300 + 10 * 60, 60, 0)


def test_fewer_nodes_leave_those_with_the_lowest_numbers() -> None:
    made = world(*of(cluster(4), batch(40, 60, 4)))
    engine.run(made, 330)
    engine.apply(made, ResizeCluster("c", max_instances=2))
    assert [node.number for node in views.nodes(made, "c")] == [0, 1]


def test_another_minimum_is_kept_from_then_on() -> None:
    made = world(AddCluster(cluster(4)))
    engine.apply(made, ResizeCluster("c", min_instances=2))
    assert states(made, DAY) == ["IDLE"] * 2
    engine.apply(made, ResizeCluster("c", min_instances=0))
    assert states(made, DAY + 1) == []


def test_another_idle_time_holds_for_nodes_that_are_idle_already() -> None:
    made = world(*of(cluster(1), batch(1, 60, 1)))
    engine.run(made, 100)
    engine.apply(made, ResizeCluster("c", idle_s=1000))
    assert (states(made, 1059), states(made, 1060)) == (["IDLE"], [])


def test_a_deleted_cluster_fails_its_jobs_and_keeps_its_bill() -> None:
    made = world(*of(cluster(2), batch(20, 60, 2)))
    engine.run(made, 100)
    engine.apply(made, DeleteCluster("c"))
    assert views.job(made, "j").status is Status.FAILED
    assert [(one.kind, one.node_s, one.gone) for one in usage(made)] == [
        ("cluster", 200, True),
        ("job", 200, True),
    ]


def test_a_cluster_made_again_under_its_name_is_another_one() -> None:
    made = world(*of(cluster(2, low=True), batch(20, 60, 2), Poisson(0.1)))
    engine.run(made, 100)
    engine.apply(made, DeleteCluster("c"))
    engine.apply(made, AddCluster(cluster(2, 2, low=True)))
    assert billed(made) == 200
    assert states(made, 100) == ["IDLE"] * 2


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


def test_a_node_that_turns_out_unusable_bills_until_it_is_recycled() -> None:
    bad = replace(AT_ONCE, p_unusable=1.0, unusable_recycle_s=600.0)
    made = world(*of(cluster(1), batch(1, 60, 1)), settings=bad)
    assert states(made, 1) == ["UNUSABLE"]
    assert billed(made, 601) == 601
    engine.apply(made, Configure(AT_ONCE))
    assert ended(made).makespan_s == 1260


def test_a_node_that_leaves_bills_until_it_is_gone() -> None:
    made = world(*of(cluster(1), batch(1, 60, 1)), settings=replace(AT_ONCE, leave_s=30.0))
    assert (states(made, 200), states(made, 210)) == (["LEAVING"], [])
    assert billed(made, DAY) == 60 + 120 + 30


def test_the_least_bill_and_whole_seconds_are_kept() -> None:
    made = world(*of(cluster(1, idle_s=0.5), batch(1, 60.4, 1)))
    assert billed(made, DAY) == 60
    dear = replace(AT_ONCE, min_bill_s=600.0)
    assert billed(world(*of(cluster(1), batch(1, 60, 1)), settings=dear), DAY) == 600


def test_a_price_that_is_not_known_is_not_nothing() -> None:
    made = world(*of(cluster(1), batch(1, HOUR, 1)))
    assert ended(made).cost is None
    priced = world(*of(replace(cluster(1), price=0.5), batch(1, HOUR, 1)))
    assert ended(priced).cost == 0.5


def test_a_job_pays_for_its_nodes_until_another_takes_them_or_they_go() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)))
    engine.run(made, 100)
    engine.apply(made, SubmitBatch(batch(1, 60, 1, name="k")))
    engine.run(made, DAY)
    bills = {one.name: one.node_s for one in usage(made)}
    assert bills == {"c": 180 + 100 + 60 + 120, "j": 180 + 100, "k": 60 + 120}


def test_a_cancelled_job_gives_its_nodes_back() -> None:
    made = world(*of(cluster(2), batch(20, 60, 2)))
    engine.run(made, 90)
    engine.apply(made, CancelJob("j"))
    assert (states(made, 91), states(made, 210)) == (["IDLE"] * 2, [])
    assert views.job(made, "j").status is Status.CANCELED


def test_what_is_not_there_is_unknown() -> None:
    made = world()
    for asked in (DeleteCluster("c"), CancelJob("j"), SubmitBatch(batch(1, 1, 1)), Lock("c")):
        with pytest.raises(Unknown, match="there is no"):
            engine.apply(made, asked)


@pytest.mark.parametrize("delay", [0.0, 100.0])
def test_the_delays_vary_about_their_mean(delay: float) -> None:
    varied = replace(AT_ONCE, preparation_s=delay, delay_cv=0.5)
    seen = repeated(2000, f"delay/{delay}", of(cluster(1), batch(1, 60, 1)), varied)
    spread = [view.makespan_s or 0 for view in seen]
    assert sum(spread) / 2000 == pytest.approx(60 + delay, abs=4 * 50 / 2000**0.5)
    assert (len(set(spread)) > 1) == (delay > 0)
