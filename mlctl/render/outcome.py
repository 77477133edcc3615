"""What became of an apply: the events of its steps summed up, and the summary in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlctl import pointer
from mlctl.applying.events import Event, NotEffective, Stale, State
from mlctl.backends.ports.backend import TIMED_OUT, BackendError
from mlctl.kinds.address import Address
from mlctl.planning.model import Action
from mlctl.planning.steps import Step, Verb, Work
from mlctl.render.advice import advice
from mlctl.render.terminal import clean
from mlctl.render.tree import Ink, Paper, scalar

_DASH = "–"  # noqa: RUF001  # the sign of what was passed over
_SHOWN = 20  # skipped or cancelled resources that are named one by one


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of a step while it runs, and when it has ended."""

    now: str
    done: str
    failed: str


@dataclass(frozen=True)
class Outcome:
    """How an apply ended: the last event of every step that had one, and what was really done.

    A replacement counts as one destroyed as soon as the old resource is gone, and as one added when
    the new one is there. What was found as planned already counts as nothing.
    """

    done: tuple[Event, ...]
    failed: tuple[Event, ...]
    skipped: tuple[Event, ...]
    cancelled: tuple[Event, ...]
    added: int = 0
    changed: int = 0
    destroyed: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything was done."""
        return not (self.failed or self.skipped or self.cancelled)

    @property
    def stale(self) -> bool:
        """Whether the world was found to have moved since the plan was made."""
        return any(isinstance(event.error, Stale) for event in self.failed)

    @property
    def timed_out(self) -> bool:
        """Whether something took longer than it may; it may still go on."""
        return any(event.error and event.error.code == TIMED_OUT for event in self.failed)

    @property
    def wrote(self) -> bool:
        """Whether anything was written at all."""
        return any(event.wrote for event in self.done)

    @cached_property
    def lost(self) -> list[Address]:
        """What was destroyed to be replaced, and is not there now."""
        gone = {event.step.target for event in self.done if event.step.verb is Verb.DELETE}
        unmade = (*self.failed, *self.skipped, *self.cancelled)
        return sorted({one.step.target for one in unmade if one.step.verb is Verb.PUT} & gone)


def collect(
    events: Iterable[Event],
    work: Work,
    actions: Mapping[Address, Action],
    tell: Callable[[Event], None],
) -> Outcome:
    """Pass every event on, and sum them up at the end.

    `actions` says what the plan does to each resource.
    """
    last: dict[int, Event] = {}
    for event in events:
        tell(event)
        last[event.step.id] = event
    ended = [last[step.id] for step in work.steps if step.id in last]
    by_state = {state: tuple(one for one in ended if one.state is state) for state in State}
    done = by_state[State.DONE]
    return Outcome(
        done,
        by_state[State.FAILED],
        by_state[State.SKIPPED],
        by_state[State.CANCELLED],
        *_counts(done, work, actions),
    )


def words(step: Step) -> Words:
    """What is said of a step, in Terraform's words where it has some."""
    return _WORDS.get(step.doing) or Words(step.doing, f"{step.doing} done", f"{step.doing} failed")


_WORDS = {
    "Creating": Words("Creating", "Creation complete", "Creation failed"),
    "Modifying": Words("Modifying", "Modifications complete", "Modification failed"),
    "Destroying": Words("Destroying", "Destruction complete", "Destruction failed"),
    "Setting the default deployment of": Words(
        "Setting the default deployment",
        "Default deployment set",
        "Setting the default deployment failed",
    ),
    "Unsetting the default deployment of": Words(
        "Unsetting the default deployment",
        "Default deployment unset",
        "Unsetting the default deployment failed",
    ),
}


_OWN = ("Creating", "Modifying", "Destroying")  # a target's own writes


