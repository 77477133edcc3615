"""Training jobs: steps, checkpoints, restarts."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import engine, views
from mlctl.simulator.engine.commands import Preempt, SubmitTraining
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import ClusterSpec, Tier
from mlctl.simulator.engine.processes import LossScript, Poisson
from tests.builders.histories import (
    AT_ONCE,
    HOUR,
    cluster,
    ended,
    lost_at,
    of,
    repeated,
    steps,
    training,
    world,
    z,
)


def test_a_training_job_goes_on_from_its_last_complete_checkpoint() -> None:
    job = training(100, 10, checkpoint_every=10, checkpoint_s=5.0, restore_s=20.0)
    view = ended(world(*of(cluster(1, low=True), job, LossScript(((255, 0),)))))
    # Two checkpoints by 210, 4 steps and a half lost; then 20 to restore, 80 steps, 7 checkpoints.
    assert (view.makespan_s, view.lost_node_s) == (255 + 20 + 800 + 35, 45)
    assert (steps(view).restarts, steps(view).metric_count) == (1, 104)


def test_a_checkpoint_that_is_cut_off_is_ignored() -> None:
    job = training(30, 10, checkpoint_every=10, checkpoint_s=50.0)
    view = ended(world(*of(cluster(1, low=True), job, LossScript(((280, 0),)))))
    assert (steps(view).partial_checkpoints, steps(view).metric_count) == ((20,), 40)
    assert view.makespan_s == 280 + 200 + 50


def test_without_checkpoints_a_restarted_job_begins_at_nothing() -> None:
    view = ended(world(*of(cluster(1, low=True), training(5, 10), LossScript(((25, 0),)))))
    seen = [step for _, step in steps(view).metrics]
    assert seen == [1, 2, 1, 2, 3, 4, 5]


def test_a_step_that_ends_with_the_node_has_ended() -> None:
    made = world(*of(cluster(1, low=True), training(5, 10), LossScript(((20, 0),))))
    engine.run(made, 20)
    assert steps(views.job(made, "j")).metric_count == 2


def test_a_training_job_on_several_nodes_waits_for_all_and_stops_with_any() -> None:
    late = replace(AT_ONCE, replacement_s=100.0)
    made = world(*of(cluster(2, low=True), training(10, 10, instance_count=2)), settings=late)
    view = lost_at(55, (1,), made)
    assert (view.status, view.lost_node_s) == (JobStatus.QUEUED, 110)
    assert ended(made).makespan_s == 55 + 100 + 100


def test_a_training_job_is_restarted_any_number_of_times_or_not_at_all() -> None:
    often = LossScript(tuple((at, 0) for at in range(50, 500, 50)))
    made = of(cluster(1, low=True), training(9, 10), often)
    assert steps(ended(world(*made))).restarts == 9
    never = replace(AT_ONCE, training_auto_restart=False)
    view = ended(world(*made, settings=never))
    assert (view.status, view.makespan_s) == (JobStatus.CANCELED, 50)


def test_a_training_job_is_cancelled_when_its_time_is_over() -> None:
    view = ended(world(*of(cluster(1), training(100, 10, max_runtime_s=125.0))))
    assert (view.status, view.makespan_s, steps(view).metric_count) == (JobStatus.CANCELED, 125, 12)


def test_a_serverless_job_has_a_cluster_of_its_own_while_it_runs() -> None:
    own = ClusterSpec("own", Tier.LOW_PRIORITY, price=1.0)
    job = training(60, 60, cluster="", serverless=own, checkpoint_every=1)
    made = world(SubmitTraining(job))
    engine.run(made, 0)
    assert views.counts(made, "own").running == 1
    engine.apply(made, Preempt("own"))
    view = ended(made)
    assert (view.status, view.cost, list(made.clusters)) == (JobStatus.COMPLETED, 1.0, [])


def test_checkpoints_that_cost_nothing_never_lengthen_a_job() -> None:
    chance = Poisson(1.0)
    runs = [
        repeated(
            300, "free", of(cluster(1, low=True), training(60, 60, checkpoint_every=k), chance)
        )
        for k in (0, 10)
    ]
    for without, with_checkpoints in zip(*runs, strict=True):
        assert (with_checkpoints.makespan_s or 0) <= (without.makespan_s or 0) + 1e-6
    assert z(runs[0], lambda view: view.makespan_s or 0, (2.718281828 - 1) * HOUR) < 4


def test_every_logged_step_says_which_run_it_is_of() -> None:
    """A run that is lost before it logs beyond the checkpoint counts, though no step jumps back."""
    losses = LossScript(((1500.0, 0), (2600.0, 0)))
    job = training(60, 60, checkpoint_every=10, checkpoint_s=30.0)
    settings = replace(AT_ONCE, allocation_s=180.0, preparation_s=60.0)
    view = ended(world(*of(cluster(1, low=True), job, losses), settings=settings))
    assert steps(view).restarts == 2
    assert {*steps(view).metric_runs} == {1, 2, 3}
    assert len(steps(view).metric_runs) == len(steps(view).metrics)
