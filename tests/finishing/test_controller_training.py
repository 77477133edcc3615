"""Training jobs that are finished: each run goes on from the last checkpoint that is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlctl.finishing.controller import Controller
from mlctl.finishing.progress import Ending
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import OnOff, Poisson
from tests.finishing.test_controller import Killed
from tests.finishing.worlds import NAME, begun, resumed, trained, training_ordered

OUTAGE = (OnOff(2.0, 2 * HOUR),)
REMAINING, DEADLINE = RecoveryPolicy(Way.REMAINING), RecoveryPolicy(Way.DEADLINE)


def test_what_was_lost_is_no_more_than_the_steps_since_a_checkpoint() -> None:
    stormy = trained(3, OUTAGE, DEADLINE, 4 * HOUR)
    controller = begun(stormy, training_ordered(stormy, 4 * HOUR))
    assert controller.carry_out() is Ending.DONE
    runs = controller.progress.runs
    assert len(runs) > 1
    assert runs[-1].tier is Tier.DEDICATED
    assert runs[-1].first > 0
    bodies = [stormy.backend.jobs.show(run.name).body["properties"] for run in runs]
    assert "kept" in bodies[0]["outputs"]
    for body, run in zip(bodies, runs, strict=True):
        if run.resumes:
            assert body["inputs"]["from"]["uri"].endswith(f"/azureml/{run.resumes}/kept/")
            assert body["run"]["steps"]["saved"] >= run.first
    assert bodies[-1]["run"]["metric_points"] == 200 - runs[-1].first


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_controller_that_is_killed_is_taken_up_and_no_run_begins_twice(when: str) -> None:
    stormy = trained(3, OUTAGE, DEADLINE, 4 * HOUR)
    first = begun(stormy, training_ordered(stormy, 4 * HOUR))
    submit = first.cloud.submit

    def dying(order: Any, run: Any) -> None:
        if when == "after":
            submit(order, run)
        if when == "after" or run.name != NAME:
            raise Killed
        submit(order, run)

    first.cloud.submit = dying  # type: ignore[method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    second = resumed(stormy.backend)
    assert second.carry_out() is Ending.DONE
    names = [run.name for run in second.progress.runs]
    assert names == [NAME, *(f"{NAME}-{number}" for number in range(2, len(names) + 1))]
    assert sorted(job.name for job in stormy.backend.jobs.list()) == sorted(names)


def test_a_run_that_fails_by_itself_is_not_repeated_for_ever() -> None:
    calm = trained(1, (), REMAINING, None, fail_probability=1.0)
    controller = begun(calm, training_ordered(calm))
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert [run.status for run in controller.progress.runs] == ["Failed", "Failed"]
    assert "2 runs failed with the same error: the command failed" in controller.progress.reason


def test_a_checkpoint_with_which_a_run_fails_at_once_is_not_trusted_again() -> None:
    calm = trained(1, (), REMAINING, None)
    controller = begun(calm, training_ordered(calm, give_up_after=9))
    ends = iter([("Canceled", 50), ("Canceled", 90), ("Failed", None), ("Failed", None)])
    noted: list[Mapping[str, Any]] = []
    controller.on_record = noted.append

    def ended(self: Controller, run: Any) -> None:
        status, saved = next(ends, ("Completed", None))
        facts = {} if saved is None else {"saved": saved}
        self._write("ended", run=run.name, status=status, node_s=1.0, reason="", **facts)

    controller._watch = ended.__get__(controller)  # type: ignore[method-assign]
    assert controller.carry_out() is Ending.DONE
    begins = [(run.resumes, run.first) for run in controller.progress.runs]
    assert begins == [("", 0), (NAME, 50), (f"{NAME}-2", 90), (NAME, 50), ("", 0)]


def test_a_budget_is_held_against_the_steps_that_are_left() -> None:
    stormy = trained(3, (Poisson(1.0),), REMAINING, None)
    order = training_ordered(stormy)
    controller = begun(
        stormy, training_ordered(stormy, max_cost=order.step_cost(199, Tier.LOW_PRIORITY))
    )
    assert controller.carry_out() is Ending.OVER_BUDGET
    assert not controller.progress.runs


def test_cancelling_cancels_the_run_and_removes_the_twin() -> None:
    stormy = trained(3, OUTAGE, DEADLINE, 4 * HOUR)
    controller = begun(stormy, training_ordered(stormy, 4 * HOUR))
    controller._watch = lambda run: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]
    with pytest.raises(Killed):
        controller.carry_out()
    assert resumed(stormy.backend).cancel() is Ending.CANCELLED
    assert {job.status for job in stormy.backend.jobs.list()} == {"Canceled"}
