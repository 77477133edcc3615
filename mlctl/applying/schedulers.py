"""Schedulers run tasks: on threads, or in turn on a virtual clock.

A task is a generator. It yields its events, and a `WaitUntil` before each wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

from mlctl.dataclasses import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The task will wait until `moment` on the backend's virtual clock (None: no clock)."""

    moment: float | None = None


class Scheduler(Protocol[T]):
    """Runs at most `parallelism` tasks at once, and passes on their events."""

    def start(self, task: Iterator[T | WaitUntil]) -> None:
        """Queue a task; it runs once fewer than `parallelism` others do."""

    def next_event(self) -> T:
        """Return the next event of any running task, or raise what a task raised."""

    def close(self) -> None:
        """Return once no task is running."""


class ThreadScheduler(Generic[T]):
    """Runs each task in a thread, for backends on real time."""

    def __init__(self, parallelism: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - brings `logging`

        self._executor = ThreadPoolExecutor(parallelism, thread_name_prefix="apply")
        self._events: SimpleQueue[T | BaseException] = SimpleQueue()

    def start(self, task: Iterator[T | WaitUntil]) -> None:
        """Queue a task; it runs once fewer than `parallelism` others do."""
        self._executor.submit(self._run, task)

    def next_event(self) -> T:
        """Return the next event of any running task, or raise what a task raised."""
        event = self._events.get()
        if isinstance(event, BaseException):
            raise event
        return event

    def close(self) -> None:
        """Return once no task is running."""
        self._executor.shutdown()

    def _run(self, task: Iterator[T | WaitUntil]) -> None:
        try:
            for event in task:
                if not isinstance(event, WaitUntil):
                    self._events.put(event)
        except BaseException as error:  # noqa: BLE001  # `next_event` raises it, and waits for none
            self._events.put(error)


class VirtualTimeScheduler(Generic[T]):
    """Runs tasks in one thread, for backends on a virtual clock.

    The task whose wait ends first continues first; of several, the one that was started first. So
    the same tasks always give the same sequence of events, unlike threads.
    """

    def __init__(self, parallelism: int, now: Callable[[], float]) -> None:
        self._now = now
        self._free = parallelism
        self._count = 0
        self._queued: list[tuple[int, Iterator[T | WaitUntil]]] = []
        self._running: list[tuple[float, int, Iterator[T | WaitUntil]]] = []

    def start(self, task: Iterator[T | WaitUntil]) -> None:
        """Queue a task; it runs once fewer than `parallelism` others do."""
        self._count += 1
        heappush(self._queued, (self._count, task))

    def next_event(self) -> T:
        """Return the next event of any running task, or raise what a task raised."""
        while True:
            while self._queued and self._free:
                self._free -= 1
                heappush(self._running, (self._now(), *heappop(self._queued)))
            at, number, task = heappop(self._running)
            event = next(task, None)
            if event is None:
                self._free += 1
                continue
            if not isinstance(event, WaitUntil):
                heappush(self._running, (at, number, task))
                return event
            moment = self._now() if event.moment is None else event.moment
            heappush(self._running, (moment, number, task))

    def close(self) -> None:
        """Do nothing: no task runs between two calls of `next_event`."""
