"""The outcome of an apply, summed up from its events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from mlctl.applying.events import Stale, StepEvent, StepState
from mlctl.backends.ports.lease import LeaseLost
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.planning.model import Action
from mlctl.planning.steps.work import Work
from mlctl.service_errors import TIMED_OUT, Unavailable


@dataclass(frozen=True)
class Outcome:
    """The last event of each step, and the number of resources written.

    A replacement counts as destroyed once the old resource is gone, and as added once the new one
    exists. What was already as planned is not counted; what failed after it was written is.
    """

    done: tuple[StepEvent, ...]
    failed: tuple[StepEvent, ...]
    skipped: tuple[StepEvent, ...]
    cancelled: tuple[StepEvent, ...]
    added: int = 0
    changed: int = 0
    destroyed: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything was done."""
        return not (self.failed or self.skipped or self.cancelled)

    @property
    def stale(self) -> bool:
        """Whether a target had changed since the plan was made."""
        return any(isinstance(event.error, Stale) for event in self.failed)

    @property
    def stopped(self) -> bool:
        """Whether the user stopped it."""
        return any(event.because is None for event in self.cancelled)

    @property
    def lease_lost(self) -> LeaseLost | None:
        """The loss of the lease, after which nothing more may be written."""
        errors = (event.error for event in (*self.cancelled, *self.failed))
        return next((error for error in errors if isinstance(error, LeaseLost)), None)

    @property
    def outage(self) -> str | None:
        """Why nothing more was started, if a step found that everything would fail."""
        because = next((event.because for event in self.cancelled if event.because), None)
        if because is None:
            return None
        if any(
            event.step is because and isinstance(event.error, Unavailable)
            for event in (*self.failed, *self.done)
        ):
            return f"it would have failed like {because.target}"
        return f"the service did not answer for {because.target}"

    @property
    def partial(self) -> bool:
        """Whether something was done or, as far as known, at least begun."""
        return bool(self.done) or any(event.wrote for event in self.failed)

    @property
    def unverified(self) -> tuple[StepEvent, ...]:
        """What was done, but could not be read back."""
        return tuple(event for event in self.done if not event.verified)

    @property
    def timed_out(self) -> bool:
        """Whether an operation exceeded its time limit; it may still be running."""
        return any(event.error and event.error.code == TIMED_OUT for event in self.failed)

    @property
    def wrote(self) -> bool:
        """Whether anything was written."""
        return any(event.wrote for event in self.done)

    @cached_property
    def lost(self) -> list[Address]:
        """Return what was destroyed to be replaced, but not created again."""
        unmade = (*self.failed, *self.skipped, *self.cancelled)
        return sorted(
            {event.step.target for event in unmade if not event.step.deletes} & self._deleted
        )

    @property
    def gone(self) -> set[Address]:
        """Return what was destroyed for good."""
        events = (*self.done, *self.failed, *self.skipped, *self.cancelled)
        return self._deleted - {event.step.target for event in events if not event.step.deletes}

    @property
    def _deleted(self) -> set[Address]:
        return {event.step.target for event in self.done if event.step.deletes}


def collect(
    events: Iterable[StepEvent],
    work: Work,
    actions: Mapping[Address, Action],
    show_event: Callable[[StepEvent], None],
) -> Outcome:
    """Pass each event to `show_event`, and sum them up.

    `actions` are the plan's, by resource.
    """
    last: dict[int, StepEvent] = {}
    for event in events:
        show_event(event)
        last[event.step.id] = event
    ended = [last[step.id] for step in work.steps if step.id in last]
    by_state = {
        state: tuple(event for event in ended if event.state is state) for state in StepState
    }
    done, failed = by_state[StepState.DONE], by_state[StepState.FAILED]
    written = [event for event in failed if event.wrote and event.verified]
    return Outcome(
        done,
        failed,
        by_state[StepState.SKIPPED],
        by_state[StepState.CANCELLED],
        *_counts([*done, *written], work, actions),
    )


def _counts(
    events_done: Iterable[StepEvent], work: Work, actions: Mapping[Address, Action]
) -> tuple[int, int, int]:
    """Count the resources added, changed and destroyed."""
    events_by_change: dict[Address, list[StepEvent]] = defaultdict(list)
    steps = Counter(step.change for step in work.steps)
    for event in events_done:
        events_by_change[event.step.change].append(event)
    added = changed = destroyed = 0
    for address, events in events_by_change.items():
        action = actions.get(address, Action.NO_OP)
        written = any(event.wrote for event in events if not event.step.deletes)
        destroyed += any(
            event.wrote or event.step.subsumed for event in events if event.step.deletes
        )
        if action in (Action.CREATE, Action.REPLACE):
            added += written
        elif action is Action.UPDATE:
            changed += written and len(events) == steps[address]
    return added, changed, destroyed
