"""A local job run: its steps on a terminal, and its result for people and for programs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.running import commands
from mlctl.running.model import JobPlan, NodeResult, RunNode, RunStatus

_STYLES = {
    RunStatus.COMPLETED: Style.GREEN,
    RunStatus.FAILED: Style.BOLD_RED,
    RunStatus.CANCELED: Style.YELLOW,
    RunStatus.NOT_STARTED: Style.GRAY,
    RunStatus.BYPASSED: Style.GRAY,
}
_LACKING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_TRACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def table(plan: JobPlan, results: Mapping[str, NodeResult], folder: Path, *, color: bool) -> str:
    """Return a line per node, the best parameters and metrics, and where the outputs are."""
    styler = Styler(color)
    longest = max(map(len, results), default=0)
    lines = []
    for name, result in results.items():
        status = styler.apply(result.status.value.ljust(10), _STYLES[result.status])
        seconds = "as before" if result.reused else f"{result.seconds:.1f} s"
        tail = clean(result.why) if result.why else _values(result.metrics)
        lines.append(f"{name.ljust(longest)}  {status}  {seconds.rjust(9)}  {tail}".rstrip())
        if result.parameters:
            lines.append(f"{' ' * longest}  with {_values(result.parameters)}")
    outputs = [name for name in plan.outputs if (folder / "outputs" / name).exists()]
    lines += [f"output {name}: {folder / 'outputs' / name}" for name in outputs]
    return "\n".join([*lines, f"logs and outputs of each step: {folder}"])


def failure(node: RunNode, result: NodeResult, again: str) -> str:
    """Explain why a node failed: the line of its code, its last output, and how to run it again."""
    lines = commands.last_lines(result.log)
    place = _own_line(node, result.folder, "\n".join(lines))
    head = f"ERROR: {node.name} ({node.where}): {result.why}"
    arrow = [f"  --> {place}"] if place else []
    text = [f"  | {clean(line)}" for line in lines]
    lacking = next(filter(None, map(_LACKING.search, reversed(lines))), None)
    if lacking is not None:
        of = f" (`{clean(node.environment.name)}` is its environment)" if node.environment else ""
        package, dot, _ = lacking[1].partition(".")
        lack = f"the version of `{package}` in this Python has no `{lacking[1]}`"
        lack = lack if dot else f"`{package}` is not installed in this Python"
        text.append(
            f"  = hint: {lack}{of}: use --python with one that has it, --environments venv"
            " to build one from the files, or install it"
        )
    return "\n".join([head, *arrow, *text, f"  = hint: to run it again: {again}"])


def as_data(plan: JobPlan, results: Mapping[str, NodeResult], folder: Path) -> dict[str, Any]:
    """Return the run as JSON: each step's status, seconds, metrics, log and outputs."""
    completed = all(result.status.is_well for result in results.values())
    return {
        "name": plan.name,
        "status": RunStatus.COMPLETED if completed else RunStatus.FAILED,
        "folder": str(folder),
        "outputs": {name: str(folder / "outputs" / name) for name in plan.outputs},
        "steps": [
            {
                "name": name,
                "status": result.status,
                "seconds": result.seconds,
                "reused": result.reused,
                "why": result.why or None,
                "metrics": dict(result.metrics),
                "parameters": dict(result.parameters),
                "log": str(result.log),
                "outputs": {
                    output: str(result.output(output)) for output in plan.nodes[name].outputs
                },
            }
            for name, result in results.items()
        ],
    }


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    )


def _own_line(node: RunNode, folder: Path, text: str) -> str | None:
    """Find the last line of a traceback that is in the user's own code, with the user's path."""
    for match in reversed(list(_TRACE.finditer(text))):
        file = Path(match["file"])
        inside = file if not file.is_absolute() else None
        for code in (folder / "code", *(folder / "trials").glob("*/code")):
            if file.is_relative_to(code):
                inside = file.relative_to(code)
        if inside is not None and node.code is not None:
            base = node.code if node.code.is_dir() else node.code.parent
            if (base / inside).is_file():
                return f"{base / inside}:{match['line']}"
    return None


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
