"""Virtual time: seconds since 2026-01-01T00:00:00Z, the same for every simulated cloud."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


END = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH).total_seconds()  # the last day of ISO 8601


def iso(now: float) -> str:
    """Format the time `now` as ARM does: `2026-01-01T00:01:00.000Z`."""
    return (EPOCH + timedelta(seconds=min(now, END))).isoformat(timespec="milliseconds")[:-6] + "Z"


def today(now: float) -> date:
    """Return the date at the time `now`, in UTC."""
    return (EPOCH + timedelta(seconds=min(now, END))).date()
