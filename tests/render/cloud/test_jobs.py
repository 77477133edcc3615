"""Jobs and metrics as people see them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from mlctl.backends.ports.jobs import Job, JobEvent, JobProgress
from mlctl.backends.ports.monitor import MetricInterval, Series
from mlctl.render.cloud import jobs, metrics, watch
from mlctl.render.page import charts
from tests.builders.workspace import SCOPE


def job(status: str = "Running", **run: Any) -> Job:
    """A job with some numbers."""
    properties = {"jobType": "Batch", "status": status, "run": run}
    return Job("j", {"id": "/j", "properties": properties})


def counts(completed: int, failed: int = 0, total: int = 4) -> dict[str, int]:
    """The mini-batches of a job."""
    return {"total": total, "completed": completed, "failed": failed, "attempts": completed}


def story() -> Iterator[JobProgress]:
    """A job that loses a node on its way."""
    lost = JobEvent(60.0, "PREEMPT", {"cluster": "cpu", "node": 0})
    yield JobProgress(0.0, job("Queued", mini_batches=counts(0)), {})
    yield JobProgress(60.0, job(mini_batches=counts(2)), {"running": 1, "preempted": 1}, (lost,))
    yield JobProgress(
        90_061.0, job("Completed", mini_batches=counts(3, 1)), {"idle": 2, "running": 0}
    )


def test_a_bar_shows_how_far_a_job_is_and_what_its_nodes_do() -> None:
    out = io.StringIO()
    lines = [jobs.line(event) for each in story() for event in each.events]
    last = watch.watch(story(), lambda progress: lines if progress.events else [], out)
    assert last.job.status == "Completed"
    assert "00:01:00  PREEMPT         cluster=cpu node=0" in out.getvalue()
    assert "4/4 mini-batches, 1 failed  nodes: 2 idle" in out.getvalue()


class Terminal(io.StringIO):
    """Text that is taken for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_never_behind_the_lines_above_it() -> None:
    out = Terminal()
    watch.watch(story(), lambda one: [jobs.line(event) for event in one.events], out)
    before, _, after = out.getvalue().partition("00:01:00  PREEMPT")
    assert "00:00:00 Queued" in before
    assert "00:00:00" not in after
    assert "00:01:00 Running" in after


def test_what_has_happened_before_somebody_looks_stands_above_the_bar() -> None:
    out = io.StringIO()
    past = JobEvent(5.0, "SUBMIT", {})
    told = iter([JobProgress(9.0, job("Completed"), {}, (past,))])
    watch.watch(told, lambda one: [jobs.line(event) for event in one.events], out)
    assert "00:00:05  SUBMIT" in out.getvalue()


def test_a_job_of_steps_or_of_nothing_known_has_a_bar_too() -> None:
    runs: list[dict[str, Any]] = [{"steps": {"total": 9, "done": 4, "saved": 3}}, {}]
    for run in runs:
        told = iter([JobProgress(0.0, job(**run), {})])
        assert watch.watch(told, lambda _: [], io.StringIO()).at == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "00:00:00"), (3_661, "01:01:01"), (90_061, "1d 01:01:01")]
)
def test_the_clock_counts_days(seconds: int, text: str) -> None:
    assert jobs.clock(seconds) == text


def test_an_event_is_a_line_without_what_everybody_knows() -> None:
    facts = {"job": "j", "status": "Canceled", "reason": "no capacity", "more": ""}
    said = jobs.line(JobEvent(1.0, "JOB_ENDED", facts))
    assert said == '00:00:01  JOB_ENDED       status=Canceled reason="no capacity"'


def test_a_summary_says_what_became_of_a_job() -> None:
    run = {"makespan_s": 90.0, "mini_batches": counts(2), "preempted_nodes": 2}
    told = list(jobs.summary(job("Canceled", **run, warning="lost.", reason="no capacity")))
    assert told[0] == "job j: Canceled after 1m30s, 2/4 mini-batches"
    assert told[1:] == ["lost. (2 nodes)", "reason: no capacity"]
    assert "lost. (1 node)" in jobs.summary(job(preempted_nodes=1, warning="lost."))


def test_a_job_that_says_little_is_shown_all_the_same() -> None:
    shown = jobs.resource(job(), SCOPE)
    assert (shown["name"], shown["type"], shown["inputs"]) == ("j", "batch", {})


def test_bars_are_as_long_as_their_numbers_are_large() -> None:
    drawn = charts.bars([("a", 4.0), ("bb", 2.0), ("c", 0.0)], width=20).splitlines()
    assert [line.count("█") for line in drawn] == [13, 6, 0]
    assert drawn[1].startswith("bb │")


def test_bars_can_be_plain() -> None:
    drawn = charts.bars([("a", 4.0), ("b", 1.0)], width=14, plain=True)
    assert drawn == "a |######## 4\nb |## 1\n"
    assert charts.bars([], width=10) == ""


def test_a_long_series_is_thinned_to_a_screen_and_keeps_its_end() -> None:
    rows = [(str(number), float(number)) for number in range(1000)]
    thin = charts.thin(rows)
    assert len(thin) <= 41
    assert (thin[0], thin[-1]) == (rows[0], rows[-1])
    assert charts.thin(rows[:5]) == rows[:5]


def series() -> list[Series]:
    """Two metrics over two intervals."""
    intervals = [
        MetricInterval(f"2026-01-01T0{hour}:00:00.000Z", 0.5, 0, 1, hour) for hour in (1, 2)
    ]
    return [Series(name, 3600.0, tuple(intervals)) for name in ("Preempted Nodes", "Idle Nodes")]


def test_metrics_are_rows_by_time_and_documents_with_every_number() -> None:
    assert metrics.rows(series())[1] == {
        "time": "2026-01-01T02:00:00.000Z",
        "Preempted Nodes": 2,
        "Idle Nodes": 0.5,
    }
    (first, _) = metrics.document(series())
    assert first["data"][0]["average"] == 0.5
    assert metrics.rows([]) == []


def test_a_chart_names_each_metric() -> None:
    drawn = metrics.chart(series(), width=40, plain=True)
    assert drawn.startswith("Preempted Nodes\n2026-01-01 01:00 |")
    assert "\n\nIdle Nodes\n" in drawn


def test_a_chart_draws_how_many_nodes_there_are_and_not_their_sum_over_minutes() -> None:
    eight = MetricInterval("2026-01-01T01:00:00.000Z", 8.0, 8, 8, 240)
    drawn = metrics.chart([Series("Active Nodes", 1800.0, (eight,))], width=40, plain=True)
    assert drawn.split()[-1] == "8"
