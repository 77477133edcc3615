"""Tasks by turns, and in threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import pytest

from mlctl.applying.schedulers import Crew, Threads, Turns, Until


class Clock:
    """A clock that stands where the last task that waited left it."""

    def __init__(self) -> None:
        self.now = 0.0

    def task(self, name: str, *waits: float) -> Iterator[str | Until]:
        """Tell when it is there, at first and after each wait."""
        yield f"{name} {self.now:g}"
        for seconds in waits:
            until = self.now + seconds
            yield Until(until)
            self.now = max(self.now, until)
            yield f"{name} {self.now:g}"


def told(crew: Crew[str], count: int) -> list[str]:
    """The next things that tasks tell."""
    return [crew.told() for _ in range(count)]


def turns(clock: Clock, parallelism: int = 9) -> Turns[str]:
    """A crew on this clock."""
    return Turns(parallelism, lambda: clock.now)


def test_tasks_that_wait_share_the_time_that_passes() -> None:
    clock = Clock()
    crew = turns(clock)
    for name, waits in (("a", (60.0,)), ("b", (20.0, 90.0)), ("c", (60.0,))):
        crew.start(clock.task(name, *waits))
    assert told(crew, 7) == ["a 0", "b 0", "c 0", "b 20", "a 60", "c 60", "b 110"]


def test_no_more_tasks_run_at_once_than_the_crew_has() -> None:
    clock = Clock()
    crew = turns(clock, 2)
    for name in "abc":
        crew.start(clock.task(name, 10))
    assert told(crew, 6) == ["a 0", "b 0", "a 10", "b 10", "c 10", "c 20"]


def test_what_a_task_makes_possible_begins_before_time_passes() -> None:
    clock = Clock()
    crew = turns(clock)
    crew.start(clock.task("long", 60))
    crew.start(clock.task("short", 20))
    assert told(crew, 3)[-1] == "short 20"
    crew.start(clock.task("next", 10))
    assert told(crew, 3) == ["next 20", "next 30", "long 60"]


def test_what_waits_for_nothing_goes_on_at_once() -> None:
    clock = Clock()
    crew = turns(clock)
    crew.start(iter([Until(), "done"]))
    crew.start(clock.task("other", 5))
    assert told(crew, 2) == ["done", "other 0"]


@pytest.mark.parametrize("crew", [Threads[str](1), turns(Clock(), 1)])
def test_what_a_task_raises_is_raised_to_who_listens(crew: Crew[str]) -> None:
    def fails() -> Iterator[str]:
        yield "begun"
        raise LookupError

    with closing(crew):
        crew.start(fails())
        assert crew.told() == "begun"
        with pytest.raises(LookupError):
            crew.told()


def test_threads_tell_all_that_their_tasks_tell() -> None:
    with closing(Threads[str](3)) as crew:
        for name in "abcde":
            crew.start(islice(Clock().task(name, 1), None))
        assert sorted(told(crew, 10)) == sorted(f"{name} {at}" for name in "abcde" for at in (0, 1))
