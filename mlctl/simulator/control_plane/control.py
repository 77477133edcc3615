"""Administration of a simulated cloud: clock, settings, quotas, faults, power, reset."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from mlctl.catalog.limits import is_low_priority_of_family, low_priority_of, quota_key
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address, Scope
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import command_log, faults, locks, service
from mlctl.simulator.control_plane.faults import ActiveFault, AnyFault
from mlctl.simulator.control_plane.locks import Lock
from mlctl.simulator.control_plane.resources import operations, quota
from mlctl.simulator.control_plane.resources.compute import INSTANCE_RUNNING, INSTANCE_STOPPED
from mlctl.simulator.control_plane.resources.operations import LongRunningOperation
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.settings import CloudSettings
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


@dataclass(frozen=True, slots=True)
class WorkspaceSummary:
    """A workspace and its number of resources by kind."""

    scope: Scope
    location: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CloudStatus:
    """The state of a simulated cloud; `now` in seconds since its epoch, `moment` in ISO 8601."""

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
    """The use and limit of a quota (None: none of its own); `is_set` if a user set the limit."""

    name: str
    used: int
    limit: int | None
    is_set: bool


class ClockError(ValueError):
    """The clock cannot be moved so far."""


def status(workspace: WorkspaceHandle) -> CloudStatus:
    """Return the state of the cloud that the workspace is in."""
    with workspace.store.read() as db:
        state = workspace.state(db)
        return CloudStatus(
            path=workspace.store.path,
            now=state.now,
            moment=clock.iso(state.now),
            seed=state.seed,
            settings=state.settings,
            workspaces=tuple(WorkspaceSummary(*row) for row in rows.workspaces(db)),
            pending=tuple(operations.pending(db)),
            faults=tuple(faults.active_faults(db)),
            locks=tuple(locks.list_locks(db)),
        )


def now(workspace: WorkspaceHandle) -> float:
    """Return the clock's time."""
    with workspace.store.read() as db:
        return float(db.execute("SELECT now FROM world").fetchone()[0])


def advance(workspace: WorkspaceHandle, seconds: float) -> float:
    """Advance the clock and end the operations that are due; return the new time.

    Raises:
        ClockError: `seconds` is negative, or leads beyond the year 9999.
    """
    if not seconds >= 0:
        raise ClockError("time does not go back: give a duration that is not negative")
    with workspace.store.read() as db:
        before = workspace.state(db).now if rows.has_schedules(db) else None
    if before is not None:
        workspace.store.start_due(workspace.store, min(before + seconds, clock.END))
    with workspace.store.write() as db:
        to = (workspace.state(db).now if before is None else before) + seconds
        if to > clock.END:
            raise ClockError("the clock ends with the year 9999: give a shorter duration")
        operations.advance(db, to)
        return to


def wait(workspace: WorkspaceHandle, seconds: float) -> None:
    """Advance the clock by some seconds, but not beyond its end.

    Raises:
        ClockError: `seconds` is negative.
    """
    advance(workspace, min(seconds, clock.END - now(workspace)))


def reset(workspace: WorkspaceHandle, seed: str) -> None:
    """Make the cloud new: no workspace, the clock at its epoch, all settings as at first."""
    with workspace.store.write() as db:
        db.execute("PRAGMA defer_foreign_keys = ON")  # in whatever order tables are emptied
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table not in ("world", "engine"):  # which have one row each
                db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own tables
        db.execute(
            "UPDATE engine SET generation = generation + 1, active = 0, now = 0, last_at = 0,"
            " last_command = 0, state = ''"
        )
        db.execute("UPDATE world SET now = 0, seed = ?, settings = '{}'", (seed,))


def cloud_settings(workspace: WorkspaceHandle) -> CloudSettings:
    """Return the settings of the control plane."""
    return workspace.current.settings


def configure(workspace: WorkspaceHandle, settings: CloudSettings) -> None:
    """Replace the settings of the control plane."""
    with workspace.store.write() as db:
        rows.save_settings(db, settings)


