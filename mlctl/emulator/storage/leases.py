"""Leases of blobs, by Lease Blob of Azure Storage's REST API and its table of outcomes by state.

https://learn.microsoft.com/rest/api/storageservices/lease-blob. Leases last by the wall clock of
the emulator's settings, not by the virtual one: those who renew them are real processes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from mlctl import source
from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.emulator.http.messages import Request
from mlctl.pointer import Data
from mlctl.service_errors import CONFLICT, PRECONDITION_FAILED, Permanent

NOTE = "lease"  # the key of a blob's note
_INFINITE, _SHORTEST, _LONGEST = -1, 15, 60  # seconds
_ID = "x-ms-lease-id"


class LeaseState(StrEnum):
    """The states of a lease, in Azure's words."""

    AVAILABLE = "available"
    LEASED = "leased"
    EXPIRED = "expired"
    BREAKING = "breaking"
    BROKEN = "broken"


_LOCKED = (LeaseState.LEASED, LeaseState.BREAKING)


@dataclass(frozen=True, slots=True)
class BlobLease:
    """The lease of a blob, as its note has it; moments are Unix seconds, infinity is for ever."""

    id: str = ""
    duration: int = 0
    until: float = 0.0
    breaks_at: float | None = None

    @classmethod
    def of(cls, note: Mapping[str, Data] | None) -> BlobLease:
        """Read the lease of a blob's note."""
        return cls(**(note or {}).get(NOTE, {}))

    def to_note(self) -> dict[str, Data]:
        """Return the lease as a part of the note; {} for none."""
        return {NOTE: asdict(self)} if self.id else {}

    def state(self, now: float) -> LeaseState:
        """Return its state at a moment."""
        if not self.id:
            return LeaseState.AVAILABLE
        if self.breaks_at is not None:
            return LeaseState.BROKEN if now >= self.breaks_at else LeaseState.BREAKING
        return LeaseState.EXPIRED if now >= self.until else LeaseState.LEASED

    def is_of(self, name: str) -> bool:
        """Whether this is the id of the lease."""
        return bool(self.id) and self.id.casefold() == name.casefold()


def headers(note: Mapping[str, Data], now: float) -> dict[str, str]:
    """Return what the properties of a blob say of its lease."""
    lease = BlobLease.of(note)
    state = lease.state(now)
    fields = {"x-ms-lease-state": state.value}
    fields["x-ms-lease-status"] = "locked" if state in _LOCKED else "unlocked"
    if state is LeaseState.LEASED:
        fields["x-ms-lease-duration"] = "infinite" if lease.duration == _INFINITE else "fixed"
    return fields


def after_write(note: Mapping[str, Data] | None, request: Request, now: float) -> dict[str, Data]:
    """Return the lease that remains after a write: an expired one is dropped."""
    lease, name = BlobLease.of(note), request.header(_ID)
    if lease.state(now) in _LOCKED:
        if not name:
            raise _refusal("LeaseIdMissing")
        if not lease.is_of(name):
            raise _refusal("LeaseIdMismatchWithBlobOperation")
        return lease.to_note()
    if name:
        raise _refusal("LeaseNotPresentWithBlobOperation")
    return {}


def check_read(note: Mapping[str, Data], request: Request, now: float) -> None:
    """Check the lease that a read names, if it names one."""
    if request.header(_ID):
        after_write(note, request, now)


Answer: TypeAlias = tuple[int, dict[str, str]]


