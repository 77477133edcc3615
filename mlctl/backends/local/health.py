"""Health checks of the local backend."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.backends.ports.monitor import HealthCheck, HealthStatus
from mlctl.kinds.address import Scope
from mlctl.simulator.control_plane.control import CloudStatus


def check_health(status: CloudStatus, scope: Scope, location: str) -> Iterator[HealthCheck]:
    """Check the state file, and the locks on the workspace, above it and in it."""
    yield HealthCheck("backend", HealthStatus.OK, f"open, in {location}")
    locks = [
        lock
        for lock in status.locks
        if lock.holds(scope.id) or f"{lock.scope}/".casefold().startswith(f"{scope.id}/".casefold())
    ]
    for lock in locks:
        message = f"`{lock.name}` ({lock.level.value}) on {lock.scope or '/'}"
        yield HealthCheck("locks", HealthStatus.WARNING, message, _UNLOCK)
    if not locks:
        yield HealthCheck("locks", HealthStatus.OK, "none on the workspace, above it or in it")


_UNLOCK = (
    "a lock keeps clusters from growing and shrinking (resizing 0 -> 0) and from being deleted:"
    " `mlctl local lock --remove` takes it away"
)
