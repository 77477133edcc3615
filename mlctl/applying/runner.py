"""Carry out one step: read, write, read back.

Before the write the target is read: if it has changed since the plan was made the step is refused;
if it is already as planned nothing is written. The body is laid over what was just read. After the
write the target is read back and compared.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from typing import TypeVar

from mlctl.applying.events import NotEffective, RetryOptions, Stale, StepEvent, StepState
from mlctl.applying.schedulers import WaitUntil
from mlctl.applying.targets import as_planned, live_fingerprint, mismatches_of, rewrites_secrets
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    Operation,
    SupportsUpload,
    SupportsVirtualTime,
)
from mlctl.backends.ports.lease import LeaseLost
from mlctl.dataclasses import dataclass, field
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.values import moving, state
from mlctl.planning.diff import failed_operation
from mlctl.planning.model import FieldChange
from mlctl.planning.steps.work import PlanStep
from mlctl.planning.unfinished.snapshots import Snapshots
from mlctl.pointer import Data
from mlctl.service_errors import (
    CONFLICT,
    PRECONDITION_FAILED,
    TIMED_OUT,
    NotFound,
    Permanent,
    ServiceError,
    Transient,
    Unavailable,
)

WRITTEN = "written by this apply"  # in place of a fingerprint that cannot be known beforehand


@dataclass(frozen=True, slots=True)
class Assignment:
    """A step, its target's expected fingerprint, and the `later` steps on the target.

    `renewed` are the addresses, with fingerprints, of what this step's delete removes and later
    steps create again. `waiting` are the last steps on what is deleted only after this step.
    """

    step: PlanStep
    expected: str | None
    later: tuple[PlanStep, ...]
    waits: bool
    renewed: Mapping[Address, str | None] = field(default_factory=dict)
    waiting: tuple[PlanStep, ...] = ()

    @property
    def final(self) -> PlanStep:
        """The last step on the target."""
        return self.later[-1] if self.later else self.step


@dataclass(slots=True)
class SharedState:
    """What the steps of an apply share.

    `stop` is set by the user. `outage` is the first step that ran out of attempts: the service is
    down, and nothing new starts; nor does it once the lease is `lost`. `snapshots` are the bodies
    that were read just before a delete. `clock` is that of a backend on virtual time.
    """

    stop: threading.Event
    snapshots: Snapshots
    clock: SupportsVirtualTime | None = None
    outage: PlanStep | None = None
    lost: LeaseLost | None = None


_T = TypeVar("_T")
_StepTask = Generator[StepEvent | WaitUntil, None, _T]


@dataclass(slots=True)
class StepRunner:
    """Carries out one step; every error of the backend becomes its last event."""

    assignment: Assignment
    backend: Backend
    scope: Scope
    retry: RetryOptions
    shared: SharedState
    _accepted: bool = False  # the service accepted a write, whatever came of it
    _wrote: bool = False  # this step caused the target's state

    def run(self) -> Iterator[StepEvent | WaitUntil]:
        """Yield the events of the step: its start, its retries and its outcome."""
        step, shared = self.assignment.step, self.shared
        try:
            if shared.stop.is_set() or shared.outage is not None or shared.lost is not None:
                yield StepEvent(step, StepState.CANCELLED, shared.lost, because=shared.outage)
                return
            yield StepEvent(step, StepState.STARTED)
            yield (yield from self._do(step))
        except Transient as error:
            if shared.stop.is_set() and not self._accepted:
                yield StepEvent(step, StepState.CANCELLED, error)
                return
            if error.status != CONFLICT:
                self._note_outage()
            yield StepEvent(step, StepState.FAILED, error, wrote=self._accepted, verified=False)
        except Unavailable as error:
            self._note_outage()
            is_there = self._accepted and self._took_effect(step)
            yield StepEvent(step, StepState.FAILED, error, wrote=self._accepted, verified=is_there)
        except LeaseLost as error:
            shared.lost = error
            ended = StepState.FAILED if self._accepted else StepState.CANCELLED
            yield StepEvent(step, ended, error, wrote=self._accepted, verified=False)
        except ServiceError as error:
            yield StepEvent(step, StepState.FAILED, error)

    def _note_outage(self) -> None:
        if self.shared.outage is None and not self.shared.stop.is_set():
            self.shared.outage = self.assignment.step

    def _took_effect(self, step: PlanStep) -> bool:
        """Whether the workspace shows what was accepted, as far as it can still be read."""
        try:
            live = self.backend.read([step.target]).get(step.target)
        except ServiceError:
            return False
        return (live is None) == step.deletes

    def _do(self, step: PlanStep) -> _StepTask[StepEvent]:
        """Carry out the step, and return its last event."""
        waits = self.assignment.waits
        live = yield from self._read(step.target)
        if self._is_done(step, live) or (yield from self._is_needless(live)):
            return StepEvent(step, StepState.DONE, waited=waits)
        if step.deletes:
            yield from self._keep(step, live)
        written = yield from self._write(step, live)
        if not waits:
            return StepEvent(step, StepState.DONE, wrote=self._wrote, waited=False)
        try:
            result = yield from self._read(step.target)
            mismatches = mismatches_of(step, result, self.scope, written)
            if mismatches or (result is None) != step.deletes:
                result, mismatches = yield from self._read_again(step, written)
        except ServiceError as error:
            if error.code == TIMED_OUT:
                raise
            if isinstance(error, Transient | Unavailable):
                self._note_outage()
            return StepEvent(step, StepState.DONE, error, wrote=self._wrote, verified=False)
        if result is None and not step.deletes:
            raise NotEffective(step.target, [])
        if mismatches or (step.deletes and result is not None):
            raise NotEffective(step.target, mismatches)
        return StepEvent(step, StepState.DONE, wrote=self._wrote)

    def _is_done(self, step: PlanStep, live: Live | None) -> bool:
        """Whether there is nothing to write; Stale if the target has changed since the plan."""
        expected = self.assignment.expected
        if rewrites_secrets(step) and expected in (WRITTEN, live_fingerprint(live, self.scope)):
            return False
        if as_planned(step, live, self.scope):
            return True
        if step.subsumed and as_planned(self.assignment.final, live, self.scope):
            return True  # it was deleted with its parent, and created again with it
        if expected in (WRITTEN, live_fingerprint(live, self.scope)):
            return False
        if any(as_planned(step_after, live, self.scope) for step_after in self.assignment.later):
            return True  # this plan was carried out before, at least up to here
        raise Stale("Stale", f"{step.target} has changed since the plan was made")

    def _is_needless(self, live: Live | None) -> _StepTask[bool]:
        """Whether the target is as its last step wants it: then an endpoint keeps its default."""
        waiting = self.assignment.waiting
        if not (waiting and as_planned(self.assignment.final, live, self.scope)):
            return False
        for last in waiting:
            target = yield from self._read(last.target)
            if not as_planned(last, target, self.scope):
                return False
        return True

    def _keep(self, step: PlanStep, live: Live | None) -> _StepTask[None]:
        """Keep the bodies of what is deleted now, to create it again; Stale if one has changed."""
        bodies = {} if live is None else {step.target: live.body}
        for address, expected in self.assignment.renewed.items():
            live = yield from self._read(address)
            if expected not in (WRITTEN, live_fingerprint(live, self.scope)):
                raise Stale("Stale", f"{address} has changed since the plan was made")
            if live is not None:
                bodies[address] = live.body
        self.shared.snapshots.take(bodies)

    def _read(self, address: Address) -> _StepTask[Live | None]:
        """Read a resource, once no operation is running on it."""
        attempt, waited = 0, 0.0
        while True:
            try:
                live = self.backend.read([address]).get(address)
            except Transient as error:
                attempt += 1
                yield from self._pause(attempt, error)
                continue
            if live is None or not moving(live.body):
                return live
            if waited >= self.retry.operation_timeout:
                raise Permanent(TIMED_OUT, f"{address} is still {state(live.body)}")
            yield from self._wait(self.retry.poll)
            waited += self.retry.poll

    def _read_again(
        self, step: PlanStep, written: Mapping[str, Data]
    ) -> _StepTask[tuple[Live | None, list[FieldChange]]]:
        """Return where the target differs after the write; reads may lag behind for a while."""
        waited = 0.0
        while True:
            result = yield from self._read(step.target)
            mismatches = mismatches_of(step, result, self.scope, written)
            stale = mismatches or (result is None) != step.deletes
            failed = result is not None and failed_operation(result)
            if not stale or failed or waited >= self.retry.stale:
                return result, mismatches
            yield from self._wait(self.retry.poll)
            waited += self.retry.poll

    def _write(self, step: PlanStep, live: Live | None) -> _StepTask[Mapping[str, Data]]:
        """Write, retrying after transient errors, and return the body that was written.

        Each attempt lays the body over what was just read. If the response was lost, reading shows
        whether the write took effect.

        Raises:
            Stale: the target has changed since, other than by this write.
        """
        attempt, lost = 0, False
        while True:
            attempt += 1
            body = self._body(step, live)
            try:
                yield from self._send_and_wait(step, body, live)
            except NotFound:
                if step.deletes:
                    return body
                raise
            except Transient as error:
                lost = lost or error.ambiguous
                if error.ambiguous:
                    live = yield from self._read(step.target)
                    if as_planned(step, live, self.scope):
                        self._wrote = True
                        return body
                if error.outlasted:
                    attempt -= 1
                yield from self._pause(max(attempt, 1), error)
            except Permanent as error:
                if error.status != PRECONDITION_FAILED or attempt >= self.retry.attempts:
                    raise
            else:
                return body
            live = yield from self._read(step.target)
            if as_planned(step, live, self.scope) if lost else self._is_done(step, live):
                self._wrote = lost
                return body

    def _body(self, step: PlanStep, live: Live | None) -> Mapping[str, Data]:
        """Return the step's body over the live one, or over the one that this apply deleted."""
        base = live.body if live is not None else self.shared.snapshots.body(step.target)
        return {} if step.deletes else step.body_over(base)

    def _send_and_wait(
        self, step: PlanStep, body: Mapping[str, Data], live: Live | None
    ) -> _StepTask[None]:
        operation = self._send(step, body, live)
        self._accepted = True
        # Others may have created the same in the meantime, but only one did.
        self._wrote = not (step.creates and operation.created is False)
        if self.assignment.waits:
            yield self._wait_until(operation)
            operation.wait()

    def _send(self, step: PlanStep, body: Mapping[str, Data], live: Live | None) -> Operation:
        if step.deletes:
            return self.backend.delete(step.target)
        if live is not None and live.body.get("etag"):
            body = {**body, "etag": live.body["etag"]}
        if step.uploads and isinstance(self.backend, SupportsUpload):
            for upload in step.uploads:
                body = self.backend.upload(step.target, body, upload)
        return self.backend.put(step.target, body)

    def _pause(self, attempt: int, error: Transient) -> _StepTask[None]:
        """Wait before the next attempt; raises `error` if there is none."""
        delay = self.retry.delay(attempt, error)
        if delay is None or self.shared.stop.is_set():
            raise error
        yield StepEvent(self.assignment.step, StepState.RETRYING, error, delay=delay)
        yield from self._wait(delay)

    def _wait(self, seconds: float) -> _StepTask[None]:
        """Wait; other tasks may advance a virtual clock meanwhile."""
        clock = self.shared.clock
        if clock is not None:
            moment = clock.now() + seconds
            yield WaitUntil(moment)
            seconds = max(moment - clock.now(), 0.0)
        self.backend.wait(seconds)

    def _wait_until(self, operation: Operation) -> WaitUntil:
        clock = self.shared.clock
        return WaitUntil(None if clock is None else clock.due(operation))