def change(lease: BlobLease, request: Request, now: float) -> tuple[BlobLease, Answer]:
    """A lease operation: the lease after it, and the status and the headers of the answer."""
    match request.header("x-ms-lease-action").casefold():
        case "acquire":
            new = _acquire(lease, request, now)
            return new, (201, {_ID: new.id})
        case "renew":
            _check_holder(lease, request.header(_ID))
            if lease.state(now) in (LeaseState.BREAKING, LeaseState.BROKEN):
                raise _refusal("LeaseIsBrokenAndCannotBeRenewed")
            expires_at = math.inf if lease.duration == _INFINITE else now + lease.duration
            new = replace(lease, until=expires_at)
            return new, (200, {_ID: new.id})
        case "change":
            new_id = request.header("x-ms-proposed-lease-id")
            new = _change_id(lease, request.header(_ID), new_id, now)
            return new, (200, {_ID: new.id})
        case "release":
            _check_holder(lease, request.header(_ID))
            return BlobLease(), (200, {})
        case "break":
            new = _break(lease, request, now)
            remaining = math.ceil(max(0.0, (new.breaks_at or now) - now))
            return new, (202, {"x-ms-lease-time": str(remaining)})
        case _:
            raise _invalid("x-ms-lease-action")


def _acquire(lease: BlobLease, request: Request, now: float) -> BlobLease:
    proposed_id = request.header("x-ms-proposed-lease-id")
    state = lease.state(now)
    if state is LeaseState.BREAKING and lease.is_of(proposed_id):
        raise _refusal("LeaseIsBreakingAndCannotBeAcquired")
    if state in _LOCKED and not lease.is_of(proposed_id):
        raise _refusal("LeaseAlreadyPresent")
    duration = _number(request, "x-ms-lease-duration")
    if duration != _INFINITE and not _SHORTEST <= (duration or 0) <= _LONGEST:
        raise _invalid("x-ms-lease-duration")
    assert duration is not None
    expires_at = math.inf if duration == _INFINITE else now + duration
    return BlobLease(proposed_id or str(uuid4()), duration, expires_at)


def _change_id(lease: BlobLease, name: str, new_id: str, now: float) -> BlobLease:
    if not new_id:
        raise _invalid("x-ms-proposed-lease-id")
    state = lease.state(now)
    if state not in _LOCKED:
        raise _refusal("LeaseNotPresentWithLeaseOperation")
    is_same = lease.is_of(new_id) and state is LeaseState.LEASED  # asked for again
    if not lease.is_of(name) and not is_same:
        raise _refusal("LeaseIdMismatchWithLeaseOperation")
    if state is LeaseState.BREAKING:
        raise _refusal("LeaseIsBreakingAndCannotBeChanged")
    return replace(lease, id=new_id)


def _break(lease: BlobLease, request: Request, now: float) -> BlobLease:
    period = _number(request, "x-ms-lease-break-period")
    if period is not None and not 0 <= period <= _LONGEST:
        raise _invalid("x-ms-lease-break-period")
    match lease.state(now):
        case LeaseState.AVAILABLE:
            raise _refusal("LeaseNotPresentWithLeaseOperation")
        case LeaseState.BROKEN:
            return lease
        case LeaseState.EXPIRED:
            return replace(lease, breaks_at=now)
        case LeaseState.BREAKING:
            remaining = (lease.breaks_at or now) - now
        case LeaseState.LEASED:
            remaining = lease.until - now
    usual = 0.0 if math.isinf(remaining) else remaining
    return replace(lease, breaks_at=now + (usual if period is None else min(period, remaining)))


def _check_holder(lease: BlobLease, name: str) -> None:
    if not lease.is_of(name):
        raise _refusal("LeaseIdMismatchWithLeaseOperation")


def _number(request: Request, name: str) -> int | None:
    text = request.header(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise _invalid(name) from None


def _invalid(name: str) -> Permanent:
    text = "The value for one of the HTTP headers is not in the correct format."
    return Permanent("InvalidHeaderValue", f"{text} ({name})")


def _refusal(code: str) -> Permanent:
    of_write = code == "LeaseIdMissing" or code.endswith("WithBlobOperation")
    return Permanent(code, _texts()[code], status=PRECONDITION_FAILED if of_write else CONFLICT)


@cache
def _texts() -> Mapping[str, str]:
    texts: dict[str, str] = source.plain(Path(__file__).with_suffix(".yml").read_text("utf-8"))
    return texts