def summary(outcome: Outcome, *, color: bool = False, destroying: bool = False) -> str:
    """The last words of an apply: the counts, each failure at its cause, and how to go on."""
    paper = Paper(color)
    numbers = (
        f"{outcome.added} added, {outcome.changed} changed, {outcome.destroyed} destroyed"
        if not destroying
        else f"{outcome.destroyed} destroyed"
    )
    verb = "Destroy" if destroying else "Apply"
    if outcome.complete:
        return paper.ink(f"{verb} complete! Resources: {numbers}.", Ink.ADDED) + "\n"
    state = "failed" if outcome.failed else "was cancelled"
    lines = [paper.ink(f"{verb} {state}. Resources: {numbers}.", Ink.ALARM)]
    lines += _failures(outcome, paper)
    lines += _cancelled(outcome, paper)
    lines += [
        f"\n{one} was destroyed to be replaced, and is not there now." for one in outcome.lost
    ]
    lines += ["", _way_on(outcome)]
    return "\n".join(lines) + "\n"


def _counts(
    done: Iterable[Event], work: Work, actions: Mapping[Address, Action]
) -> tuple[int, int, int]:
    """How many resources were added, changed and destroyed."""
    of: dict[Address, list[Event]] = defaultdict(list)
    steps: dict[Address, int] = defaultdict(int)
    for step in work.steps:
        steps[step.change] += 1
    for event in done:
        of[event.step.change].append(event)
    added = changed = destroyed = 0
    for address, events in of.items():
        action = actions.get(address, Action.NO_OP)
        made = any(one.wrote for one in events if one.step.verb is Verb.PUT)
        destroyed += any(
            one.wrote or one.step.subsumed for one in events if one.step.verb is Verb.DELETE
        )
        if action in (Action.CREATE, Action.REPLACE):
            added += made
        elif action is Action.UPDATE:
            changed += made and len(events) == steps[address]
    return added, changed, destroyed


def _failures(outcome: Outcome, paper: Paper) -> Iterator[str]:
    skipped: dict[int, list[str]] = defaultdict(list)
    for event in outcome.skipped:
        if event.because is not None and event.because.target != event.step.target:
            skipped[event.because.id].append(_named(event.step))
    for event in outcome.failed:
        step, error = event.step, event.error
        yield ""
        yield f"{paper.ink('✗', Ink.ALARM)} {step.target}: {words(step).failed}"
        if error is not None:
            yield from (f"    {line}" for line in said_of(error))
        named = list(dict.fromkeys(skipped[step.id]))
        for one in named[:_SHOWN]:
            yield f"  {_DASH} {one}: skipped because of {step.target}"
        if len(named) > _SHOWN:
            yield f"  {_DASH} and {len(named) - _SHOWN} more: skipped because of {step.target}"


def _named(step: Step) -> str:
    """`compute/c`; what is not the making of the resource itself is told from it."""
    if step.doing in _OWN:
        return str(step.target)
    now = words(step).now
    return f"{step.target} ({now[:1].lower()}{now[1:]})"


def said_of(error: BackendError) -> Iterator[str]:
    """The refusal in the service's words, and what to do about it."""
    yield clean(f"({error.code}) {error.message}")
    if isinstance(error, NotEffective):
        for one in error.wrong:
            found = "nothing" if one.before is None else scalar(one.before)
            promised = "nothing" if one.after is None else scalar(one.after)
            yield f"`{pointer.dotted(one.at)}`: promised {promised}, found {found}"
    yield from (clean(detail) for detail in error.details)
    if error.request_id:
        yield f"request: {clean(error.request_id)}"
    hint = _advice(error)
    if hint:
        yield f"hint: {hint}"


def _advice(error: BackendError) -> str | None:
    match error:
        case Stale():
            return "see what moved, and what is left to do: mlctl plan"
        case NotEffective():
            return "the service took the request and kept its own value; accept that, or ask why"
        case _:
            return advice(error)


def _cancelled(outcome: Outcome, paper: Paper) -> Iterator[str]:
    targets = list(dict.fromkeys(_named(event.step) for event in outcome.cancelled))
    if targets:
        yield ""
        yield paper.ink("Not started:", Ink.STRONG)
        yield from (f"  {_DASH} {target}" for target in targets[:_SHOWN])
        if len(targets) > _SHOWN:
            yield f"  {_DASH} and {len(targets) - _SHOWN} more"


def _way_on(outcome: Outcome) -> str:
    if outcome.stale:
        return "Nothing was overwritten. Make a new plan, and apply that."
    return "What was done stays. Run the same command again to do the rest."
