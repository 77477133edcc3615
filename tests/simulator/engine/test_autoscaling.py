"""Clusters: autoscaling, jobs in turn, locks, resizing and deleting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    CancelJob,
    Configure,
    DeleteCluster,
    EngineError,
    Preempt,
    ResizeCluster,
    SetCapacity,
    SetLock,
    SetQuotas,
    SubmitBatch,
    SubmitTraining,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.processes import Constant, Poisson
from mlctl.simulator.engine.state import NodeState, World
from tests.builders.histories import (
    AT_ONCE,
    DAY,
    EVER,
    HOUR,
    batch,
    billed,
    cluster,
    counts,
    ended,
    of,
    repeated,
    states,
    training,
    world,
)


@pytest.mark.parametrize(("limit", "nodes"), [(8, 2), (11, 2), (12, 3), (1000, 5)])
def test_jobs_get_the_nodes_that_the_quota_allows(limit: int, nodes: int) -> None:
    spec = replace(cluster(5), quotas=(("total", limit),))
    made = world(AddCluster(spec), SubmitBatch(batch(20, 60, 5)))
    assert states(made, 0).count("RUNNING") == nodes
    assert ended(made).makespan_s == 60 * -(-20 // nodes)


def test_a_quota_is_shared_and_holds_up_nobody_else() -> None:
    small, other = (("family", 8), ("total", 16)), (("other", 1000), ("total", 16))
    specs = [
        replace(cluster(5, 4, name="a"), quotas=small),
        replace(cluster(5, 2, name="b"), quotas=small),
        replace(cluster(5, 4, name="c"), quotas=other),
    ]
    made = world(*map(AddCluster, specs))
    engine.run(made, 1)
    up = {name: len(made.clusters[name].nodes_by_state[NodeState.IDLE]) for name in "abc"}
    assert up == {"a": 2, "b": 0, "c": 2}


def test_nodes_that_a_quota_keeps_out_do_not_hold_up_those_behind_them() -> None:
    first = replace(cluster(2, 2, name="a"), quotas=(("one", 0),))
    second = replace(cluster(2, 2, name="b"), quotas=(("other", 0),))
    made = world(AddCluster(first), AddCluster(second))
    engine.apply(made, SetQuotas((("other", 8),)))
    engine.run(made, 1)
    assert [len(made.clusters[name].nodes_by_state[NodeState.IDLE]) for name in "ab"] == [0, 2]


def test_nodes_come_when_the_quota_is_raised_and_stay_when_it_is_lowered() -> None:
    made = world(AddCluster(replace(cluster(5, 5), quotas=(("total", 8),))))
    for limit, nodes in ((16, 4), (4, 4), (20, 5)):
        engine.apply(made, SetQuotas((("total", limit),)))
        engine.run(made, made.now + 1)
        assert len(made.clusters["c"].nodes_by_state[NodeState.IDLE]) == nodes


def test_a_node_that_goes_makes_room_for_one_that_waits() -> None:
    first, second = (replace(cluster(2, name=name), quotas=(("total", 8),)) for name in ("a", "b"))
    jobs = (SubmitBatch(batch(2, 60, 2, name=f"j{name}", on=name)) for name in ("a", "b"))
    made = world(AddCluster(first), AddCluster(second), *jobs)
    assert all(engine.finish(made, name, EVER) for name in ("ja", "jb"))
    assert [made.jobs[name].ended for name in ("ja", "jb")] == [60, 240]  # idle for 120 s


SLOW = replace(AT_ONCE, allocation_s=100.0, preparation_s=50.0)


def allocation(made: World, at: float) -> str:
    """The allocation state at a moment, as the portal shows it."""
    found = counts(made, at)
    return f"resizing ({found.current} -> {found.target})" if found.resizing else "steady"


def test_a_new_cluster_has_no_nodes_and_is_steady() -> None:
    new = counts(world(AddCluster(cluster(4))), 0)
    assert (new.current, new.target, new.resizing) == (0, 0, False)


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
    assert allocation(made, 0) == "resizing (0 -> 2)"
    assert allocation(made, 120) == "steady"


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
    with pytest.raises(
        EngineError, match="instance_count is 3, but cluster `c` has at most 2 nodes"
    ):
        engine.apply(made, SubmitBatch(batch(9, 60, 3, name="k")))


def test_an_idle_node_goes_when_its_time_is_over_and_not_before() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)))
    assert (states(made, 179), states(made, 180)) == (["IDLE"] * 2, [])


def test_a_node_that_idles_while_others_run_goes_as_well_if_it_is_released() -> None:
    released = replace(AT_ONCE, release_idle_nodes=True)
    made = world(*of(cluster(2), batch(3, 300, 2)), settings=released)
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
    assert allocation(made, 0) == "resizing (0 -> 2)"


def test_a_job_that_waits_for_several_nodes_is_not_overtaken() -> None:
    made = world(
        AddCluster(cluster(2)),
        SubmitBatch(batch(3, 100, 1, name="first")),
        SubmitTraining(training(1, 50, instance_count=2, name="both")),
        SubmitBatch(batch(1, 10, 1, name="last")),
    )
    assert [ended(made, name).started for name in ("first", "both", "last")] == [0, 300, 350]


def test_a_job_behind_one_that_waits_goes_on_with_the_nodes_that_it_has() -> None:
    made = world(
        AddCluster(cluster(4, low=True)),
        SubmitTraining(training(99, 100, instance_count=2, name="first")),
        SubmitBatch(batch(7, 100, 2, concurrency=2)),
        settings=replace(AT_ONCE, replacement_s=1000.0),
    )
    for at, node in ((140, 0), (150, 2)):
        engine.run(made, at)
        engine.apply(made, Preempt("c", (node,)))
    assert views.job(made, "first").status is JobStatus.QUEUED
    assert ended(made).makespan_s == 300  # the spare slot of node 3 took a lost one at once


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


def test_a_locked_cluster_is_stuck_at_resizing_from_none_to_none() -> None:
    made = world(AddCluster(cluster(2)), SetLock("c"), SubmitBatch(batch(2, 60, 2)))
    assert allocation(made, DAY) == "resizing (0 -> 0)"
    assert views.job(made, "j").status is JobStatus.QUEUED


def test_an_unlocked_cluster_goes_on() -> None:
    made = world(AddCluster(cluster(2)), SetLock("c"), SubmitBatch(batch(2, 60, 2)))
    engine.run(made, HOUR)
    engine.apply(made, SetLock("c", locked=False))
    assert ended(made).makespan_s == HOUR + 60


def test_a_locked_cluster_keeps_its_nodes_and_bills_them() -> None:
    made = world(*of(cluster(2), batch(2, 60, 2)))
    engine.apply(made, SetLock("c"))
    assert billed(made, HOUR) == 2 * HOUR
    with pytest.raises(EngineError, match="a resource lock blocks it"):
        engine.apply(made, DeleteCluster("c"))


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


def test_a_cluster_made_again_under_its_name_is_another_one() -> None:
    made = world(*of(cluster(2, low=True), batch(20, 60, 2), Poisson(0.1)))
    engine.run(made, 100)
    engine.apply(made, DeleteCluster("c"))
    engine.apply(made, AddCluster(cluster(2, 2, low=True)))
    assert billed(made) == 200
    assert states(made, 100) == ["IDLE"] * 2


def test_a_cancelled_job_gives_its_nodes_back() -> None:
    made = world(*of(cluster(2), batch(20, 60, 2)))
    engine.run(made, 90)
    engine.apply(made, CancelJob("j"))
    assert (states(made, 91), states(made, 210)) == (["IDLE"] * 2, [])
    assert views.job(made, "j").status is JobStatus.CANCELED


def test_what_is_not_there_is_unknown() -> None:
    made = world()
    for asked in (DeleteCluster("c"), CancelJob("j"), SubmitBatch(batch(1, 1, 1)), SetLock("c")):
        with pytest.raises(EngineError, match="there is no"):
            engine.apply(made, asked)


@pytest.mark.parametrize("delay", [0.0, 100.0])
def test_the_delays_vary_about_their_mean(delay: float) -> None:
    varied = replace(AT_ONCE, preparation_s=delay, delay_cv=0.5)
    seen = repeated(2000, f"delay/{delay}", of(cluster(1), batch(1, 60, 1)), varied)
    spread = [view.makespan_s or 0 for view in seen]
    assert sum(spread) / 2000 == pytest.approx(60 + delay, abs=4 * 50 / 2000**0.5)
    assert (len(set(spread)) > 1) == (delay > 0)
