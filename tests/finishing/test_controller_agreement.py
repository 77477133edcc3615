"""What `finish` does is the history that `simulate` shows for the seed."""

from __future__ import annotations

import pytest

from mlctl.simulator.engine.model import Tier
from tests.finishing.worlds import (
    begun,
    by_chance,
    ordered,
    training_by_chance,
    training_ordered,
)


def differs(number: int, *, trains: bool = False) -> str:
    """How the two differ in a world; "" where they agree in time, cost, runs and changes."""
    world, deadline_s = training_by_chance(number) if trains else by_chance(number)
    [history] = world.study.histories(range(number, number + 1))
    order = training_ordered if trains else ordered
    controller = begun(world, order(world, deadline_s))
    controller.carry_out()
    progress = controller.progress
    ended = progress.runs[-1].ended
    assert ended is not None
    took = ended - progress.began
    world.backend.wait(7200.0)  # until idle nodes are gone
    billed = dict.fromkeys(Tier, 0.0)
    for run in progress.runs:
        look = controller.cloud.find(run.name)
        assert look is not None
        billed[run.tier] += look.node_s or 0.0
    ours = (len(progress.runs), took, billed[Tier.LOW_PRIORITY], billed[Tier.DEDICATED])
    theirs = (history.tries, history.done_s, history.low_s, history.dedicated_s)
    return "" if ours == pytest.approx(theirs, abs=1e-3) else f"{number}: {ours} {theirs}"


@pytest.mark.parametrize("number", range(10))
def test_what_is_done_is_the_history_of_the_seed(number: int) -> None:
    assert not differs(number)


@pytest.mark.parametrize("number", range(10))
def test_a_training_job_goes_the_way_of_its_history_too(number: int) -> None:
    assert not differs(number, trains=True)


@pytest.mark.slow
def test_three_hundred_training_jobs_agree() -> None:
    assert not [why for number in range(300) if (why := differs(number, trains=True))]


@pytest.mark.slow
def test_three_hundred_worlds_agree() -> None:
    assert not list(filter(None, map(differs, range(300))))
