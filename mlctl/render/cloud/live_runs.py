"""The steps of a local job on a terminal while they run: state, time, last line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mlctl.render.terminal.terminal import clean
from mlctl.running import commands
from mlctl.running.model import JobPlan, NodeResult, RunStatus

_STATES = {"Running": "cyan", RunStatus.COMPLETED: "green", RunStatus.FAILED: "bold red"}


@contextmanager
def viewing(stream: TextIO, plan: JobPlan, folder: Path) -> Iterator[StepsView]:
    """Show a view while the block runs; it is removed at the end."""
    console = Console(file=stream, highlight=False)
    view = StepsView(plan, folder, console)
    with Live(console=console, get_renderable=view.render, refresh_per_second=4, transient=True):
        yield view


class StepsView:
    """The progress of the steps. Rich's own thread renders it."""

    def __init__(self, plan: JobPlan, folder: Path, console: Console) -> None:
        self._plan, self._folder, self._console = plan, folder, console
        self._begun: dict[str, float] = {}
        self._results: dict[str, NodeResult] = {}

    def change(self, name: str, result: NodeResult | None) -> None:
        """Record that a step begins or has ended."""
        if result is None:
            self._begun = {**self._begun, name: time.monotonic()}
        else:
            self._results = {**self._results, name: result}

    def render(self) -> Table:
        """Render a row per step; if they do not all fit, running ones first."""
        begun, results = self._begun, self._results
        running = [name for name in begun if name not in results]
        room = max(self._console.height - 3, 1)
        names = [name for name in self._plan.nodes if name in running or name in results]
        if len(names) > room:
            names = [*running, *(name for name in reversed(names) if name in results)][:room]
        title = f"{len(results)} of {len(self._plan.nodes)} steps have ended"
        table = Table("step", "state", "seconds", title, box=None, pad_edge=False)
        for name in names:
            result = results.get(name)
            state = "Running" if result is None else result.status.value
            seconds = time.monotonic() - begun[name] if result is None else result.seconds
            last = result.why if result else _last_line(self._folder / name)
            text = Text(clean(last), no_wrap=True, overflow="ellipsis")
            state_text = Text(state, _STATES.get(state, "yellow"))
            table.add_row(Text(name), state_text, Text(f"{seconds:.0f}", justify="right"), text)
        return table


def _last_line(folder: Path) -> str:
    """Return the last line that a step, or the newest trial of a sweep, has printed."""
    logs = [folder / commands.LOG, *folder.glob(f"trials/*/{commands.LOG}")]
    lines = [line for log in logs for line in commands.last_lines(log)[-1:]]
    return lines[-1] if lines else ""
