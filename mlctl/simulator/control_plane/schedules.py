"""Schedules of a simulated cloud: jobs that start as its clock advances, or by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from sqlite3 import Connection
from typing import NamedTuple

from mlctl import pointer
from mlctl.kinds import triggers
from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.values import decode, form_of_body
from mlctl.pointer import Data, nest
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.jobs import creation, records
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.workload import DEFAULT_NAME, Workload

_MOST = 1000  # jobs of one schedule in one move of the clock; the next move starts the others
_STAMP = "%Y%m%dT%H%M%SZ"  # in the names of its jobs, as Azure has it in their display names
_ALIKE = timedelta(microseconds=1)
_EXPRESSION = re.compile(r"\$\{\{\s*(name|creation_context\.trigger_time)\s*\}\}")


class Firing(NamedTuple):
    """A moment in UTC at which a schedule starts a job in a workspace."""

    at: datetime
    name: str
    workspace: WorkspaceHandle


def start_due(store: Store, to: float) -> None:
    """Start the jobs of all schedules up to a time of the clock, each at its moment.

    A job that the service refuses (its cluster is gone) does not start, as on Azure.
    """
    with store.read() as db:
        due = sorted(_due(store, db, to), key=lambda firing: (firing.at, firing.name))
    for firing in due:
        with store.write() as db:
            operations.advance(db, (firing.at - clock.EPOCH).total_seconds())
        try:
            _start(firing)
        except ServiceError:
            continue


def trigger(workspace: WorkspaceHandle, name: str) -> JobRecord:
    """Start a job of a schedule now."""
    return _start(Firing(_moment(workspace.current.now), name, workspace))


def _start(firing: Firing) -> JobRecord:
    stored = service.require(firing.workspace, Address("schedule", firing.name))
    job = dict(pointer.get(stored.body, ("properties", "action", "jobDefinition"), {}))
    source = str(job.pop("sourceJobId", None) or "").rpartition("/")[2]
    if source:
        note = records.get_job(firing.workspace, source).row.note
        job = {**note, **{key: value for key, value in job.items() if value}}
    name = f"{stored.address.name}-{firing.at.strftime(_STAMP)}"
    words = {"name": name, "creation_context.trigger_time": firing.at.isoformat()}
    properties = {
        **_filled({key: value for key, value in job.items() if value is not None}, words),
        "displayName": name,
    }
    properties.pop("status", None)
    request = JobRequest(name, properties, Workload(), DEFAULT_NAME)
    return creation.create(firing.workspace, request)


def _filled(data: Data, words: Mapping[str, str]) -> Data:
    """Resolve a schedule's expressions in the data of a job."""
    if isinstance(data, dict):
        return {key: _filled(value, words) for key, value in data.items()}
    if isinstance(data, list):
        return [_filled(value, words) for value in data]
    return _EXPRESSION.sub(lambda match: words[match[1]], data) if isinstance(data, str) else data


def _due(store: Store, db: Connection, to: float) -> Iterator[Firing]:
    end = _moment(to)
    for scope, location, _ in list(rows.workspaces(db)):
        workspace = WorkspaceHandle(store, scope, location)
        workspace_id = workspace.state(db).id
        for stored in list(rows.list_resources(db, workspace_id, "schedule", None)):
            enabled = pointer.get(stored.body, ("properties", "isEnabled"), default=True)
            if enabled is False or stored.state != "Succeeded":
                continue
            plan = _trigger(stored.body, scope)
            created, modified = (_time(stored.body, key) for key in ("createdAt", "lastModifiedAt"))
            last = _last(db, workspace_id, stored.address.name)
            after = max(modified - _ALIKE, last) if last else modified - _ALIKE
            if plan.get("frequency") and not plan.get("start_time"):
                plan["start_time"] = created.isoformat()  # its first job starts at once
            try:
                ahead = takewhile(lambda at: at <= end, triggers.firings(plan, after))
                for at in islice(ahead, _MOST):
                    yield Firing(at, stored.address.name, workspace)
            except (ValueError, TypeError, OverflowError):
                continue  # the rules of files say what is wrong; the service takes it


def _trigger(body: Mapping[str, Data], scope: Scope) -> dict[str, Data]:
    """Return the trigger of a stored schedule, as YAML has it."""
    form = form_of_body(kind_of(Address("schedule", "")), body, scope)
    declared: dict[str, Data] = nest(decode(body, form, scope)).get("trigger", {})
    return declared


def _last(db: Connection, workspace_id: int, name: str) -> datetime | None:
    """Return the moment of the last job that a schedule has started, by its name."""
    prefix = rows.fold_case(f"{name}-")
    (key,) = db.execute(
        "SELECT max(key) FROM jobs WHERE workspace = ? AND key >= ? AND key < ?",
        (workspace_id, f"{prefix}1", f"{prefix}:"),  # `:` is the character after `9`
    ).fetchone()
    stamp = str(key or "").rpartition("-")[2]
    is_stamp = re.fullmatch(r"\d{8}t\d{6}z", stamp)
    return datetime.strptime(stamp.upper(), _STAMP).replace(tzinfo=UTC) if is_stamp else None


def _time(body: Mapping[str, Data], key: str) -> datetime:
    return datetime.fromisoformat(str(body["systemData"][key]))


def _moment(now: float) -> datetime:
    return clock.EPOCH + timedelta(seconds=now)
