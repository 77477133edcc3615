"""Bills: what nodes cost, and who pays."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    Configure,
    DeleteCluster,
    Preempt,
    SubmitBatch,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import (
    AT_ONCE,
    DAY,
    HOUR,
    batch,
    billed,
    cluster,
    ended,
    of,
    states,
    world,
)


def test_a_job_does_not_pay_for_a_node_that_is_kept_for_the_cluster() -> None:
    made = world(*of(cluster(1, 1), batch(1, 60, 1)))
    engine.run(made, DAY)
    assert {one.name: one.node_s for one in usage(made)} == {"c": DAY, "j": 180}


def test_a_job_that_has_ended_does_not_count_what_is_lost_after_it() -> None:
    made = world(*of(cluster(1, low=True), batch(1, 60, 1)))
    engine.run(made, 70)
    engine.apply(made, Preempt("c"))
    assert ended(made).preempted_nodes == 0


def test_a_deleted_cluster_fails_its_jobs_and_keeps_its_bill() -> None:
    made = world(*of(cluster(2), batch(20, 60, 2)))
    engine.run(made, 100)
    engine.apply(made, DeleteCluster("c"))
    assert views.job(made, "j").status is JobStatus.FAILED
    assert [(one.kind, one.node_s, one.gone) for one in usage(made)] == [
        ("cluster", 200, True),
        ("job", 200, True),
    ]


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
