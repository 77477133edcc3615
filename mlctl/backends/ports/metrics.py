"""The protocol of backends that have metrics of clusters, as Azure Monitor does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address

DEFAULT_METRICS = ("Preempted Nodes", "Preempted Cores")


@dataclass(frozen=True, slots=True)
class MetricInterval:
    """A metric over an interval that begins at `start` (ISO 8601).

    `total` adds up over intervals: of preempted nodes it is how many were lost.
    """

    start: str
    average: float
    minimum: float
    maximum: float
    total: float


@dataclass(frozen=True, slots=True)
class Series:
    """One metric, in intervals of `seconds` each."""

    name: str
    seconds: float
    intervals: tuple[MetricInterval, ...]


@runtime_checkable
class SupportsMetrics(Protocol):
    """Has metrics of its clusters."""

    def metrics(
        self,
        cluster: Address,
        names: Sequence[str],
        *,
        interval: float | None = None,
        span: float | None = None,
    ) -> list[Series]:
        """Return metrics of the last `span` seconds (None: since the start), by suitable interval.

        Raises:
            NotFound: there is no such cluster.
            ServiceError: there is no such metric, or the interval makes no sense.
        """
