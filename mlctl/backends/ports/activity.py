"""The protocol of a backend that records who wrote what, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
        """Return the successful writes and deletes of a resource, newest first.

        Raises:
            ServiceError: the log may not be read.
        """

    def last_writes(self, addresses: Collection[Address]) -> Mapping[Address, Activity]:
        """Return the last recorded write or delete of each resource.

        Raises:
            ServiceError: the log may not be read.
        """
