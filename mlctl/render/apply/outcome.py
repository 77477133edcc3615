"""The outcome of an apply: its events summed up, and the summary in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlctl import pointer
from mlctl.applying.events import NotEffective, Stale, StepEvent, StepState
from mlctl.backends.ports.lease import LeaseLost
from mlctl.kinds.address import Address
from mlctl.planning.model import Action
from mlctl.planning.steps.work import Work
from mlctl.render.apply.step_text import failed, named
from mlctl.render.cloud.advice import advice
from mlctl.render.plan.text import masked_sides
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.style import Style, Styler
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import TIMED_OUT, ServiceError

_DASH = "–"  # noqa: RUF001  # the sign of what was passed over
_SHOWN = 20  # skipped or cancelled steps that are listed


@dataclass(frozen=True)
class Outcome:
    """How an apply ended: the last event of each step, and the number of resources written.

    A replacement counts as destroyed once the old resource is gone, and as added once the new one
    is there. What was already as planned is not counted.
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
        """Why nothing more may be written, where the lease was lost."""
        errors = (event.error for event in (*self.cancelled, *self.failed))
        return next((error for error in errors if isinstance(error, LeaseLost)), None)

    @property
    def partial(self) -> bool:
        """Whether something was done or, as far as is known, at least begun."""
        return bool(self.done) or any(event.wrote for event in self.failed)

    @property
    def unverified(self) -> tuple[StepEvent, ...]:
        """What was done, but could not be read back."""
        return tuple(event for event in self.done if not event.verified)

    @property
    def timed_out(self) -> bool:
        """Whether an operation took longer than its time limit; it may still be running."""
        return any(event.error and event.error.code == TIMED_OUT for event in self.failed)

    @property
    def wrote(self) -> bool:
        """Whether anything was written at all."""
        return any(event.wrote for event in self.done)

    @cached_property
    def lost(self) -> list[Address]:
        """What was destroyed to be replaced, and was not created again."""
        unmade = (*self.failed, *self.skipped, *self.cancelled)
        return sorted(
            {event.step.target for event in unmade if not event.step.deletes} & self._deleted
        )

    @property
    def gone(self) -> set[Address]:
        """What was destroyed, and was not to be created again."""
        every = (*self.done, *self.failed, *self.skipped, *self.cancelled)
        return self._deleted - {event.step.target for event in every if not event.step.deletes}

    @property
    def _deleted(self) -> set[Address]:
        return {event.step.target for event in self.done if event.step.deletes}


def collect(
    events: Iterable[StepEvent],
    work: Work,
    actions: Mapping[Address, Action],
    show_event: Callable[[StepEvent], None],
) -> Outcome:
    """Pass each event to `show_event`, and sum them up at the end.

    `actions` are the plan's, by resource.
    """
    last: dict[int, StepEvent] = {}
    for event in events:
        show_event(event)
        last[event.step.id] = event
    ended = [last[step.id] for step in work.steps if step.id in last]
    by_state = {state: tuple(one for one in ended if one.state is state) for state in StepState}
    done = by_state[StepState.DONE]
    return Outcome(
        done,
        by_state[StepState.FAILED],
        by_state[StepState.SKIPPED],
        by_state[StepState.CANCELLED],
        *_counts(done, work, actions),
    )


def summary(outcome: Outcome, *, color: bool = False, destroying: bool = False) -> str:
    """The end of an apply's output: counts, failures with what they caused, the next step."""
    styler = Styler(color)
    numbers = (
        f"{outcome.added} added, {outcome.changed} changed, {outcome.destroyed} destroyed"
        if not destroying
        else f"{outcome.destroyed} destroyed"
    )
    verb = "Destroy" if destroying else "Apply"
    if outcome.complete:
        head = styler.apply(f"{verb} complete! Resources: {numbers}.", Style.GREEN)
        return "\n".join([head, *_unverified(outcome, styler)]) + "\n"
    state = "was cancelled" if outcome.stopped and not outcome.failed else "failed"
    if outcome.lease_lost:
        state = "was stopped"
    lines = [styler.apply(f"{verb} {state}. Resources: {numbers}.", Style.BOLD_RED)]
    lines += _failures(outcome, styler)
    lines += _unverified(outcome, styler)
    lines += _cancelled(outcome, styler)
    lines += [
        f"\n{address} was destroyed to be replaced, and is not there now."
        for address in outcome.lost
    ]
    lines += ["", _next_command(outcome)]
    return "\n".join(lines) + "\n"


