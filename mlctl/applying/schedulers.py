"""Who carries out tasks at once: threads, or one after the other on a clock that waits for them.

A task is a generator: it tells what it has to tell, and before each wait until when it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from heapq import heappop, heappush
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Until:
    """A task is about to wait until this moment of the backend's own clock, if it has one."""

    moment: float | None = None


class Crew(Protocol[T]):
    """Carries out tasks, no more at once than it was made for, and passes on what they tell."""

    def start(self, task: Iterator[T | Until]) -> None:
        """Take a task on."""

    def told(self) -> T:
        """What a task tells next. What it raises is raised here."""

    def close(self) -> None:
        """Return when nothing runs any more."""


class Threads(Generic[T]):
    """Tasks in threads, as they come: for a backend whose time is everybody's."""

    def __init__(self, parallelism: int) -> None:
        self._pool = ThreadPoolExecutor(parallelism, thread_name_prefix="apply")
        self._inbox: SimpleQueue[T | Exception] = SimpleQueue()

    def start(self, task: Iterator[T | Until]) -> None:
        """Take a task on."""
        self._pool.submit(self._run, task)

    def told(self) -> T:
        """What a task tells next. What it raises is raised here."""
        told = self._inbox.get()
        if isinstance(told, Exception):
            raise told
        return told

    def close(self) -> None:
        """Return when nothing runs any more."""
        self._pool.shutdown()

    def _run(self, task: Iterator[T | Until]) -> None:
        try:
            for told in task:
                if not isinstance(told, Until):
                    self._inbox.put(told)
        except Exception as error:  # noqa: BLE001  a bug is raised by who listens
            self._inbox.put(error)


class Turns(Generic[T]):
    """Tasks by turns, in the order in which they were taken on: for a backend with its own clock.

    Time passes when all of them wait, up to where the first of them goes on. So the same tasks
    are one history, which threads would make a race of.
    """

    def __init__(self, parallelism: int, now: Callable[[], float]) -> None:
        self._now = now
        self._free = parallelism
        self._count = 0
        self._queued: list[tuple[int, Iterator[T | Until]]] = []
        self._running: list[tuple[float, int, Iterator[T | Until]]] = []

    def start(self, task: Iterator[T | Until]) -> None:
        """Take a task on."""
        self._count += 1
        heappush(self._queued, (self._count, task))

    def told(self) -> T:
        """What a task tells next. What it raises is raised here."""
        while True:
            while self._queued and self._free:
                self._free -= 1
                heappush(self._running, (self._now(), *heappop(self._queued)))
            at, number, task = heappop(self._running)
            told = next(task, None)
            if told is None:
                self._free += 1
                continue
            if not isinstance(told, Until):
                heappush(self._running, (at, number, task))
                return told
            moment = self._now() if told.moment is None else told.moment
            heappush(self._running, (moment, number, task))

    def close(self) -> None:
        """Nothing runs between two turns."""
