"""Work to events: carries out the steps of a plan, in parallel.

One thread decides; workers, each of a `crew`, touch nothing but the backend. Before each
write the target is read again: a world that moved is refused, a world that is already as wanted is
left alone. After each write it is read back and compared with what was promised.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import TypeVar

from mlctl.applying.events import Event, NotEffective, Retry, Stale, State
from mlctl.applying.schedulers import Crew, Threads, Turns, Until
from mlctl.backends.ports.backend import (
    TIMED_OUT,
    Backend,
    BackendError,
    KeepsTime,
    Live,
    NotFound,
    Operation,
    Permanent,
    SupportsUpload,
    Transient,
)
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.values import decode, fingerprint, form_of_body, moving, said, state
from mlctl.planning.diff import differences
from mlctl.planning.model import FieldChange
from mlctl.planning.steps import Step, Verb, Work


def moved(work: Work, backend: Backend) -> list[Address]:
    """What is no longer as it was when the plan was made, and not yet as one of its steps wants it.

    A plan whose apply was cut short can so be applied again.
    """
    live = backend.read(work.read.keys())
    steps = defaultdict[Address, list[Step]](list)
    for step in work.steps:
        steps[step.target].append(step)

    def ours(address: Address, found: Live | None) -> bool:
        wanted = steps[found.address if found else address]  # of a newest version: that version
        return any(_settled(step, found, work.scope) for step in wanted)

    return [
        address
        for address, before in work.read.items()
        if _print(found := live.get(address), work.scope) != before and not ours(address, found)
    ]


def apply(
    work: Work,
    backend: Backend,
    *,
    parallelism: int,
    stop: threading.Event,
    retry: Retry | None = None,
    wait: bool = True,
) -> Iterator[Event]:
    """Carry out the steps; the last event of each step is its outcome.

    Once `stop` is set nothing new starts: what runs is finished, the rest is cancelled. Without
    `wait`, the steps that no other needs are done once they are accepted, and not read back.
    """
    state = _State(work)
    final = {step.target: step for step in work.steps}
    needed = {need for step in work.steps for need in step.needs}
    with closing(_crew(backend, parallelism)) as crew:
        running = 0
        while state.active:
            for step in state.ready():
                skipped = state.skipped(step)
                if skipped is not None:
                    state.finish(skipped)
                    yield skipped
                    continue
                waits = wait or step.id in needed
                task = _Task(step, state.expected.get(step.target), final[step.target], waits)
                worker = _Worker(task, backend, work.scope, retry or Retry(), stop)
                crew.start(worker.run())
                running += 1
            while running:
                answer = crew.told()
                yield answer
                if answer.state not in (State.STARTED, State.RETRYING):
                    running -= 1
                    state.finish(answer)
                    break


def _crew(backend: Backend, parallelism: int) -> Crew[Event]:
    """One history on a clock of the backend's own, whatever threads would make of it."""
    if isinstance(backend, KeepsTime):
        return Turns(parallelism, backend.now)
    return Threads(parallelism)


@dataclass(eq=False)
class _State:
    """What the deciding thread knows: what may start, what failed, how each target looks now."""

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

    def skipped(self, step: Step) -> Event | None:
        """The outcome of a step that cannot start because of a failure; None when it can."""
        cause = next((self._failed[need] for need in step.needs if need in self._failed), None)
        return Event(step, State.SKIPPED, because=cause) if cause is not None else None

    def finish(self, event: Event) -> None:
        step = event.step
        if event.state is State.DONE:
            self.expected[step.target] = None if step.verb is Verb.DELETE else _WRITTEN
        elif event.state is not State.CANCELLED:  # what needs it is cancelled too: `stop` stays set
            self._failed[step.id] = event.because or step
        self._sorter.done(step.id)


_WRITTEN = "written by this apply"


@dataclass(frozen=True, slots=True)
class _Task:
    """A step, the fingerprint that its target should have, and the last step on that target."""

    step: Step
    expected: str | None
    final: Step
    waits: bool


_T = TypeVar("_T")
_Doing = Generator[Event | Until, None, _T]


