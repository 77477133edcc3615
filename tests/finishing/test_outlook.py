"""What is still to come of a job, from what has happened so far."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.finishing.controller import Controller
from mlctl.finishing.outlook import Outlook, build_job_study, forecast_outlook
from mlctl.finishing.progress import Progress, RunState
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.simulator.engine.model import HOUR
from mlctl.simulator.engine.processes import Poisson, PreemptionProcess
from tests.finishing.worlds import World, begun, ordered, trained, training_ordered, world


def seen(
    of: World, deadline_s: float | None, only: int | None = None
) -> list[tuple[float, Outlook | None]]:
    """The outlook at each record of a job that is carried out (or at one), and when that was."""
    order = ordered(of, deadline_s)
    looks: list[tuple[float, Outlook | None]] = []
    controller: Controller = begun(of, order)

    def look(_: object) -> None:
        now, is_asked = of.backend.now(), only in (None, len(looks))
        coming = forecast_outlook(of.study, controller.progress, now) if is_asked else None
        looks.append((now, coming))

    controller.on_record = look
    controller.carry_out()
    return looks


def test_where_nothing_is_left_to_chance_it_is_what_then_happens() -> None:
    calm = world(1, (), RecoveryPolicy(Way.REMAINING, shards=4), None)
    looks = seen(calm, 2 * HOUR)
    (ended, last), submits = looks[-2], looks[:-2:2]
    assert last is None  # it is done
    assert len(submits) == 4
    for at, coming in submits:
        assert coming is not None
        assert coming.left_s == pytest.approx(ended - at, abs=1)
        assert coming.late == 0


@pytest.mark.slow
def test_what_happens_moves_how_likely_it_is_late() -> None:
    policy, deadline_s = RecoveryPolicy(Way.REMAINING, shards=4), 1.5 * HOUR
    for seed, is_late in ((1, True), (4, False)):
        stormy = world(seed, (Poisson(1.0),), policy, None, nodes=1)
        looks = seen(stormy, deadline_s)
        late = [
            coming.late for _, coming in looks if coming is not None and coming.late is not None
        ]
        assert 0.1 < late[0] < 0.25  # the same for both: nothing has happened yet
        assert (late[-1] == 1.0) if is_late else (late[-1] < 0.05)


@pytest.mark.slow
def test_of_jobs_that_are_late_with_some_chance_so_many_are() -> None:
    policy, deadline_s = RecoveryPolicy(Way.REMAINING, shards=4), 1.4 * HOUR
    expected, late = [], 0
    for seed in range(120):
        stormy = world(seed, (Poisson(1.0),), policy, None, nodes=1)
        looks = seen(stormy, deadline_s, only=2)
        coming = looks[2][1]  # the second shard, or the first one again, was submitted
        assert coming is not None
        assert coming.late is not None
        expected.append(coming.late)
        late += looks[-1][0] - looks[0][0] > deadline_s
    variance = sum(chance * (1 - chance) for chance in expected)
    assert late == pytest.approx(sum(expected), abs=3 * variance**0.5)


def test_histories_in_which_the_run_under_way_has_ended_do_not_count() -> None:
    stormy = world(3, (Poisson(2.0),), RecoveryPolicy(Way.REMAINING, shards=1), None, nodes=1)
    order = ordered(stormy)
    progress = Progress(order, 0.0)
    progress.add({"event": "submit", "run": "a", "shard": 0, "tier": "low_priority", "at": 0.0})
    first = forecast_outlook(stormy.study, progress, 0.0)
    later = forecast_outlook(stormy.study, progress, 1800.0)
    assert first is not None
    assert later is not None
    assert later.left_s < first.left_s  # half an hour without a loss is half an hour less


def test_the_policy_goes_on_by_its_own_line_to_the_deadline() -> None:
    deadline_s = 2.5 * HOUR
    policy = RecoveryPolicy(Way.UNIFORM_PROGRESS, shards=4)
    there = world(3, (Poisson(3.0),), policy, deadline_s, nodes=1)
    progress = Progress(ordered(there, deadline_s), 0.0)
    outlooks = [forecast_outlook(there.study, progress, at) for at in (0.0, 1.3 * HOUR)]
    first, later = outlooks
    assert first is not None
    assert later is not None
    assert later.cost > first.cost  # what is behind its line goes on dedicated nodes
    assert first.late is not None
    assert first.late <= 0.05


def training(*processes: PreemptionProcess, deadline_s: float) -> Progress:
    """A training job of 200 steps of half a minute, whose first run was submitted a moment ago."""
    of = trained(1, processes, RecoveryPolicy(Way.DEADLINE), deadline_s)
    progress = Progress(training_ordered(of, deadline_s), 0.0)
    facts = {"run": "a", "shard": 0, "tier": "low_priority", "resumes": "", "first": 0}
    progress.add({"event": "submit", "at": 0.0, **facts})
    return progress


def test_a_training_run_that_goes_on_is_told_of_by_the_steps_in_its_checkpoints() -> None:
    progress = training(deadline_s=4 * HOUR)
    study = build_job_study(progress.order)
    whole = forecast_outlook(study, progress, 0.0)
    half = forecast_outlook(study, progress, 3600.0, RunState("Running", 100, saved=100))
    assert whole is not None
    assert half is not None
    assert whole.left_s == pytest.approx(200 * 30 + 240, abs=120)  # and its nodes come first
    assert half.left_s == pytest.approx(100 * 30, abs=30)
    assert (whole.late, half.late) == (0, 0)


def test_a_training_run_without_progress_becomes_likelier_to_be_late() -> None:
    progress = training(deadline_s=2.2 * HOUR)
    stormy = build_job_study(progress.order)
    stormy = replace(stormy, scenario=stormy.scenario.under((Poisson(1.0),)))
    slow, quick = (
        forecast_outlook(stormy, progress, 4000.0, RunState("Running", saved, saved=saved))
        for saved in (10, 110)
    )
    assert slow is not None
    assert quick is not None
    assert quick.left_s < slow.left_s
    assert quick.cost < slow.cost  # what is behind goes on dedicated nodes in time


def test_each_look_at_a_run_that_goes_on_is_told() -> None:
    of = trained(1, (), RecoveryPolicy(Way.REMAINING), None)
    controller = begun(of, training_ordered(of))
    steps: list[int | None] = []
    controller.cloud.on_state = lambda state: steps.append(state.saved)
    controller.carry_out()
    assert len({*steps}) >= 5
