"""A running job on a terminal: its events, above a progress bar with the states of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from mlctl.backends.ports.jobs import JobProgress
from mlctl.render.cloud.jobs import clock, work_done
from mlctl.render.terminal.terminal import clean


def watch(
    updates: Iterator[JobProgress], lines: Callable[[JobProgress], Sequence[str]], stream: TextIO
) -> JobProgress:
    """Show a job until it ends, and return its last progress. The bar stays.

    The bar is never behind the lines above it.
    """
    console = Console(file=stream, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(finished_style="green"),
        TextColumn("{task.fields[text]}"),
    )
    progress = first = next(updates)
    with Bars(*columns, console=console, refresh_per_second=12) as bars:
        task = bars.add_task("", total=None, text="")
        for progress in chain((first,), updates):
            _show(bars, task, progress)
            bars.refresh()  # the bar below the next lines
            for line in lines(progress):
                console.print(Text(line), soft_wrap=True)
    return progress


def _show(bars: Bars, task: TaskID, progress: JobProgress) -> None:
    run = progress.job.body["properties"].get("run", {})
    ended, total = _progress_of(run)
    nodes = ", ".join(f"{count} {state}" for state, count in progress.nodes.items() if count)
    text = "  ".join(part for part in (work_done(run), nodes and f"nodes: {nodes}") if part)
    bars.update(
        task,
        completed=ended,
        total=total,
        description=escape(clean(f"{clock(progress.at)} {progress.job.status:<9}")),
        text=escape(clean(text)),
    )


def _progress_of(run: dict[str, dict[str, int]]) -> tuple[int, int | None]:
    if "mini_batches" in run:
        counts = run["mini_batches"]
        return counts["completed"] + counts["failed"], counts["total"]
    if "steps" in run:
        return run["steps"]["done"], run["steps"]["total"]
    return 0, None
