"""The protocols of a backend that knows who wrote what, has metrics, or checks its health."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError


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
        """Return the successful writes and deletes of a resource, newest first."""

    def last_writes(self, addresses: Collection[Address]) -> Mapping[Address, Activity]:
        """Return the last recorded write or delete of each resource."""


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
        """Return metrics of the last `span` seconds (None: since the start), by interval."""


class HealthStatus(Enum):
    """The result of a health check."""

    OK = "ok"
    INFO = "info"  # worth knowing, but nothing to do
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check, what was found, and what to do about it.

    `error` is set when the check itself was refused.
    """

    name: str
    status: HealthStatus
    found: str
    advice: str | None = None
    error: ServiceError | None = None


@runtime_checkable
class SupportsHealthChecks(Protocol):
    """Can check its own health."""

    def check_health(self, now: float) -> Iterator[HealthCheck]:
        """Run the checks in order of dependency; what a failed check blocks is skipped.

        `now` is this machine's clock, in Unix seconds. Raises nothing and changes nothing.
        """


@runtime_checkable
class SupportsReport(Protocol):
    """Reports the form of its service's answers."""

    def report(self) -> Iterator[dict[str, Data]]:
        """Yield the form of the answers to a few reads: codes, header names, keys; no values."""
