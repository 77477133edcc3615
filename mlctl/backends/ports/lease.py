"""The protocols of a backend with leases, and with journals that are written under them.

A lease says who alone may apply a project to a workspace, a journal what a long job does next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from mlctl.backends.ports.backend import Backend
from mlctl.dataclasses import asdict, dataclass
from mlctl.pointer import Data
from mlctl.service_errors import CONFLICT, Permanent

LEASE_S = 60.0  # how long a lease lasts unless renewed; Azure Storage allows no more
FINISH = "finish/"  # the prefix of the lease's name for a job that is being finished


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease: `user@host`, the process, its command, the pipeline run's URL."""

    who: str
    pid: int
    command: str
    run: str = ""

    def as_data(self) -> dict[str, Data]:
        """Return the holder as JSON data."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Data]) -> Holder:
        """Read a holder from JSON data, in which anything may be missing."""
        text = {name: str(data.get(name) or "") for name in ("who", "command", "run")}
        pid = data.get("pid")
        return cls(pid=pid if isinstance(pid, int) else 0, **text)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease on what a project declares in a workspace.

    `token` is the fencing token, which grows with each acquisition; `id` is known to the holder
    alone. `since` and `ends` are in Unix seconds: it `ends` then unless it is renewed.
    """

    project: str
    token: int
    holder: Holder
    since: float
    ends: float
    id: str = ""


class LeaseHeld(Permanent):
    """Another process holds the lease."""

    def __init__(self, lease: Lease) -> None:
        text = f"another apply of `{lease.project}` to this workspace is running"
        if lease.project.startswith(FINISH):
            name = lease.project.removeprefix(FINISH)
            text = f"another `mlctl finish` of `{name}` is running in this workspace"
        super().__init__("LeaseHeld", text, status=CONFLICT)
        self.lease = lease


class LeaseLost(Permanent):
    """The lease was broken, or expired and was taken: nothing may be written any more."""

    def __init__(self, message: str) -> None:
        super().__init__("LeaseLost", message, status=CONFLICT)


class Leases(Protocol):
    """The leases of a workspace, one per project; all may raise the store's ServiceErrors."""

    def acquire(self, project: str, holder: Holder, duration: float = LEASE_S) -> Lease:
        """Acquire the lease of a project for `duration` seconds (15 to 60).

        Raises:
            LeaseHeld: another process has it.
        """

    def renew(self, lease: Lease) -> None:
        """Extend a lease by its duration from now on, even if it has expired.

        Raises:
            LeaseLost: it was broken, or another process has taken it.
        """

    def release(self, lease: Lease) -> None:
        """Release a lease; one that is already lost is left alone."""

    def held(self) -> list[Lease]:
        """Return the current leases, by project; without their ids."""

    def break_(self, lease: Lease) -> bool:
        """Break another process's lease; return whether it was still that one."""


@runtime_checkable
class SupportsLeases(Protocol):
    """Keeps leases in its workspace."""

    @property
    def leases(self) -> Leases:
        """The leases of the workspace."""

    def under(self, lease: Lease) -> Backend:
        """Return the backend writing under a lease: writes raise LeaseLost once that is lost."""


class JournalStore(Protocol):
    """Records of a workspace by name; all may raise the store's ServiceErrors."""

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        """Add a record to a journal, creating it if needed.

        Raises:
            LeaseLost: the lease under which it is written is lost.
        """

    def read(self, name: str) -> list[Mapping[str, Data]]:
        """Return the records of a journal, in order; none if it does not exist."""

    def names(self) -> list[str]:
        """Return the names of the journals, oldest first."""


@runtime_checkable
class SupportsJournals(Protocol):
    """Keeps journals in its workspace."""

    @property
    def journals(self) -> JournalStore:
        """The journals of the workspace."""
