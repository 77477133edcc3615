"""Carries out the steps of a plan, in parallel, and yields an event for each change of state.

One thread decides what starts; a scheduler runs the tasks, which touch nothing but the backend.
Before each write the target is read again: if it has changed since the plan was made the step is
refused, if it is already as planned nothing is written. After each write it is read back and
compared with the plan.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import TypeVar

from mlctl.applying.events import NotEffective, RetryOptions, Stale, StepEvent, StepState
from mlctl.applying.schedulers import Scheduler, ThreadScheduler, VirtualTimeScheduler, WaitUntil
from mlctl.applying.targets import as_planned, live_fingerprint, mismatches_of
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    Operation,
    SupportsUpload,
    SupportsVirtualTime,
)
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.values import moving, state
from mlctl.planning.steps import Step, Work
from mlctl.service_errors import TIMED_OUT, NotFound, Permanent, ServiceError, Transient


def apply(
    work: Work,
    backend: Backend,
    *,
    parallelism: int,
    stop: threading.Event,
    retry: RetryOptions | None = None,
    wait: bool = True,
) -> Iterator[StepEvent]:
    """Carry out the steps; the last event of each step is its outcome.

    Once `stop` is set nothing new starts: what runs is finished, the rest is cancelled. Without
    `wait`, a step that no other needs is done once it is accepted, and not read back.
    """
    progress = _Progress(work)
    final = {step.target: step for step in work.steps}
    needed = {need for step in work.steps for need in step.needs}
    with closing(_scheduler(backend, parallelism)) as scheduler:
        running = 0
        while progress.active:
            for step in progress.ready():
                skipped = progress.skipped(step)
                if skipped is not None:
                    progress.finish(skipped)
                    yield skipped
                    continue
                waits = wait or step.id in needed
                assignment = _Assignment(
                    step, progress.expected.get(step.target), final[step.target], waits
                )
                runner = _StepRunner(assignment, backend, work.scope, retry or RetryOptions(), stop)
                scheduler.start(runner.run())
                running += 1
            while running:
                event = scheduler.next_event()
                yield event
                if event.state not in (StepState.STARTED, StepState.RETRYING):
                    running -= 1
                    progress.finish(event)
                    break


def _scheduler(backend: Backend, parallelism: int) -> Scheduler[StepEvent]:
    """The scheduler that suits the backend's clock."""
    if isinstance(backend, SupportsVirtualTime):
        return VirtualTimeScheduler(parallelism, backend.now)
    return ThreadScheduler(parallelism)


@dataclass(eq=False)
class _Progress:
    """Which steps may start, which failed, and the expected fingerprint of each target."""

    work: Work
    expected: dict[Address, str | None] = field(init=False)
    _failed: dict[int, Step] = field(default_factory=dict)
    _sorter: TopologicalSorter[int] = field(init=False)

    def __post_init__(self) -> None:
        self.expected = dict(self.work.read)
        self._sorter = TopologicalSorter({step.id: step.needs for step in self.work.steps})
        self._sorter.prepare()
        self._by_id: Mapping[int, Step] = {step.id: step for step in self.work.steps}

    @property
    def active(self) -> bool:
        return self._sorter.is_active()

    def ready(self) -> list[Step]:
        return [self._by_id[number] for number in self._sorter.get_ready()]

    def skipped(self, step: Step) -> StepEvent | None:
        """The outcome of a step that cannot start because of a failure; None when it can."""
        cause = next((self._failed[need] for need in step.needs if need in self._failed), None)
        return StepEvent(step, StepState.SKIPPED, because=cause) if cause is not None else None

    def finish(self, event: StepEvent) -> None:
        step = event.step
        if event.state is StepState.DONE:
            self.expected[step.target] = None if step.deletes else _WRITTEN
        elif (
            event.state is not StepState.CANCELLED
        ):  # what needs it is cancelled too: `stop` stays set
            self._failed[step.id] = event.because or step
        self._sorter.done(step.id)


