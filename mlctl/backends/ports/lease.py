"""The protocols of a backend that knows leases, and keeps journals under them.

A lease says who alone may apply a project to a workspace, a journal what a long job is to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from mlctl.backends.ports.backend import Backend
from mlctl.dataclasses import asdict, dataclass
from mlctl.pointer import Data
from mlctl.service_errors import CONFLICT, Permanent

LEASE_S = 60.0  # how long a lease lasts unless it is renewed; Azure Storage allows no more
FINISH = "finish/"  # before the name of a job that is being finished: what its lease is called


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease: `user@host`, the process, its command, the URL of the pipeline's run."""

    who: str
    pid: int
    command: str
    run: str = ""

    def as_data(self) -> dict[str, Data]:
        """As JSON data."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Data]) -> Holder:
        """Of JSON data, in which anything may be missing."""
        text = {name: str(data.get(name) or "") for name in ("who", "command", "run")}
        pid = data.get("pid")
        return cls(pid=pid if isinstance(pid, int) else 0, **text)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that is held, on what a project declares in a workspace.

    `token` is the fencing token, which grows with each acquisition; `id` is known to the holder
    alone. `since` and `ends` are in Unix seconds: `ends` is when it is over at the latest unless it
    is renewed.
    """

    project: str
    token: int
    holder: Holder
    since: float
    ends: float
    id: str = ""


class LeaseHeld(Permanent):
    """Another holds the lease."""

    def __init__(self, lease: Lease) -> None:
        text = f"another apply of `{lease.project}` to this workspace is running"
        if lease.project.startswith(FINISH):
            name = lease.project.removeprefix(FINISH)
            text = f"another `mlctl finish` of `{name}` is at work in this workspace"
        super().__init__("LeaseHeld", text, status=CONFLICT)
        self.lease = lease


class LeaseLost(Permanent):
    """The lease was broken, or it ran out and another has it: nothing may be written any more."""

    def __init__(self, message: str) -> None:
        super().__init__("LeaseLost", message, status=CONFLICT)


class Leases(Protocol):
    """The leases of a workspace, one for each project; all may raise the store's ServiceErrors."""

    def acquire(self, project: str, holder: Holder, duration: float = LEASE_S) -> Lease:
        """Take the lease of a project for `duration` seconds (15 to 60).

        Raises:
            LeaseHeld: another has it.
        """

    def renew(self, lease: Lease) -> None:
        """Let a lease last for its duration from now on, also where its time was over.

        Raises:
            LeaseLost: it was broken, or another has taken it.
        """

    def release(self, lease: Lease) -> None:
        """Give a lease back; one that is lost already is left alone."""

    def held(self) -> list[Lease]:
        """The leases that are held, by project; without their ids."""

    def break_(self, lease: Lease) -> bool:
        """End a lease that another holds; whether it was still that one."""


@runtime_checkable
class SupportsLeases(Protocol):
    """Keeps leases in its workspace."""

    @property
    def leases(self) -> Leases:
        """Those of the workspace."""

    def under(self, lease: Lease) -> Backend:
        """The backend as it writes under a lease: each write raises LeaseLost once that is lost."""


class Journals(Protocol):
    """Records of a workspace under names; all may raise the store's ServiceErrors."""

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        """Add a record to a journal, which its first record makes.

        Raises:
            LeaseLost: the lease under which it is written is lost.
        """

    def read(self, name: str) -> list[Mapping[str, Data]]:
        """The records of a journal, in their order; none where there is no such journal."""

    def names(self) -> list[str]:
        """The names of the journals, the oldest first."""


@runtime_checkable
class SupportsJournals(Protocol):
    """Keeps journals in its workspace."""

    @property
    def journals(self) -> Journals:
        """Those of the workspace."""