def _counts(
    done: Iterable[StepEvent], work: Work, actions: Mapping[Address, Action]
) -> tuple[int, int, int]:
    """How many resources were added, changed and destroyed."""
    of: dict[Address, list[StepEvent]] = defaultdict(list)
    steps: dict[Address, int] = defaultdict(int)
    for step in work.steps:
        steps[step.change] += 1
    for event in done:
        of[event.step.change].append(event)
    added = changed = destroyed = 0
    for address, events in of.items():
        action = actions.get(address, Action.NO_OP)
        written = any(one.wrote for one in events if not one.step.deletes)
        destroyed += any(one.wrote or one.step.subsumed for one in events if one.step.deletes)
        if action in (Action.CREATE, Action.REPLACE):
            added += written
        elif action is Action.UPDATE:
            changed += written and len(events) == steps[address]
    return added, changed, destroyed


def _failures(outcome: Outcome, styler: Styler) -> Iterator[str]:
    skipped: dict[int, list[str]] = defaultdict(list)
    for event in outcome.skipped:
        if event.because is not None and event.because.target != event.step.target:
            skipped[event.because.id].append(named(event.step))
    for event in outcome.failed:
        step, error = event.step, event.error
        yield ""
        yield f"{styler.apply('✗', Style.BOLD_RED)} {failed(step)}"
        if error is not None:
            yield from (f"    {line}" for line in error_lines(error))
        if event.wrote:
            yield f"    {ACCEPTED}"
        targets = list(dict.fromkeys(skipped[step.id]))
        for target in targets[:_SHOWN]:
            yield f"  {_DASH} {target}: skipped because of {step.target}"
        if len(targets) > _SHOWN:
            yield f"  {_DASH} and {len(targets) - _SHOWN} more: skipped because of {step.target}"


ACCEPTED = "the service had accepted the write; whether it was done is not known"


def _unverified(outcome: Outcome, styler: Styler) -> Iterator[str]:
    if outcome.unverified:
        yield ""
        yield styler.apply("Not verified (written, but not read back):", Style.BOLD)
    for event in outcome.unverified[:_SHOWN]:
        yield f"  {_DASH} {named(event.step)}: {clean(str(event.error))}"
    if len(outcome.unverified) > _SHOWN:
        yield f"  {_DASH} and {len(outcome.unverified) - _SHOWN} more"


def error_lines(error: ServiceError) -> Iterator[str]:
    """The service's error message, and what to do about it."""
    yield clean(f"({error.code}) {error.message}")
    if isinstance(error, NotEffective):
        for mismatch in error.mismatches:
            old, new = masked_sides(mismatch)
            actual = "nothing" if old is None else scalar(old)
            planned = "nothing" if new is None else scalar(new)
            yield f"`{clean(pointer.dotted(mismatch.at))}`: promised {planned}, found {actual}"
    yield from (clean(str(mismatch)) for mismatch in (*error.properties, *error.details))
    if error.request_id:
        yield f"request: {clean(error.request_id)}"
    hint = _advice(error)
    if hint:
        yield f"hint: {clean(hint)}"


def _advice(error: ServiceError) -> str | None:
    match error:
        case Stale():
            return "see what moved, and what is left to do: mlctl plan"
        case NotEffective():
            return "the service took the request and kept its own value; accept that, or ask why"
        case _:
            return advice(error)


def _cancelled(outcome: Outcome, styler: Styler) -> Iterator[str]:
    targets = list(dict.fromkeys(named(event.step) for event in outcome.cancelled))
    if targets:
        yield ""
        yield styler.apply("Not started:", Style.BOLD)
        because = next((event.because for event in outcome.cancelled if event.because), None)
        if because is not None:
            yield f"  the service gave no answer to {because.target}, however often it was asked"
        if outcome.lease_lost:
            yield f"  {clean(outcome.lease_lost.message)}"
        yield from (f"  {_DASH} {target}" for target in targets[:_SHOWN])
        if len(targets) > _SHOWN:
            yield f"  {_DASH} and {len(targets) - _SHOWN} more"


def _next_command(outcome: Outcome) -> str:
    if outcome.stale:
        return "Nothing was overwritten. Make a new plan, and apply that."
    if outcome.lease_lost:
        return "What was done stays. Who has the lease now: mlctl lock show. Then make a new plan."
    return "What was done stays. Run the same command again to do the rest."
