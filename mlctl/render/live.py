"""What an apply is doing now, on a terminal: a spinner per running step, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from mlctl.applying.events import Event, State
from mlctl.planning.steps import Step
from mlctl.render.outcome import words
from mlctl.render.progress import line, still

_STILL = 10  # seconds after which a running step says that it still runs: Terraform's


@contextmanager
def viewing(
    stream: TextIO, total: int, clock: Callable[[], float]
) -> Iterator[Callable[[Event], None]]:
    """A view that stands while the block runs; it is told of each event of `total` steps."""
    console = Console(file=stream, highlight=False)
    view = View(console, total, clock)
    with Live(console=console, get_renderable=view.now, refresh_per_second=8, transient=True):
        yield view.tell


class View:
    """What runs now. The deciding thread tells; rich's own thread only looks at copies."""

    def __init__(self, console: Console, total: int, clock: Callable[[], float]) -> None:
        self._console = console
        self._total = total
        self._clock = clock
        self._ended = 0
        self._running: dict[int, tuple[Step, float, Spinner]] = {}

    def tell(self, event: Event) -> None:
        """Take in an event; what has ended becomes a line above the view."""
        if event.state is State.STARTED:
            self._running[event.step.id] = (event.step, self._clock(), Spinner("dots"))
            return
        seconds = None
        if event.state is not State.RETRYING:
            self._ended += 1
            _, began, _ = self._running.pop(event.step.id, (None, None, None))
            seconds = None if began is None else self._clock() - began
        said = line(event, seconds)
        if said:
            self._console.print(Text(said, _STYLES.get(event.state, "")), soft_wrap=True)

    def now(self) -> Group:
        """The running steps, as many as fit, and how far it is."""
        return Group(*self._rows())

    def _rows(self) -> Iterator[Spinner | Text]:
        room = max(self._console.height - 3, 1)
        running = list(self._running.values())
        for step, began, spinner in running[:room]:
            seconds = self._clock() - began
            now = f"{step.target}: {words(step).now}..."
            spinner.update(text=Text(still(step, seconds) if seconds >= _STILL else now))
            yield spinner
        more = f", {len(running) - room} more running" if len(running) > room else ""
        yield Text(f"{self._ended}/{self._total}{more}")


_STYLES = {State.DONE: "green", State.FAILED: "red", State.RETRYING: "yellow"}
