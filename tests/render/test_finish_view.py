"""A job that is being finished, on a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from mlctl.finishing.outlook import Outlook
from mlctl.render.finish_view import FinishView, viewing

RUN = {"name": "night-3", "shard": 2, "tier": "dedicated", "at": 3600.0, "status": ""}
LOST = {"name": "night-2", "shard": 2, "tier": "low_priority", "at": 600.0, "status": "Canceled"}
DATA: dict[str, Any] = {
    "name": "night",
    "unit": "shard",
    "shards": {"done": 2, "total": 8},
    "files": {"total": 40, "left": 30},
    "runs": [LOST, RUN],
    "nodes": 2,
    "spent": 0.1,
    "max_cost": 4.0,
    "began": 0.0,
    "deadline_s": 7200.0,
}


def shown(data: dict[str, Any], outlook: Outlook | None, *, after_s: float = 0.0) -> list[str]:
    """The lines of the view, so long after it was told how the job stands."""
    moment = [3900.0]
    view = FinishView(Console(file=StringIO()), lambda: moment[0])
    view.show(data, outlook._asdict() if outlook is not None else None)
    moment[0] += after_s
    return view.render().plain.splitlines()


def test_it_says_where_the_job_stands_and_what_is_to_come() -> None:
    bar, now, cost, left = shown(DATA, Outlook(1800.0, 2400.0, 1.5, 0.02))
    assert bar == "night  [######..................] 2 of 8 shards, 1 runs lost"
    assert now == "now    night-3: shard 3 on 2 dedicated nodes, for 5m00s"
    assert cost == "cost   0.1 USD spent of about 1.50 USD; the budget is 4.00 USD"
    assert left.startswith(
        "left   about 30m00s, at most 40m00s in 95 % of cases; 55m00s until the deadl"
    )
    assert left.endswith("late with 2.0%")


def test_time_that_passes_is_taken_off_what_is_left() -> None:
    *_, left = shown(DATA, Outlook(1800.0, 2400.0, 1.5, 0.02), after_s=600.0)
    assert left.startswith(
        "left   about 20m00s, at most 30m00s in 95 % of cases; 45m00s until the deadl"
    )


def test_of_a_training_job_it_counts_steps() -> None:
    run = {**RUN, "resumes": "night-2", "first": 150}
    training = {**DATA, "unit": "step", "files": {"total": 1000, "left": 750}, "runs": [LOST, run]}
    bar, now, cost = shown(training, None)
    assert "[######..................] 250 of 1000 steps" in bar
    assert now == "now    night-3: from step 150 of night-2 on 2 dedicated nodes, for 5m00s"
    assert cost == "cost   0.1 USD spent; the budget is 4.00 USD"


@pytest.mark.parametrize(("late", "style"), [(0.2, "yellow"), (0.01, ""), (None, "")])
def test_a_job_that_may_be_late_is_coloured(late: float | None, style: str) -> None:
    view = FinishView(Console(file=StringIO()), lambda: 0.0)
    view.show(DATA, Outlook(1.0, 2.0, 3.0, late)._asdict())
    assert view.render().style == style


def test_what_happens_is_printed_above_and_the_view_is_gone_at_the_end() -> None:
    stream = StringIO()
    with viewing(stream, lambda: 0.0) as view:
        view.say("night: shard 1 [bold] on low priority nodes")
        assert view.render().plain == ""
    assert "night: shard 1 [bold] on low priority nodes\n" in stream.getvalue()
    assert "USD" not in stream.getvalue()
