"""The live view of `mlctl finish` on a terminal: the state of a job, and its outlook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from mlctl.durations import elapsed
from mlctl.render.finish import TIERS, amount, part, remainder, usd
from mlctl.render.terminal.terminal import clean

Coming = Mapping[str, float | None]  # an outlook as data

_BAR = 24  # characters
_LIKELY = 0.05  # from this chance on, being late is a warning


@contextmanager
def viewing(stream: TextIO, now: Callable[[], float]) -> Iterator[FinishView]:
    """Show a view while the block runs; it is removed at the end. See `FinishView`."""
    console = Console(file=stream, highlight=False)
    view = FinishView(console, now)
    with Live(console=console, get_renderable=view.render, refresh_per_second=2, transient=True):
        yield view


class FinishView:
    """Lines of events, and below them the state of the job. Rich's own thread renders it.

    `now` returns the time of the job's clock.
    """

    def __init__(self, console: Console, now: Callable[[], float]) -> None:
        self._console, self._now = console, now
        self._data: Mapping[str, Any] | None = None
        self._outlook: Coming | None = None
        self._as_of = 0.0

    def say(self, line: str) -> None:
        """Print a line above the view."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, data: Mapping[str, Any], outlook: Coming | None) -> None:
        """Show this state of the job, and its outlook."""
        self._data, self._outlook, self._as_of = data, outlook, self._now()

    def render(self) -> Text:
        """Render the state of the job in three or four lines."""
        if self._data is None:
            return Text("")
        lines = standing(self._data, self._outlook, self._now(), self._as_of)
        style = "yellow" if _is_risky(self._outlook) else ""
        return Text("\n".join(map(clean, lines)), style, no_wrap=True, overflow="ellipsis")


def standing(
    data: Mapping[str, Any], outlook: Coming | None, now: float, as_of: float
) -> Iterator[str]:
    """Describe the state of a job; the outlook was made at `as_of`."""
    (done, total, noun), runs = amount(data), data["runs"]
    lost = sum(run["status"] == "Canceled" for run in runs)
    filled = _BAR * done // max(total, 1)
    bar = f"[{'#' * filled}{'.' * (_BAR - filled)}]"
    yield f"{data['name']}  {bar} {done} of {total} {noun}s, {lost} runs lost"
    run = runs[-1] if runs and not runs[-1]["status"] else None
    if run is not None:
        took = elapsed(max(now - run["at"], 0))
        nodes = f"{data['nodes']} {TIERS[run['tier']]} node{'s' if data['nodes'] > 1 else ''}"
        yield f"now    {run['name']}: {part(run)} on {nodes}, for {took}"
    spent = f"{usd(data['spent'])} spent"
    spent += f" of about {usd(outlook['cost'])}" if outlook is not None else ""
    budget = f"; the budget is {usd(data['max_cost'])}" if data["max_cost"] is not None else ""
    yield f"cost   {spent}{budget}"
    if outlook is not None:
        yield f"left   {remainder(data, outlook, now, as_of)}"


def _is_risky(outlook: Coming | None) -> bool:
    return outlook is not None and (outlook["late"] or 0.0) > _LIKELY
