"""Leases as sentences and as data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from mlctl.backends.ports.lease import Lease
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data

COLUMNS: Columns = {
    "Project": ("project",),
    "Holder": ("holder", "who"),
    "Process": ("holder", "pid"),
    "Command": ("holder", "command"),
    "Since": ("since",),
    "EndsUnlessRenewed": ("ends",),
}


def facts(lease: Lease) -> Iterator[str]:
    """Say who holds a lease, since when, and when it expires unless renewed; one sentence each."""
    holder = lease.holder
    since = moment(lease.since)
    yield f"held by {holder.who}, process {holder.pid}, since {since}: {holder.command}"
    if holder.run:
        yield f"its run: {holder.run}"
    yield f"expires at {moment(lease.ends)} at the latest, unless that process lives and renews it"


def document(lease: Lease) -> dict[str, Data]:
    """Return a lease as JSON data, with times in UTC."""
    return {
        "project": lease.project,
        "token": lease.token,
        "holder": lease.holder.as_data(),
        "since": moment(lease.since),
        "ends": moment(lease.ends),
    }


def moment(seconds: float) -> str:
    """Format Unix seconds as a time in UTC: `2026-01-01T00:01:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
