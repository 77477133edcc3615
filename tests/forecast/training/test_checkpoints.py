"""Checkpoints in closed form: against known numbers, by hand, and against the laws they obey."""

from __future__ import annotations

from math import exp, expm1, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.forecast.training.checkpoints import NodeLosses, Steps, best, daly, expected, young

HOUR = 3600
HALF = NodeLosses(0.5 / HOUR)  # one loss in two hours

works = st.builds(
    Steps,
    st.integers(1, 400),
    st.floats(1, 600),
    st.floats(0, 300),
    st.floats(0, 300),
)
rates = st.just(0.0) | st.floats(1e-12, 1.0 / HOUR)  # per second
losses = st.builds(NodeLosses, rates, st.floats(0, 900), st.floats(0, 900), st.floats(0, 300))


def test_points_are_logged_again_without_checkpoints() -> None:
    """q(1-q^n) / ((1-q) q^n) points, and (e^(rate L) - 1) / rate of time."""
    found = expected(Steps(100, 60), 0, HALF)
    assert found.points == pytest.approx(155.4675, abs=1e-4)
    assert found.time_s / 60 == pytest.approx(156.117, abs=1e-3)
    assert found.interruptions == pytest.approx(expm1(0.5 * 100 / 60))


def test_free_checkpoints_every_ten_steps_leave_few_points_to_repeat() -> None:
    assert expected(Steps(100, 60), 10, HALF).points == pytest.approx(103.8509, abs=1e-4)


def test_a_file_is_a_step_where_a_mini_batch_is_a_checkpoint() -> None:
    """The periodic optimum: (1 + W(-e^(-h rate - 1))) / rate, 593.35 of 1 s with 10 s each."""
    work, rate = Steps(1_000_000, 1.0, 10.0), 0.2 / HOUR
    assert best(work, NodeLosses(rate)) == pytest.approx(593.35, abs=4)
    assert young(work, rate) == 600
    assert daly(work, rate) == pytest.approx(593.35, abs=1)
    each = {
        every: expected(work, every, NodeLosses(rate)).time_s / 1e6 for every in (10, 593, 5000)
    }
    assert each[593] == pytest.approx(1.03409, abs=1e-4)
    assert each[10] == pytest.approx(2.0011, abs=1e-3)
    assert each[5000] == pytest.approx(1.1553, abs=1e-3)


def test_the_way_to_a_node_is_taken_again_when_it_is_lost_while_it_is_prepared() -> None:
    rate, way, ready = 2 / HOUR, 180.0, 120.0
    found = expected(Steps(1, 60), 0, NodeLosses(rate, 90.0, way, ready))
    prepared = expm1(rate * ready) / rate
    again = prepared + exp(rate * ready) * way
    first = 90 + prepared + expm1(rate * ready) * way
    assert found.time_s == pytest.approx(first + expm1(rate * 60) / rate + expm1(rate * 60) * again)


def test_a_restore_is_paid_by_each_try_but_the_first() -> None:
    rate, length, restore = 1 / HOUR, 600.0, 300.0
    one = expected(Steps(10, 60, 0, restore), 0, NodeLosses(rate))
    two = expected(Steps(20, 60, 0, restore), 10, NodeLosses(rate))
    lost = -expm1(-rate * length)
    later = -expm1(-rate * length) / rate + lost * expm1(rate * (length + restore)) / rate
    assert two.time_s - one.time_s == pytest.approx(later)
    again = lost * exp(rate * (length + restore))  # tries after the first
    assert two.interruptions - one.interruptions == pytest.approx(again)
    step = exp(-rate * 60)
    logged = step * (1 - step**10) / (1 - step)
    assert two.points - one.points == pytest.approx(logged * (1 + again * exp(-rate * restore)))


@given(works, st.integers(0, 500))
def test_without_losses_there_is_nothing_but_the_work(work: Steps, every: int) -> None:
    found = expected(work, every, NodeLosses(0.0, 90.0, 180.0, 60.0))
    written = (work.count - 1) // every if every else 0
    plain = work.count * work.step_s + written * work.checkpoint_s
    assert isclose(found.time_s, 150 + plain)
    assert isclose(found.billed_s, 60 + plain)
    assert (found.points, found.interruptions) == (work.count, 0)


@given(works, losses, st.integers(0, 500))
def test_no_interval_beats_the_best_one(work: Steps, losses: NodeLosses, every: int) -> None:
    least = expected(work, best(work, losses), losses).time_s
    assert least <= expected(work, every, losses).time_s * (1 + 1e-9)


@given(works, losses, st.integers(0, 500))
def test_more_losses_take_longer_and_repeat_more(
    work: Steps, losses: NodeLosses, every: int
) -> None:
    more = NodeLosses(losses.rate * 1.5, losses.first_s, losses.again_s, losses.preparation_s)
    calm, worse = (expected(work, every, one) for one in (losses, more))
    assert worse.time_s >= calm.time_s * (1 - 1e-12)
    assert worse.points >= calm.points * (1 - 1e-12)
    assert calm.billed_s <= calm.time_s * (1 + 1e-12)
    assert calm.points >= work.count * (1 - 1e-12)


@given(works, losses)
def test_an_interval_as_long_as_the_work_is_none(work: Steps, losses: NodeLosses) -> None:
    assert expected(work, work.count, losses) == expected(work, 0, losses)


def test_nobody_proposes_an_interval_where_nothing_is_lost() -> None:
    assert (young(Steps(9, 1), 0.0), daly(Steps(9, 1), 0.0)) == (None, None)
    assert best(Steps(100, 60, 30), NodeLosses(0.0)) == 0


def test_a_checkpoint_that_takes_longer_than_a_node_lives_is_written_once_in_a_life() -> None:
    assert daly(Steps(10_000, 1, 7200), 1 / HOUR) == HOUR
