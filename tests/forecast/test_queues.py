"""Waiting in closed form: against known numbers, and against the laws that it obeys."""

from __future__ import annotations

from math import factorial, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.forecast.queues import Queue, erlang_c, wait, wait_at


def test_two_thirds_of_the_jobs_find_a_free_one_of_three_servers_that_are_two_thirds_busy() -> None:
    """Erlang C of 3 servers at 2 erlang is 4/9."""
    assert erlang_c(3, 2.0) == pytest.approx(4 / 9)


def test_one_server_makes_jobs_wait_as_often_as_it_is_busy() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)


def test_equal_times_halve_the_wait_at_one_server() -> None:
    fixed, random = (wait(Queue(1, 0.7 / 60, 60, cv)) for cv in (0.0, 1.0))
    assert random == pytest.approx(0.7 * 60 / 0.3)
    assert fixed == pytest.approx(0.7 * 60 / 0.3 / 2)


def test_the_tail_of_the_wait_is_exponential() -> None:
    queue = Queue(3, 2 / 60, 60, 1.0)
    assert wait_at(queue, 0.95) == pytest.approx(log(4 / 9 / 0.05) * 60)
    assert wait_at(queue, 0.5) == 0.0


def test_a_queue_that_grows_without_end_is_waited_in_for_ever() -> None:
    assert wait(Queue(2, 2 / 60, 60, 0.0)) == inf


def test_several_servers_with_equal_times_have_no_closed_form() -> None:
    assert wait(Queue(2, 1 / 60, 60, 0.0)) is None
    assert wait_at(Queue(1, 0.5 / 60, 60, 0.0), 0.95) is None


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_erlang_c_is_the_sum_that_it_stands_for(servers: int, busy: float) -> None:
    load = servers * busy
    last = load**servers / factorial(servers) / (1 - busy)
    others = sum(load**number / factorial(number) for number in range(servers))
    assert erlang_c(servers, load) == pytest.approx(last / (others + last))


@given(st.integers(1, 40), st.floats(0.01, 0.98))
def test_one_more_server_shortens_the_wait(servers: int, busy: float) -> None:
    rate = servers * busy / 60
    fewer, more = (wait(Queue(count, rate, 60, 1.0)) for count in (servers, servers + 1))
    assert fewer is not None
    assert more is not None
    assert more < fewer
