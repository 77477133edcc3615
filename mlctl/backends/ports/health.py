"""What `mlctl doctor` asks of a backend: the things that were looked at, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from mlctl.service_errors import ServiceError


class HealthStatus(Enum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at: what was found, and what to do about it.

    `error` is the refusal that kept from looking.
    """

    name: str
    status: HealthStatus
    found: str
    advice: str | None = None
    error: ServiceError | None = None


@runtime_checkable
class SupportsHealthChecks(Protocol):
    """Can look at itself."""

    def check_health(self, now: float) -> Iterator[HealthCheck]:
        """Look at one thing after the other, what others rest on first.

        `now` is this machine's clock, in Unix seconds. Nothing is raised, nothing is changed.
        """
