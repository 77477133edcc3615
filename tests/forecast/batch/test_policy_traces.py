"""Policies on traces of nine zones: no deadline is missed that dedicated nodes would have kept.

The traces are made, or the public ones where `SPOT_TRACES` names their folder; see `bench.traces`.
"""

from __future__ import annotations

import pytest

from bench import traces
from bench.figure import Effort
from mlctl.forecast.batch.policy import Way

STARTS = 540


@pytest.mark.slow
@pytest.mark.parametrize(("work_h", "deadline_h"), [goal[:2] for goal in traces.GOALS])
def test_every_deadline_is_kept_and_no_policy_beats_the_omniscient_bound(
    work_h: float, deadline_h: float
) -> None:
    bound, _, _ = traces.costs(None, work_h, deadline_h, traces.STARTS)
    ratios = []
    for way in (Way.DEADLINE, Way.UNIFORM_PROGRESS, Way.RESERVE):
        ratio, kept, count = traces.costs(way, work_h, deadline_h, traces.STARTS)
        assert (kept, count) == (STARTS, STARTS)
        assert bound < ratio < 1
        ratios.append(ratio)
    assert min(ratios) == ratios[-1]


@pytest.mark.slow
def test_the_table_misses_none_of_its_goals() -> None:
    figures = list(traces.figures(Effort()))
    assert len(figures) == 4 * len(traces.GOALS)
    assert all(figure.met for figure in figures)
