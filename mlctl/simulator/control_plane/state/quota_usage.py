"""The books of the quotas: what each resource claims of them, and what was set as their limits.

Pools are kept per subscription and region; triggers of the store keep the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection


def add_claims(
    db: Connection, resource: int, subscription: str, claims: Mapping[tuple[str, str], int]
) -> None:
    """Write down what `resource` takes: (region, pool) -> amount."""
    rows = [
        (resource, subscription.casefold(), region, pool, amount)
        for (region, pool), amount in claims.items()
    ]
    db.executemany("INSERT INTO claims VALUES (?, ?, ?, ?, ?)", rows)


def drop_claims(db: Connection, resource: int) -> None:
    """Forget what `resource` takes."""
    db.execute("DELETE FROM claims WHERE resource = ?", (resource,))


def claims_of(db: Connection, resource: int) -> dict[str, int]:
    """Pool -> what `resource` takes now."""
    rows = db.execute("SELECT pool, amount FROM claims WHERE resource = ?", (resource,))
    return dict(rows.fetchall())


def usage_and_limit(
    db: Connection, subscription: str, region: str, pool: str
) -> tuple[int, int | None]:
    """What is taken of a pool, and its limit where one was set."""
    at = (subscription.casefold(), region, pool)
    usage, cap = db.execute(
        "SELECT (SELECT amount FROM used WHERE (subscription, region, pool) = (?, ?, ?)),"
        " (SELECT cap FROM quotas WHERE (subscription, region, pool) = (?, ?, ?))",
        at + at,
    ).fetchone()
    return usage or 0, cap


def usage(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Pool -> what is taken in a region."""
    rows = db.execute(
        "SELECT pool, amount FROM used WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def limits(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Pool -> the limit that was set in a region."""
    rows = db.execute(
        "SELECT pool, cap FROM quotas WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def set_limit(db: Connection, subscription: str, region: str, pool: str, cap: int) -> None:
    """Set the limit of a pool."""
    at = (subscription.casefold(), region, pool, cap)
    db.execute("INSERT OR REPLACE INTO quotas VALUES (?, ?, ?, ?)", at)
