"""Quotas: what each resource claims, what is used in total, and the limits that were set.

Quotas are per subscription and region; triggers of the database keep the sums.
"""

from __future__ import annotations

from sqlite3 import Connection

from mlctl.kinds.facts import Claims


def add_claims(db: Connection, resource: int, subscription: str, claims: Claims) -> None:
    """Store what a resource claims."""
    rows = [
        (resource, subscription.casefold(), region, quota, claim.most)
        for (region, quota), claim in claims.items()
    ]
    db.executemany("INSERT INTO quota_claims VALUES (?, ?, ?, ?, ?)", rows)


def drop_claims(db: Connection, resource: int) -> None:
    """Remove the claims of a resource."""
    db.execute("DELETE FROM quota_claims WHERE resource = ?", (resource,))


def has_claims(db: Connection, resource: int) -> bool:
    """Whether a resource claims anything: what a quota refused does not."""
    claims = db.execute("SELECT 1 FROM quota_claims WHERE resource = ? LIMIT 1", (resource,))
    return claims.fetchone() is not None


def usage(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Quota -> the amount used in a region."""
    rows = db.execute(
        "SELECT quota, amount FROM quota_usage WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def limits(db: Connection, subscription: str, region: str) -> dict[str, int]:
    """Quota -> the limit that was set in a region."""
    rows = db.execute(
        "SELECT quota, amount FROM quota_limits WHERE subscription = ? AND region = ?",
        (subscription.casefold(), region),
    )
    return dict(rows.fetchall())


def set_limit(db: Connection, subscription: str, region: str, quota: str, limit: int) -> None:
    """Set the limit of a quota."""
    at = (subscription.casefold(), region, quota, limit)
    db.execute("INSERT OR REPLACE INTO quota_limits VALUES (?, ?, ?, ?)", at)
