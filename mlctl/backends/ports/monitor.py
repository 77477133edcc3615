"""The protocols of a backend that knows who wrote what and when, or has metrics of clusters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address


@dataclass(frozen=True, slots=True)
class Activity:
    """A write or delete of a resource: when (ISO 8601), what, and by whom ("": unknown)."""

    at: str
    verb: str
    caller: str


@runtime_checkable
class SupportsActivity(Protocol):
    """Keeps a log of writes, without what was written."""

    def activity(self, address: Address) -> list[Activity]:
        """The writes and deletes of a resource that took effect, newest first.

        Raises:
            ServiceError: the log may not be read.
        """

    def last_writes(self, addresses: Collection[Address]) -> Mapping[Address, Activity]:
        """The last write or delete of each of these that the log knows.

        Raises:
            ServiceError: the log may not be read.
        """


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
        """Metrics of the last `span` seconds (None: since the start), by a suitable interval.

        Raises:
            NotFound: there is no such cluster.
            ServiceError: there is no such metric, or the interval makes no sense.
        """
