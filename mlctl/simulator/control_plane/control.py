"""What people set and see from outside: the clock, settings, quotas, faults, the whole state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mlctl.kinds.address import Scope
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import faults, locks
from mlctl.simulator.control_plane.faults import ActiveFault, AnyFault
from mlctl.simulator.control_plane.locks import Lock
from mlctl.simulator.control_plane.resources import operations, quota
from mlctl.simulator.control_plane.resources.operations import LongRunningOperation
from mlctl.simulator.control_plane.state import clock, quota_usage, rows, settings
from mlctl.simulator.control_plane.state.settings import CloudSettings
from mlctl.simulator.control_plane.state.store import TABLES
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_MOST = 10**12


@dataclass(frozen=True, slots=True)
class WorkspaceSummary:
    """A workspace, and how many resources of each kind it has."""

    scope: Scope
    location: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CloudStatus:
    """A simulated cloud at one moment; `now` in seconds since its epoch, `moment` as ISO 8601."""

    path: str
    now: float
    moment: str
    seed: str
    settings: CloudSettings
    workspaces: tuple[WorkspaceSummary, ...]
    pending: tuple[LongRunningOperation, ...]
    faults: tuple[ActiveFault, ...]
    locks: tuple[Lock, ...]


@dataclass(frozen=True, slots=True)
class QuotaStatus:
    """What is taken and allowed of one quota; `is_set` where somebody set the limit."""

    name: str
    used: int
    limit: int
    is_set: bool


def status(place: WorkspaceHandle) -> CloudStatus:
    """Everything worth knowing about the cloud that `place` is in."""
    with place.store.look() as db:
        world = rows.workspace_state(db, place.scope, place.location)
        return CloudStatus(
            *(place.store.path, world.now, clock.iso(world.now), world.seed, world.settings),
            tuple(WorkspaceSummary(*each) for each in rows.workspaces(db)),
            tuple(operations.pending(db)),
            tuple(faults.active_faults(db)),
            tuple(locks.list_locks(db)),
        )


def now(place: WorkspaceHandle) -> float:
    """The clock."""
    with place.store.look() as db:
        return rows.workspace_state(db, place.scope, place.location).now


def advance(place: WorkspaceHandle, seconds: float) -> float:
    """Let time pass, and end what is due by then; the time after it.

    Raises:
        ValueError: `seconds` is negative, or leads beyond the year 9999.
    """
    if not seconds >= 0:
        raise ValueError("time does not go back: give a duration that is not negative")
    with place.store.change() as db:
        to = rows.workspace_state(db, place.scope, place.location).now + seconds
        if to > clock.END:
            raise ValueError("the clock ends with the year 9999: give a shorter duration")
        operations.advance(db, to)
        return to


def reset(place: WorkspaceHandle, seed: str) -> None:
    """Make the cloud new: no workspace, the clock at its epoch, all settings as at first."""
    with place.store.change() as db:
        for table in TABLES:
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own tables
        db.execute(
            "UPDATE engine SET life = life + 1, awake = 0, now = 0, done_at = 0, done = 0,"
            " state = ''"
        )
        db.execute("UPDATE world SET now = 0, seed = ?, settings = '{}'", (seed,))


def configure(place: WorkspaceHandle, wanted: CloudSettings) -> None:
    """Set how long things take and how strict the cloud is."""
    with place.store.change() as db:
        db.execute("UPDATE world SET settings = ?", (settings.dump(wanted),))


def quotas(place: WorkspaceHandle, location: str) -> tuple[QuotaStatus, ...]:
    """The quotas of a region: the general ones, then every VM family.

    `quota.EVERYWHERE` asks for those that hold over all regions.
    """
    with place.store.look() as db:
        used = quota_usage.usage(db, place.scope.subscription, location)
        caps = quota_usage.limits(db, place.scope.subscription, location)
    general: tuple[str, ...] = (quota.BATCH_POOLS, quota.VMS_PER_POOL)
    families: set[str] = set()
    if location != quota.EVERYWHERE:
        general = (quota.LOW_PRIORITY, quota.TOTAL, quota.COMPUTES, quota.ENDPOINTS)
        families = {*quota.families(), *used, *caps} - {*quota.DEFAULTS}
    return tuple(
        QuotaStatus(
            name,
            used.get(name, 0),
            caps.get(name, quota.default(name)),
            name in caps,
        )
        for name in (*general, *sorted(families, key=str.casefold))
    )


def set_quotas(place: WorkspaceHandle, location: str, limits: Mapping[str, int]) -> None:
    """Set the limits of pools in a region; VM families in any case.

    Raises:
        ValueError: a limit is negative, or larger than any cloud.
    """
    if not all(0 <= limit <= _MOST for limit in limits.values()):
        raise ValueError(f"a quota is between 0 and {_MOST}")
    spelt = {pool.name.casefold(): pool.name for pool in quotas(place, location)}
    with place.store.change() as db:
        for name, limit in limits.items():
            pool = spelt.get(name.casefold(), name)
            quota_usage.set_limit(db, place.scope.subscription, location, pool, limit)


def add_fault(place: WorkspaceHandle, fault: AnyFault) -> int:
    """Set a fault; its number."""
    with place.store.change() as db:
        row = db.execute("INSERT INTO faults (spec, seen) VALUES (?, 0)", (faults.dump(fault),))
        return int(row.lastrowid or 0)


def clear_faults(place: WorkspaceHandle, numbers: Collection[int] = ()) -> int:
    """Remove faults, all where no number is named; how many there were.

    Raises:
        ServiceError: there is none of a number (404), and none was removed.
    """
    with place.store.change() as db:
        if not numbers:
            return db.execute("DELETE FROM faults").rowcount
        for number in numbers:
            gone = db.execute("DELETE FROM faults WHERE id = ?", (number,)).rowcount
            if not gone:
                text = (
                    f"There is no fault {number}: `mlctl local fault list` shows those there are."
                )
                raise NotFound("FaultNotFound", text)
        return len(numbers)
