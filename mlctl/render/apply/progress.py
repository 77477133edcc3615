"""The events of an apply as they come: one line each, or a live view on a terminal.

Both write to the stream for progress, never to the one for data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

from mlctl.applying.events import StepEvent
from mlctl.applying.outcome import Outcome, collect
from mlctl.kinds import Address
from mlctl.planning.model import Action
from mlctl.planning.steps.work import Work
from mlctl.render.apply.step_text import line


def show(
    events: Iterable[StepEvent], work: Work, actions: Mapping[Address, Action], stream: TextIO
) -> Outcome:
    """Write one line per event, without times, so that repeated runs write the same lines."""

    def show_event(event: StepEvent) -> None:
        text = line(event)
        if text:
            stream.write(f"{text}\n")
            stream.flush()

    return collect(events, work, actions, show_event)


def watch(
    events: Iterable[StepEvent],
    work: Work,
    actions: Mapping[Address, Action],
    stream: TextIO,
    clock: Callable[[], float],
) -> Outcome:
    """Show the running steps with their elapsed times below a line per finished step.

    `clock` returns seconds. The view is removed at the end; the lines stay.
    """
    from mlctl.render.apply.live import viewing  # noqa: PLC0415  # rich is slow to import

    with viewing(stream, len(work.steps), clock) as show_event:
        return collect(events, work, actions, show_event)
