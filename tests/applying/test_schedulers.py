"""Tasks by turns, and in threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import pytest

from mlctl.applying.schedulers import Scheduler, ThreadScheduler, VirtualTimeScheduler, WaitUntil


class Clock:
    """A clock that stands where the last task that waited left it."""

    def __init__(self) -> None:
        self.now = 0.0

    def task(self, name: str, *waits: float) -> Iterator[str | WaitUntil]:
        """Tell when it is there, at first and after each wait."""
        yield f"{name} {self.now:g}"
        for seconds in waits:
            until = self.now + seconds
            yield WaitUntil(until)
            self.now = max(self.now, until)
            yield f"{name} {self.now:g}"


def next_events(scheduler: Scheduler[str], count: int) -> list[str]:
    """The next things that tasks tell."""
    return [scheduler.next_event() for _ in range(count)]


def virtual_scheduler(clock: Clock, parallelism: int = 9) -> VirtualTimeScheduler[str]:
    """A scheduler on this clock."""
    return VirtualTimeScheduler(parallelism, lambda: clock.now)


def test_tasks_that_wait_share_the_time_that_passes() -> None:
    clock = Clock()
    scheduler = virtual_scheduler(clock)
    for name, waits in (("a", (60.0,)), ("b", (20.0, 90.0)), ("c", (60.0,))):
        scheduler.start(clock.task(name, *waits))
    assert next_events(scheduler, 7) == ["a 0", "b 0", "c 0", "b 20", "a 60", "c 60", "b 110"]


def test_no_more_tasks_run_at_once_than_the_crew_has() -> None:
    clock = Clock()
    scheduler = virtual_scheduler(clock, 2)
    for name in "abc":
        scheduler.start(clock.task(name, 10))
    assert next_events(scheduler, 6) == ["a 0", "b 0", "a 10", "b 10", "c 10", "c 20"]


def test_what_a_task_makes_possible_begins_before_time_passes() -> None:
    clock = Clock()
    scheduler = virtual_scheduler(clock)
    scheduler.start(clock.task("long", 60))
    scheduler.start(clock.task("short", 20))
    assert next_events(scheduler, 3)[-1] == "short 20"
    scheduler.start(clock.task("next", 10))
    assert next_events(scheduler, 3) == ["next 20", "next 30", "long 60"]


def test_what_waits_for_nothing_goes_on_at_once() -> None:
    clock = Clock()
    scheduler = virtual_scheduler(clock)
    scheduler.start(iter([WaitUntil(), "done"]))
    scheduler.start(clock.task("other", 5))
    assert next_events(scheduler, 2) == ["done", "other 0"]


@pytest.mark.parametrize("scheduler", [ThreadScheduler[str](1), virtual_scheduler(Clock(), 1)])
def test_what_a_task_raises_is_raised_to_who_listens(scheduler: Scheduler[str]) -> None:
    def fails() -> Iterator[str]:
        yield "begun"
        raise LookupError

    with closing(scheduler):
        scheduler.start(fails())
        assert scheduler.next_event() == "begun"
        with pytest.raises(LookupError):
            scheduler.next_event()


def test_threads_tell_all_that_their_tasks_tell() -> None:
    with closing(ThreadScheduler[str](3)) as scheduler:
        for name in "abcde":
            scheduler.start(islice(Clock().task(name, 1), None))
        assert sorted(next_events(scheduler, 10)) == sorted(
            f"{name} {at}" for name in "abcde" for at in (0, 1)
        )