@dataclass(frozen=True, slots=True)
class _Worker:
    """Does one step; whatever happens ends as its last event."""

    task: _Task
    backend: Backend
    scope: Scope
    retry: Retry
    stop: threading.Event

    def run(self) -> Iterator[Event | Until]:
        """Report the start and the outcome."""
        step = self.task.step
        try:
            if self.stop.is_set():
                yield Event(step, State.CANCELLED)
                return
            yield Event(step, State.STARTED)
            wrote = yield from self._do(step)
            yield Event(step, State.DONE, wrote=wrote, waited=self.task.waits)
        except Transient as error:
            ended = State.CANCELLED if self.stop.is_set() else State.FAILED
            yield Event(step, ended, error)
        except BackendError as error:
            yield Event(step, State.FAILED, error)

    def _do(self, step: Step) -> _Doing[bool]:
        """Whether something was written."""
        live = yield from self._read(step)
        if _settled(step, live, self.scope):
            return False
        if self.task.expected not in (_WRITTEN, _print(live, self.scope)):
            if _settled(self.task.final, live, self.scope):
                return False  # this plan was carried out before
            raise Stale("Stale", f"{step.target} has changed since the plan was made")
        yield from self._write(step)
        if not self.task.waits:
            return True
        after = yield from self._read(step)
        if not _settled(step, after, self.scope):
            raise NotEffective(step.target, _wrong(step, after, self.scope))
        return True

    def _read(self, step: Step) -> _Doing[Live | None]:
        """The target, once nothing runs on it any more."""
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
            if waited >= self.retry.patience:
                raise Permanent(TIMED_OUT, f"{step.target} is still {state(live.body)}")
            yield from self._wait(self.retry.poll)
            waited += self.retry.poll

    def _write(self, step: Step) -> _Doing[None]:
        """One write, asked again while the refusal is transient.

        A write whose answer was lost is settled by reading.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                asked = self._ask(step)
                if self.task.waits:
                    yield self._until(asked)
                    asked.wait()
            except NotFound:
                if step.verb is Verb.DELETE:
                    return
                raise
            except Transient as error:
                if error.ambiguous:
                    live = yield from self._read(step)
                    if _settled(step, live, self.scope):
                        return
                yield from self._pause(step, attempt, error)
            else:
                return

    def _ask(self, step: Step) -> Operation:
        if step.verb is Verb.DELETE:
            return self.backend.delete(step.target)
        body = step.body
        if step.uploads and isinstance(self.backend, SupportsUpload):
            for upload in step.uploads:
                body = self.backend.upload(step.target, body, upload)
        return self.backend.put(step.target, body)

    def _pause(self, step: Step, attempt: int, error: Transient) -> _Doing[None]:
        """Wait before asking again; raises `error` where it is time to give up."""
        delay = self.retry.delay(attempt, error)
        if delay is None or self.stop.is_set():
            raise error
        yield Event(step, State.RETRYING, error, delay=delay)
        yield from self._wait(delay)

    def _wait(self, seconds: float) -> _Doing[None]:
        """Let time pass; on a clock of the backend's own, others may have moved it meanwhile."""
        if isinstance(self.backend, KeepsTime):
            until = self.backend.now() + seconds
            yield Until(until)
            seconds = max(until - self.backend.now(), 0.0)
        self.backend.wait(seconds)

    def _until(self, asked: Operation) -> Until:
        backend = self.backend
        return Until(backend.due(asked) if isinstance(backend, KeepsTime) else None)


def _print(live: Live | None, scope: Scope) -> str | None:
    """The fingerprint; what is being deleted counts as gone, as it does for the plan."""
    if live is None or state(live.body) == "deleting":
        return None
    return fingerprint(live.body, kind_of(live.address), scope)


def _settled(step: Step, live: Live | None, scope: Scope) -> bool:
    """Whether the target is already as the step wants it."""
    if step.verb is Verb.DELETE:
        return live is None
    return live is not None and not _wrong(step, live, scope)


def _wrong(step: Step, live: Live | None, scope: Scope) -> list[FieldChange]:
    """Where a target differs from what the step promises."""
    if live is None or step.verb is Verb.DELETE:
        return []
    form = form_of_body(kind_of(step.target), step.body, scope)
    # a default deployment that the body leaves out is to be unset; other silence is the service's
    unset = {one.at: "" for one in form.fields if one.refers_to == "batch-deployment"}
    promised = {**unset, **said(step.body, form, scope, own=False)}
    found = decode(live.body, form, scope, own=False)
    wrong = differences(form.writable, promised, found, scope)
    if state(live.body) in ("failed", "canceled"):
        ended = live.body["properties"]["provisioningState"]
        wrong.append(FieldChange(("provisioning_state",), ended, "Succeeded"))
    return wrong
