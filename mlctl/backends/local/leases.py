"""The leases and journals of a simulated workspace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from mlctl.backends.ports.lease import (
    LEASE_S,
    Holder,
    JournalStore,
    Lease,
    LeaseHeld,
    LeaseLost,
    Leases,
)
from mlctl.dataclasses import dataclass, replace
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import leases
from mlctl.simulator.control_plane.leases import LeaseRow
from mlctl.simulator.control_plane.state.workspace import Fence, WorkspaceHandle


class LocalLeases(Leases):
    """The leases of one workspace, in its database; `wall` returns Unix seconds."""

    def __init__(self, handle: WorkspaceHandle, wall: Callable[[], float]) -> None:
        self._handle = handle
        self._wall = wall

    def acquire(self, project: str, holder: Holder, duration: float = LEASE_S) -> Lease:
        from uuid import uuid4

        now = self._wall()
        row = LeaseRow(project, 0, str(uuid4()), holder.as_data(), now, now, duration)
        current, is_ours = leases.acquire(self._handle, row, now)
        if not is_ours:
            raise LeaseHeld(_lease(current))
        return replace(_lease(current), id=current.id)

    def renew(self, lease: Lease) -> None:
        with lost_leases_reported():
            leases.renew(self.fenced(lease), self._wall())

    def release(self, lease: Lease) -> None:
        leases.release(self.fenced(lease))

    def held(self) -> list[Lease]:
        return [_lease(row) for row in leases.list_held(self._handle, self._wall())]

    def break_(self, lease: Lease) -> bool:
        return leases.break_(self._handle, lease.project, lease.token)

    def fenced(self, lease: Lease) -> WorkspaceHandle:
        """Return the workspace, whose writes are refused once the lease is lost."""
        return replace(self._handle, fence=Fence(lease.project, lease.token, lease.id))


@contextmanager
def lost_leases_reported() -> Iterator[None]:
    """Raise refusals by the fence as LeaseLost within the block."""
    try:
        yield
    except Permanent as error:
        if error.code != leases.LOST:
            raise
        raise LeaseLost(error.message) from None


def _lease(row: LeaseRow) -> Lease:
    ends = row.renewed + row.duration
    return Lease(row.project, row.token, Holder.of(row.holder), row.since, ends)


@dataclass(frozen=True, slots=True)
class LocalJournals(JournalStore):
    """The journals of one workspace, in its database; each method does what its port says."""

    handle: WorkspaceHandle

    def append(self, name: str, record: Mapping[str, Data]) -> None:
        with lost_leases_reported():
            leases.append_record(self.handle, name, json.dumps(record))

    def read(self, name: str) -> list[Mapping[str, Data]]:
        return [json.loads(record) for record in leases.read_records(self.handle, name)]

    def names(self) -> list[str]:
        return leases.journal_names(self.handle)
