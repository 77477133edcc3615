"""The live view of an apply on a terminal: a spinner per running step, and a count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from mlctl.applying.events import StepEvent, StepState
from mlctl.planning.steps.work import PlanStep
from mlctl.render.apply.step_text import line, running, still_running

_STILL_RUNNING_AFTER = 10  # seconds until "Still creating": Terraform's


@contextmanager
def viewing(
    stream: TextIO, total: int, clock: Callable[[], float]
) -> Iterator[Callable[[StepEvent], None]]:
    """Show a view while the block runs; it accepts each event of `total` steps."""
    console = Console(file=stream, highlight=False)
    view = ApplyView(console, total, clock)
    with Live(console=console, get_renderable=view.render, refresh_per_second=8, transient=True):
        yield view.show_event


class ApplyView:
    """The running steps. Rich's own thread renders them, from a copy."""

    def __init__(self, console: Console, total: int, clock: Callable[[], float]) -> None:
        self._console = console
        self._total = total
        self._clock = clock
        self._ended = 0
        self._running: dict[int, tuple[PlanStep, float, Spinner]] = {}

    def show_event(self, event: StepEvent) -> None:
        """Record an event; a step that has ended becomes a line above the view."""
        if event.state is StepState.STARTED:
            self._running[event.step.id] = (event.step, self._clock(), Spinner("dots"))
            return
        seconds = None
        if event.state is not StepState.RETRYING:
            self._ended += 1
            _, began, _ = self._running.pop(event.step.id, (None, None, None))
            seconds = None if began is None else self._clock() - began
        text = line(event, seconds)
        if text:
            self._console.print(Text(text, _STYLES.get(event.state, "")), soft_wrap=True)

    def render(self) -> Group:
        """Render as many running steps as fit, and the number of those that have ended."""
        return Group(*self._rows())

    def _rows(self) -> Iterator[Spinner | Text]:
        room = max(self._console.height - 3, 1)
        steps = list(self._running.values())
        for step, began, spinner in steps[:room]:
            seconds = self._clock() - began
            late = seconds >= _STILL_RUNNING_AFTER
            spinner.update(text=Text(still_running(step, seconds) if late else running(step)))
            yield spinner
        hidden = f", {len(steps) - room} more running" if len(steps) > room else ""
        yield Text(f"{self._ended}/{self._total}{hidden}")


_STYLES = {StepState.DONE: "green", StepState.FAILED: "red", StepState.RETRYING: "yellow"}