def quotas(workspace: WorkspaceHandle, location: str) -> tuple[QuotaStatus, ...]:
    """Return a region's quotas: the general ones, every VM family, their low-priority cores.

    `quota.EVERYWHERE` gives those that apply across regions.
    """
    with workspace.store.read() as db:
        used = rows.quotas_used(db, workspace.scope.subscription, location)
        limits = rows.quota_limits(db, workspace.scope.subscription, location)
        settings = workspace.state(db).settings
    general: tuple[str, ...] = (quota.BATCH_POOLS, quota.VMS_PER_POOL)
    families: list[str] = []
    if location != quota.EVERYWHERE:
        general = (quota.LOW_PRIORITY, quota.TOTAL, quota.COMPUTES, quota.ENDPOINTS)
        low = {name.partition("/")[2] for name in used if is_low_priority_of_family(name)}
        names = {*quota.families(), *filter(quota.is_family, (*used, *limits)), *low}
        families = sorted(names, key=str.casefold)
    return tuple(
        QuotaStatus(
            name, used.get(name, 0), limits.get(name, quota.default(name, settings)), name in limits
        )
        for name in (*general, *families, *map(low_priority_of, families))
    )


def set_quotas(workspace: WorkspaceHandle, location: str, limits: Mapping[str, int]) -> None:
    """Set the limits of quotas in a region; VM families in any letter case, with blanks or without.

    Raises:
        ValueError: a limit is negative, or unreasonably large.
    """
    if not all(0 <= limit <= quota.MOST for limit in limits.values()):
        raise ValueError(f"a quota is between 0 and {quota.MOST}")
    spelling = {quota_key(entry.name): entry.name for entry in quotas(workspace, location)}
    limits_by_name = {spelling.get(quota_key(name), name): limit for name, limit in limits.items()}
    subscription = workspace.scope.subscription
    cores = {
        quota.engine_name(subscription, location, name): limit
        for name, limit in limits_by_name.items()
        if quota.is_of_cores(name)
    }
    with workspace.store.write() as db:
        for name, limit in limits_by_name.items():
            rows.set_quota_limit(db, subscription, location, name, limit)
        if cores:
            now = workspace.state(db).now
            command = {"is": "SetQuotas", "limits": [list(limit) for limit in cores.items()]}
            command_log.append(db, now, command, quiet=True)


def add_fault(workspace: WorkspaceHandle, fault: AnyFault) -> int:
    """Set a fault; its number."""
    with workspace.store.write() as db:
        row = db.execute("INSERT INTO faults (spec, seen) VALUES (?, 0)", (faults.dump(fault),))
        return int(row.lastrowid or 0)


def clear_faults(workspace: WorkspaceHandle, numbers: Collection[int] = ()) -> int:
    """Remove the faults of these numbers, or all; how many there were.

    Raises:
        ServiceError: there is no fault of a number (404), and none was removed.
    """
    with workspace.store.write() as db:
        if not numbers:
            return db.execute("DELETE FROM faults").rowcount
        for number in numbers:
            removed = db.execute("DELETE FROM faults WHERE id = ?", (number,)).rowcount
            if not removed:
                text = (
                    f"There is no fault {number}: `mlctl local fault list` shows those there are."
                )
                raise NotFound("FaultNotFound", text)
        return len(numbers)


def switch_power(handle: WorkspaceHandle, address: Address, *, on: bool) -> int | None:
    """Begin to start or stop a compute instance; return the number of the operation.

    Raises:
        ServiceError: 404, there is none; 400, it is a cluster, which scales by itself.
    """
    resource = service.require(handle, address)
    body = json.loads(json.dumps(resource.body))
    inner = body["properties"]["properties"]
    if "state" not in inner:
        raise bad("A cluster is neither started nor stopped: it scales.")
    inner["state"] = INSTANCE_RUNNING if on else INSTANCE_STOPPED
    return service.put(handle, resource.address, body).operation
