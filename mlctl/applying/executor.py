"""Carry out the steps of a plan in parallel, and yield an event for each change of state.

One thread decides what starts; a scheduler runs the tasks, which only touch the backend.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from graphlib import TopologicalSorter

from mlctl.applying.events import RetryOptions, StepEvent, StepState
from mlctl.applying.runner import WRITTEN, Assignment, SharedState, StepRunner
from mlctl.applying.schedulers import Scheduler, ThreadScheduler, VirtualTimeScheduler
from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import AT_ENDPOINTS
from mlctl.kinds.address import Address
from mlctl.planning.steps.work import PlanStep, Work
from mlctl.planning.unfinished.snapshots import Journal, Snapshots


def apply(
    work: Work,
    backend: Backend,
    *,
    parallelism: int,
    stop: threading.Event,
    retry: RetryOptions = RetryOptions(),
    wait: bool = True,
    journal: Journal | None = None,
) -> Iterator[StepEvent]:
    """Carry out the steps; the last event of each step is its outcome.

    Once `stop` is set nothing new starts: running steps finish, the rest are cancelled. The same
    happens once a step has run out of attempts: the service is down, and the others would fail one
    by one. Without `wait`, a step that no other needs is done once it is accepted, and is not read
    back. Before anything is unset or deleted to be restored later, it is in the `journal`: the
    process may be killed. Raises ServiceError if the journal cannot be written; nothing was begun.
    """
    progress = _Progress(work)
    clock = backend if isinstance(backend, SupportsVirtualTime) else None
    shared = SharedState(stop, Snapshots(work, journal), clock)
    shared.snapshots.begin()
    needed = {need for step in work.steps for need in step.needs}
    with closing(_choose_scheduler(backend, parallelism)) as scheduler:
        running = 0
        while progress.active:
            for step in progress.ready():
                skipped = progress.skipped(step)
                if skipped is not None:
                    progress.finish(skipped)
                    yield skipped
                    continue
                waits = wait or step.id in needed
                assignment = progress.assignment(step, waits=waits)
                runner = StepRunner(assignment, backend, work.scope, retry, shared)
                scheduler.start(runner.run())
                running += 1
            while running:
                event = scheduler.next_event()
                yield event
                if event.state not in (StepState.STARTED, StepState.RETRYING):
                    running -= 1
                    progress.finish(event)
                    break


def _choose_scheduler(backend: Backend, parallelism: int) -> Scheduler[StepEvent]:
    """Return the scheduler that suits the backend's clock."""
    if isinstance(backend, SupportsVirtualTime):
        return VirtualTimeScheduler(parallelism, backend.now)
    return ThreadScheduler(parallelism)


@dataclass(eq=False)
class _Progress:
    """Which steps may start, which failed, and the expected fingerprint of each target."""

    work: Work
    _written: dict[Address, str | None] = field(default_factory=dict)
    _failed: dict[int, PlanStep] = field(default_factory=dict)
    _held: list[PlanStep] = field(default_factory=list)
    _busy: set[Address] = field(default_factory=set)  # the endpoints with a running step
    _sorter: TopologicalSorter[int] = field(init=False)

    def __post_init__(self) -> None:
        self._sorter = TopologicalSorter({step.id: step.needs for step in self.work.steps})
        self._sorter.prepare()
        self._by_id: Mapping[int, PlanStep] = {step.id: step for step in self.work.steps}
        self._by_target = defaultdict[Address, list[PlanStep]](list)
        self._deletes_after = defaultdict[int, list[PlanStep]](list)  # by the step that they need
        self._renewed_under = defaultdict[Address | None, list[Address]](list)  # by the parent
        for step in self.work.steps:
            self._by_target[step.target].append(step)
            if step.deletes:
                for need in step.needs:
                    self._deletes_after[need].append(step)
            if step.restoration.base is not None:
                self._renewed_under[step.target.up].append(step.target)

    @property
    def active(self) -> bool:
        return self._sorter.is_active()

    def ready(self) -> list[PlanStep]:
        """Return the steps that may start now; one at a time under each endpoint.

        An endpoint with a running operation refuses every other one
        (how-to-troubleshoot-online-endpoints).
        """
        steps = self._held + [self._by_id[number] for number in self._sorter.get_ready()]
        self._held = []
        for step in steps:
            if step.target.kind in AT_ENDPOINTS:
                endpoint = step.target.up or step.target
                if endpoint in self._busy:
                    self._held.append(step)
                self._busy.add(endpoint)
        if not self._held:
            return steps
        held_ids = {step.id for step in self._held}
        return [step for step in steps if step.id not in held_ids]

    def assignment(self, step: PlanStep, *, waits: bool) -> Assignment:
        """Return the step, and what is known of its target."""
        expected = self._expected(step.target)
        steps = self._by_target[step.target]
        later = tuple(steps[steps.index(step) + 1 :])
        waiting = self._waiting(step) if later else ()
        return Assignment(step, expected, later, waits, self._renewed(step), waiting)

    def _waiting(self, step: PlanStep) -> tuple[PlanStep, ...]:
        """Return the last steps on what can only be deleted after this step."""
        deletes = self._deletes_after.get(step.id, ())
        return tuple(self._by_target[delete.target][-1] for delete in deletes)

    def _renewed(self, step: PlanStep) -> dict[Address, str | None]:
        """Return what is deleted with a target and created again, with the fingerprints."""
        renewed = self._renewed_under.get(step.target, ()) if step.deletes else ()
        return {address: self._expected(address) for address in renewed}

    def _expected(self, address: Address) -> str | None:
        """Return the fingerprint that a target has by now."""
        expected = self._written if address in self._written else self.work.read
        return expected.get(address)

    def skipped(self, step: PlanStep) -> StepEvent | None:
        """Return the outcome of a step that cannot start because of a failure; None if it can."""
        cause = next((self._failed[need] for need in step.needs if need in self._failed), None)
        return StepEvent(step, StepState.SKIPPED, because=cause) if cause is not None else None

    def finish(self, event: StepEvent) -> None:
        step = event.step
        if event.state is StepState.DONE:
            self._written[step.target] = None if step.deletes else WRITTEN
        elif event.state is not StepState.CANCELLED:  # what needs it is cancelled too
            self._failed[step.id] = event.because or step
        if step.target.kind in AT_ENDPOINTS:
            self._busy.discard(step.target.up or step.target)
        self._sorter.done(step.id)
