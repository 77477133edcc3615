"""What a person sees while an apply runs."""

from __future__ import annotations

import io

from rich.console import Console

from mlctl.applying.events import StepEvent, StepState
from mlctl.render.apply.live import ApplyView
from tests.builders.plans import Planned, plan
from tests.builders.resources import CLUSTER

THREE = plan(*(CLUSTER.replace("cpu", name) for name in ("one", "two", "three")))


def seen(planned: Planned, *events: StepEvent, height: int = 24) -> str:
    """The view, 15 seconds after each event."""
    stream = io.StringIO()
    console = Console(file=stream, width=100, height=height)
    ticks = iter(range(0, 10_000, 15))
    view = ApplyView(console, len(planned.work.steps), lambda: float(next(ticks)))
    for event in events:
        view.show_event(event)
    console.print(view.render())
    return stream.getvalue()


def started(planned: Planned) -> list[StepEvent]:
    return [StepEvent(step, StepState.STARTED) for step in planned.work.steps]


def test_what_runs_long_is_seen_to_run_still() -> None:
    assert "compute/one-cluster: Still creating... [45s elapsed]" in seen(THREE, *started(THREE))


def test_how_far_it_is_stands_at_the_end() -> None:
    first = THREE.work.steps[0]
    text = seen(THREE, *started(THREE), StepEvent(first, StepState.DONE, wrote=True))
    assert text.splitlines()[0] == f"{first.target}: Creation complete after 45s"
    assert text.splitlines()[-1].strip() == "1/3"


def test_what_does_not_fit_is_counted() -> None:
    assert seen(THREE, *started(THREE), height=4).splitlines()[-1].strip() == "0/3, 2 more running"


def test_what_was_skipped_counts_as_ended_and_is_no_line() -> None:
    text = seen(
        THREE, StepEvent(THREE.work.steps[0], StepState.SKIPPED, because=THREE.work.steps[1])
    )
    assert text.split() == ["1/3"]
