"""Metrics as rows, as JSON and as charts."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.backends.ports.monitor import MetricInterval, Series
from mlctl.pointer import Data
from mlctl.render.page import charts


def document(series: Sequence[Series]) -> list[dict[str, Data]]:
    """Return every value."""
    return [
        {
            "metric": series_.name,
            "interval_s": series_.seconds,
            "data": [
                {
                    "time_stamp": interval.start,
                    "average": round(interval.average, 6),
                    "minimum": interval.minimum,
                    "maximum": interval.maximum,
                    "total": round(interval.total, 6),
                }
                for interval in series_.intervals
            ],
        }
        for series_ in series
    ]


def rows(series: Sequence[Series]) -> list[dict[str, Data]]:
    """Return a row per interval: the number of nodes lost, and averages of the other metrics."""
    starts = [interval.start for interval in series[0].intervals] if series else []
    return [
        {
            "time": start,
            **{
                series_.name: _interval_value(series_, series_.intervals[number])
                for series_ in series
            },
        }
        for number, start in enumerate(starts)
    ]


def chart(series: Sequence[Series], *, width: int, plain: bool) -> str:
    """Draw bars for each metric: the number of nodes lost, and averages of the others."""
    parts = [
        f"{series_.name}\n"
        + charts.bars(
            [
                (interval.start[:16].replace("T", " "), _interval_value(series_, interval))
                for interval in series_.intervals
            ],
            width=width,
            plain=plain,
        )
        for series_ in series
    ]
    return "\n".join(parts)


def _interval_value(series: Series, interval: MetricInterval) -> float:
    """Return the sum for losses, else the average: sums of node counts mean nothing."""
    return interval.total if series.name.startswith("Preempted") else round(interval.average, 2)
