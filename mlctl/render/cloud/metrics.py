"""Metrics as rows, as JSON and as charts."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.backends.ports.metrics import MetricInterval, Series
from mlctl.pointer import Data
from mlctl.render.page import charts


def document(series: Sequence[Series]) -> list[dict[str, Data]]:
    """Every number there is."""
    return [
        {
            "metric": one.name,
            "interval_s": one.seconds,
            "data": [
                {
                    "time_stamp": each.start,
                    "average": round(each.average, 6),
                    "minimum": each.minimum,
                    "maximum": each.maximum,
                    "total": round(each.total, 6),
                }
                for each in one.intervals
            ],
        }
        for one in series
    ]


def rows(series: Sequence[Series]) -> list[dict[str, Data]]:
    """A row for each interval: how many nodes were lost, of the other metrics the average."""
    starts = [each.start for each in series[0].intervals] if series else []
    return [
        {
            "time": start,
            **{one.name: _told(one, one.intervals[number]) for one in series},
        }
        for number, start in enumerate(starts)
    ]


def chart(series: Sequence[Series], *, width: int, plain: bool) -> str:
    """Bars, one metric after the other: how many nodes were lost, of the others the average."""
    parts = [
        f"{one.name}\n"
        + charts.bars(
            [(each.start[:16].replace("T", " "), _told(one, each)) for each in one.intervals],
            width=width,
            plain=plain,
        )
        for one in series
    ]
    return "\n".join(parts)


def _told(series: Series, one: MetricInterval) -> float:
    """A sum over minutes of how many nodes there are says nothing that one can see."""
    return one.total if series.name.startswith("Preempted") else round(one.average, 2)
