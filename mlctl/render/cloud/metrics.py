"""Metrics as rows, as JSON and as charts."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.backends.ports.monitor import MetricInterval, Series
from mlctl.pointer import Data
from mlctl.render.page import charts


def document(series: Sequence[Series]) -> list[dict[str, Data]]:
    """Every number there is."""
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
    """A row for each interval: how many nodes were lost, of the other metrics the average."""
    starts = [interval.start for interval in series[0].intervals] if series else []
    return [
        {
            "time": start,
            **{series_.name: _told(series_, series_.intervals[number]) for series_ in series},
        }
        for number, start in enumerate(starts)
    ]


def chart(series: Sequence[Series], *, width: int, plain: bool) -> str:
    """Bars, one metric after the other: how many nodes were lost, of the others the average."""
    parts = [
        f"{series_.name}\n"
        + charts.bars(
            [
                (interval.start[:16].replace("T", " "), _told(series_, interval))
                for interval in series_.intervals
            ],
            width=width,
            plain=plain,
        )
        for series_ in series
    ]
    return "\n".join(parts)


def _told(series: Series, interval: MetricInterval) -> float:
    """A sum over minutes of how many nodes there are says nothing that one can see."""
    return interval.total if series.name.startswith("Preempted") else round(interval.average, 2)
