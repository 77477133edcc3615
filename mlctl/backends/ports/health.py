"""Health checks of a backend, as `mlctl doctor` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Protocol, runtime_checkable

from mlctl.dataclasses import dataclass
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError


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
        """Yield the form of the answers to a few reads: codes, header names, keys; no values.

        Raises:
            ServiceError: the workspace cannot be read.
        """
