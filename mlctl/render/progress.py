"""The events of an apply as they come: a line each, or a live view where a person watches.

Both write to the stream for progress, never to the one for data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

from mlctl.applying.events import Event, State
from mlctl.kinds.address import Address
from mlctl.planning.model import Action
from mlctl.planning.steps import Step, Work
from mlctl.render.outcome import Outcome, collect, words
from mlctl.render.terminal import clean


def show(
    events: Iterable[Event], work: Work, actions: Mapping[Address, Action], stream: TextIO
) -> Outcome:
    """Write one line per event, without times: two runs of the same work write the same lines."""

    def tell(event: Event) -> None:
        said = line(event)
        if said:
            stream.write(f"{said}\n")
            stream.flush()

    return collect(events, work, actions, tell)


def watch(
    events: Iterable[Event],
    work: Work,
    actions: Mapping[Address, Action],
    stream: TextIO,
    clock: Callable[[], float],
) -> Outcome:
    """Show what runs, with how long it has been, below the lines of what has ended.

    `clock` counts seconds from anywhere. The view is gone at the end; the lines stay.
    """
    from mlctl.render.live import viewing  # noqa: PLC0415  # rich is for those who watch

    with viewing(stream, len(work.steps), clock) as tell:
        return collect(events, work, actions, tell)


def line(event: Event, seconds: float | None = None) -> str | None:
    """One event in words; None for what only the summary speaks of.

    `seconds` is how long the step took, where that is to be said.
    """
    step, said = event.step, words(event.step)
    after = f" after {elapsed(seconds)}" if seconds is not None else ""
    match event.state:
        case State.STARTED:
            return f"{step.target}: {said.now}..."
        case State.RETRYING:
            return f"{step.target}: Retrying in {event.delay or 0:g}s: {clean(str(event.error))}"
        case State.DONE:
            accepted = event.wrote and not event.waited
            done = f"{said.done}{after}" if event.wrote or step.subsumed else "Already as planned"
            return f"{step.target}: {'Accepted; not waited for' if accepted else done}"
        case State.FAILED:
            return f"{step.target}: {said.failed}{after}"
        case State.SKIPPED | State.CANCELLED:
            return None


def still(step: Step, seconds: float) -> str:
    """`compute/c: Still creating... [20s elapsed]`."""
    said = words(step).now
    return f"{step.target}: Still {said[:1].lower()}{said[1:]}... [{elapsed(seconds)} elapsed]"


def elapsed(seconds: float) -> str:
    """`7s`, `2m05s`, `1h02m`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
