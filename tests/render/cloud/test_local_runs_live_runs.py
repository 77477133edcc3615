"""What a person sees of a job's steps while they run here."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from mlctl.render.cloud.local_runs import StepsView
from mlctl.running.model import JobPlan, NodeResult, RunNode, RunStatus


def test_each_step_has_a_row_with_its_state_and_its_last_line(tmp_path: Path) -> None:
    nodes = {name: RunNode(name, "job.yml:1", "true", None, {}, {}) for name in ("a", "b", "c")}
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=24)
    view = StepsView(JobPlan("job", nodes), tmp_path, console)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "log.txt").write_text("first\nlast [bold]\n")
    view.change("a", None)
    view.change("b", None)
    view.change("b", NodeResult(RunStatus.FAILED, tmp_path / "b", 7.2, why="exit code 1"))
    console.print(view.render())
    rows = [line.split() for line in stream.getvalue().splitlines()]
    assert rows == [
        ["step", "state", "seconds", "1", "of", "3", "steps", "have", "ended"],
        ["a", "Running", "0", "last", "[bold]"],
        ["b", "Failed", "7", "exit", "code", "1"],
    ]
