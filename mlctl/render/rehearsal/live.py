"""The live view of a rehearsal on a terminal: its runs, and the nodes of the current one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mlctl.rehearsal.stage import SlotSpan
from mlctl.render.terminal.terminal import clean

_STATES = {"done": "green", "failed": "magenta", "lost": "red"}


@contextmanager
def viewing(stream: TextIO) -> Iterator[RehearsalView]:
    """Show a view while the block runs; it is removed at the end."""
    console = Console(file=stream, highlight=False)
    view = RehearsalView(console)
    with Live(console=console, get_renderable=view.render, refresh_per_second=8, transient=True):
        yield view


class RehearsalView:
    """The progress of the runs. Rich's own thread renders it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._name, self._begun, self._total = "", 0, 0
        self._slots: dict[tuple[int, int], SlotSpan] = {}
        self._counts: dict[tuple[int, int], Counter[str]] = {}

    def begin(self, name: str, total: int) -> None:
        """Record that a run begins, one of `total`."""
        self._name, self._total, self._begun = name, total, self._begun + 1
        self._slots, self._counts = {}, {}

    def show(self, span: SlotSpan) -> None:
        """Record that a slot has worked, or was lost."""
        slot = (span.node, span.slot)
        counts = Counter(self._counts.get(slot, ()))
        counts[span.end_state] += span.mini_batch is not None or span.end_state != "done"
        self._counts = {**self._counts, slot: counts}
        self._slots = {**self._slots, slot: span}

    def render(self) -> Group:
        """Render the current run, and a row for as many of its slots as fit."""
        slots, counts = self._slots, self._counts
        table = Table("node", "mini-batches", "failed", "lost", "last", box=None, pad_edge=False)
        room = max(self._console.height - 4, 1)
        for slot in sorted(slots)[:room]:
            last, count = slots[slot], counts[slot]
            subject = "init" if last.mini_batch is None else f"mini-batch {last.mini_batch}"
            words = Text(f"{subject} {last.end_state}", _STATES.get(last.end_state, ""))
            numbers = (str(count[state]) for state in ("done", "failed", "lost"))
            table.add_row(f"{slot[0] + 1}.{slot[1] + 1}", *numbers, words)
        hidden = f"; {len(slots) - room} more slots" if len(slots) > room else ""
        run = f"run {self._begun} of {self._total}: {clean(self._name)}{hidden}"
        return Group(Text(run), table) if slots else Group(Text(run))
