"""The nodes of batch jobs: which they take, how long they hold them, and when they have none."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    Preempt,
    ResizeCluster,
    SubmitBatch,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import BatchWork, PreemptedJob, SingleNode
from tests.builders.histories import (
    AT_ONCE,
    batch,
    billed,
    cluster,
    ended,
    lost_at,
    of,
    world,
)


def test_a_job_on_one_instance_goes_on_elsewhere_on_a_cluster_that_has_other_nodes() -> None:
    """Only "single-node cluster" is said; who reads "single-node job" has a setting."""
    for single_node, status in (("cluster", JobStatus.RUNNING), ("job", JobStatus.CANCELED)):
        settings = replace(AT_ONCE, single_node=SingleNode(single_node))
        made = world(*of(cluster(3, 3, low=True), batch(20, 100, 1)), settings=settings)
        view = lost_at(150, (0,), made)
        assert view.status is status
    assert "if not of its cluster" in view.reason


def test_a_preempted_job_can_end_with_the_error_that_has_been_seen() -> None:
    settings = replace(AT_ONCE, preempted_job_ends=PreemptedJob.FAILED)
    made = world(*of(cluster(1, low=True), batch(20, 100, 1)), settings=settings)
    view = lost_at(150, (0,), made)
    assert view.status is JobStatus.FAILED
    assert view.reason.startswith("PreemptionError: Nodes of this job got pre-empted")


def test_every_job_of_a_cluster_ends_with_its_last_usable_node_if_it_ever_had_one() -> None:
    jobs = [batch(20, 100, 1, name=name) for name in ("a", "b", "late")]
    made = world(AddCluster(cluster(2, low=True)), *map(SubmitBatch, jobs))
    engine.run(made, 150)
    found = {}
    for lost in ((0,), (1,)):
        engine.apply(made, Preempt("c", lost))
        found[lost] = [views.job(made, one.name).status.value for one in jobs]
    assert found == {
        (0,): ["Running", "Running", "Queued"],
        (1,): ["Canceled", "Canceled", "Queued"],
    }


def test_a_node_that_is_lost_while_it_prepares_cancels_no_job_whatever_happened_before() -> None:
    settings = replace(AT_ONCE, preparation_s=100.0)
    made = world(*of(cluster(1, low=True), batch(20, 100, 1)), settings=settings)
    engine.run(made, 150)
    for most in (0, 1):  # the job loses its node, but not by a preemption
        engine.apply(made, ResizeCluster("c", max_instances=most))
    engine.run(made, 200)
    assert lost_at(200, (0,), made).status is JobStatus.RUNNING


def test_a_job_takes_its_own_idle_node_before_one_that_is_nobodys() -> None:
    first, job = batch(1, 150, 1, name="first"), batch(3, 100, 2)
    made = world(AddCluster(cluster(3, 3, low=True)), SubmitBatch(first), SubmitBatch(job))
    engine.run(made, 0)
    engine.run(made, 160)  # node 2 has nothing left to do, and node 0 is nobody's
    log = engine.apply(made, Preempt("c", (1,)))
    assert [event.facts["node"] for event in log if event.event == "DISPATCH"] == [2]


def test_nodes_are_held_until_their_job_completes_and_then_idle_out() -> None:
    """Mini-batches of 100 and 700 s on two nodes: one of them waits for the end for 600 s."""
    work = BatchWork(trace=(100.0, 700.0))
    for releases, cost in ((False, 2 * 700 + 2 * 120), (True, 100 + 700 + 2 * 120)):
        settings = replace(AT_ONCE, release_idle_nodes=releases)
        made = world(*of(cluster(2), batch(2, 0, 2, workload=work)), settings=settings)
        assert ended(made).makespan_s == 700
        assert billed(made, 5000) == cost


def test_nodes_that_are_held_are_nobody_elses() -> None:
    """A job of mini-batches of 1000 and 100 s holds both nodes, unless they are released."""
    work = BatchWork(trace=(1000.0, 100.0))
    for releases, begins in ((False, 1000), (True, 100)):
        settings = replace(AT_ONCE, release_idle_nodes=releases)
        first, second = batch(2, 0, 2, workload=work), batch(1, 10, 1, name="second")
        made = world(
            AddCluster(cluster(2)), SubmitBatch(first), SubmitBatch(second), settings=settings
        )
        assert ended(made, "second").started == begins
