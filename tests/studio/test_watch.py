"""Series of numbers over time."""

from __future__ import annotations

from mlctl.studio.watch import Points


def test_of_one_moment_the_last_row_stays() -> None:
    points = Points()
    for at, row in ((1.0, (1.0,)), (1.0, (2.0,)), (2.0, (3.0,))):
        points.add(at, row)
    assert (points.times, points.rows) == ([1.0, 2.0], [(2.0,), (3.0,)])