_WRITTEN = "written by this apply"


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A step, the fingerprint that its target should have now, and the last step on that target."""

    step: Step
    expected: str | None
    final: Step
    waits: bool


_T = TypeVar("_T")
_StepTask = Generator[StepEvent | WaitUntil, None, _T]


@dataclass(frozen=True, slots=True)
class _StepRunner:
    """Carries out one step; every error of the backend becomes its last event."""

    assignment: _Assignment
    backend: Backend
    scope: Scope
    retry: RetryOptions
    stop: threading.Event

    def run(self) -> Iterator[StepEvent | WaitUntil]:
        """The events of the step: its start, its retries and its outcome."""
        step = self.assignment.step
        try:
            if self.stop.is_set():
                yield StepEvent(step, StepState.CANCELLED)
                return
            yield StepEvent(step, StepState.STARTED)
            wrote = yield from self._do(step)
            yield StepEvent(step, StepState.DONE, wrote=wrote, waited=self.assignment.waits)
        except Transient as error:
            ended = StepState.CANCELLED if self.stop.is_set() else StepState.FAILED
            yield StepEvent(step, ended, error)
        except ServiceError as error:
            yield StepEvent(step, StepState.FAILED, error)

    def _do(self, step: Step) -> _StepTask[bool]:
        """Carry out the step; true if something was written."""
        live = yield from self._read(step)
        if as_planned(step, live, self.scope):
            return False
        if self.assignment.expected not in (_WRITTEN, live_fingerprint(live, self.scope)):
            if as_planned(self.assignment.final, live, self.scope):
                return False  # this plan was carried out before
            raise Stale("Stale", f"{step.target} has changed since the plan was made")
        yield from self._write(step)
        if not self.assignment.waits:
            return True
        after = yield from self._read(step)
        if not as_planned(step, after, self.scope):
            raise NotEffective(step.target, mismatches_of(step, after, self.scope))
        return True

    def _read(self, step: Step) -> _StepTask[Live | None]:
        """The target, once no operation runs on it any more."""
        attempt, waited = 0, 0.0
        while True:
            try:
                live = self.backend.read([step.target]).get(step.target)
            except Transient as error:
                attempt += 1
                yield from self._pause(step, attempt, error)
                continue
            if live is None or not moving(live.body):
                return live
            if waited >= self.retry.operation_timeout:
                raise Permanent(TIMED_OUT, f"{step.target} is still {state(live.body)}")
            yield from self._wait(self.retry.poll)
            waited += self.retry.poll

    def _write(self, step: Step) -> _StepTask[None]:
        """Write once, retrying after transient errors.

        Where the response was lost, reading tells whether the write took effect.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                operation = self._send(step)
                if self.assignment.waits:
                    yield self._wait_until(operation)
                    operation.wait()
            except NotFound:
                if step.deletes:
                    return
                raise
            except Transient as error:
                if error.ambiguous:
                    live = yield from self._read(step)
                    if as_planned(step, live, self.scope):
                        return
                yield from self._pause(step, attempt, error)
            else:
                return

    def _send(self, step: Step) -> Operation:
        if step.deletes:
            return self.backend.delete(step.target)
        body = step.body
        if step.uploads and isinstance(self.backend, SupportsUpload):
            for upload in step.uploads:
                body = self.backend.upload(step.target, body, upload)
        return self.backend.put(step.target, body)

    def _pause(self, step: Step, attempt: int, error: Transient) -> _StepTask[None]:
        """Wait before the next attempt.

        Raises:
            Transient: `error`, where there is no further attempt.
        """
        delay = self.retry.delay(attempt, error)
        if delay is None or self.stop.is_set():
            raise error
        yield StepEvent(step, StepState.RETRYING, error, delay=delay)
        yield from self._wait(delay)

    def _wait(self, seconds: float) -> _StepTask[None]:
        """Wait; other tasks may have advanced a virtual clock meanwhile."""
        if isinstance(self.backend, SupportsVirtualTime):
            until = self.backend.now() + seconds
            yield WaitUntil(until)
            seconds = max(until - self.backend.now(), 0.0)
        self.backend.wait(seconds)

    def _wait_until(self, operation: Operation) -> WaitUntil:
        backend = self.backend
        return WaitUntil(
            backend.due(operation) if isinstance(backend, SupportsVirtualTime) else None
        )
