"""Jobs of a workspace: a row for what was submitted, and the engine's view of its progress."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from sqlite3 import Connection
from typing import Any

from mlctl.dataclasses import dataclass, replace
from mlctl.digests import uuid_of
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import CONFLICT, NotFound, Permanent
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import bad, conflict
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle, ensure_workspace
from mlctl.simulator.engine import views
from mlctl.simulator.engine.commands import CancelJob, Command, EngineError
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import HOUR
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.views import JobView

_JOB = "SELECT name, kind, endpoint, deployment, created, note, parent FROM jobs "
_OWN = (
    "changed",
    "checkpointFirst",
    "reuseKey",
    "results",
    "failure",
)  # of what is noted of a job, what is not of its body
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}")

DEFAULT_FILE = "predictions.csv"  # of the rows of a batch job, unless something names another


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it was submitted; `kind` is ARM's job type, `note` are further ARM properties.

    `parent` is the job of which it is a step or trial.
    """

    name: str
    kind: str
    endpoint: str | None
    deployment: str | None
    created: float
    note: Mapping[str, Data]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job: its row, and the engine's view of it."""

    row: JobRow
    view: JobView

    @property
    def modified(self) -> float:
        """Return when it last began, ended, or was renamed."""
        moments = (self.view.submitted, self.view.started, self.view.ended)
        return max(
            moment for moment in (*moments, self.row.note.get("changed")) if moment is not None
        )

    def body(self, scope: Scope) -> dict[str, Data]:
        """Return ARM's JSON of the job, with figures of the simulated cloud under `run`."""
        row, view = self.row, self.view
        note = {key: value for key, value in row.note.items() if key not in _OWN}
        notice = {"notice": note.pop("notice")} if "notice" in note else {}
        work = {"work": note.pop("work")} if "work" in note else {}
        invoked = {"endpointName": row.endpoint, "deploymentName": row.deployment}
        times = {
            "startTime": None if view.started is None else clock.iso(view.started),
            "endTime": None if view.ended is None else clock.iso(view.ended),
        }
        properties = {
            "jobType": row.kind,
            "status": view.status.value,
            **note,
            **{key: value for key, value in (invoked | times).items() if value is not None},
            **({"parentJobName": row.parent} if row.parent else {}),
            "run": measurements(view) | work | notice,
        }
        return {
            "id": f"{scope.id}/jobs/{row.name}",
            "name": row.name,
            "type": f"{PROVIDER}/workspaces/jobs",
            "systemData": {"createdAt": clock.iso(row.created), "createdByType": "User"},
            "properties": properties,
        }


@dataclass(frozen=True, slots=True)
class WorkspaceTransaction(replay.EngineTransaction):
    """A write transaction for the jobs of a workspace, which has the `state`."""

    state: WorkspaceState

    def engine_name(self, name: str) -> str:
        """Return the engine's name of a cluster, pool or job of the workspace."""
        return command_log.engine_name(self.state.id, name)

    def require(self, address: Address) -> StoredResource:
        """Return a resource that a job needs, as `require_resource`."""
        return require_resource(self.db, self.state, address)


@contextmanager
def transaction(
    workspace: WorkspaceHandle, *, creates: bool = False
) -> Iterator[WorkspaceTransaction]:
    """Begin a write transaction with the engine at the clock's time; it may make the workspace."""
    with replay.transaction(workspace.store) as turn:
        state = ensure_workspace(turn.db, workspace) if creates else workspace.state(turn.db)
        yield WorkspaceTransaction(turn.db, turn.cache, state)


def get_job(workspace: WorkspaceHandle, name: str) -> JobRecord:
    """Return a job as it is now."""
    with replay.current(workspace.store) as world, workspace.store.read() as db:
        state = workspace.state(db)
        return job_record(world, state.id, job_row(db, state, name))


def list_jobs(
    workspace: WorkspaceHandle,
    endpoint: str | None = None,
    deployment: str | None = None,
    *,
    archived: bool | None = None,
    limit: int | None = None,
) -> list[JobRecord]:
    """List at most `limit` jobs of the workspace (or an endpoint or deployment), newest first.

    With `archived` only those that are archived, or that are not. Steps and trials are not among
    them: see `children`.
    """
    with replay.current(workspace.store) as world, workspace.store.read() as db:
        state = workspace.state(db)
        if endpoint is not None:
            require_resource(db, state, Address("batch-endpoint", endpoint))
            if deployment is not None:
                require_resource(db, state, Address("batch-deployment", deployment, endpoint))
        query = _JOB + "WHERE workspace = ? AND parent IS NULL"
        query += " AND endpoint IS coalesce(?, endpoint) COLLATE NOCASE"
        query += " AND deployment IS coalesce(?, deployment) COLLATE NOCASE ORDER BY id DESC"
        read = map(_row, db.execute(query, (state.id, endpoint, deployment)))
        matching = (row for row in read if archived in (None, bool(row.note.get("isArchived"))))
        return [job_record(world, state.id, row) for row in islice(matching, limit)]


def children(workspace: WorkspaceHandle, name: str) -> list[JobRecord]:
    """Return the steps of a pipeline or the trials of a sweep, each after those that it needs."""
    with replay.current(workspace.store) as world, workspace.store.read() as db:
        state = workspace.state(db)
        parent = job_row(db, state, name).name
        query = _JOB + "WHERE workspace = ? AND parent = ? ORDER BY id"
        read = db.execute(query, (state.id, parent)).fetchall()
        return [job_record(world, state.id, _row(job)) for job in read]


def change(workspace: WorkspaceHandle, name: str, changes: Mapping[str, Data]) -> JobRecord:
    """Change what describes a job and whether it is archived; what it runs stays.

    Raises:
        ServiceError: there is none of that name (404), or a step or trial is archived (400).
    """
    with transaction(workspace) as turn:
        state = turn.state
        row = job_row(turn.db, state, name)
        if row.parent is not None and changes.get("isArchived"):
            raise bad(f"The job `{name}` is a part of `{row.parent}`: it is archived with that.")
        note = {**row.note, **changes, "changed": state.now}
        turn.db.execute(
            "UPDATE jobs SET note = ? WHERE key = ? AND workspace = ?",
            (json.dumps(note), rows.fold_case(row.name), state.id),
        )
        return job_record(turn.world, state.id, replace(row, note=note))


def cancel(workspace: WorkspaceHandle, name: str) -> JobRecord:
    """Cancel a job."""
    with transaction(workspace) as turn:
        row = job_row(turn.db, turn.state, name)
        with translate_refusals(turn.state.id, CONFLICT):
            replay.run_command(turn, CancelJob(turn.engine_name(row.name)))
        return job_record(turn.world, turn.state.id, row)


def job_row(db: Connection, state: WorkspaceState, name: str) -> JobRow:
    """Return the row of a job.

    Raises:
        ServiceError: there is no job of that name (404).
    """
    key = (rows.fold_case(name), state.id)
    row = db.execute(_JOB + "WHERE key = ? AND workspace = ?", key).fetchone()
    if row is None:
        text = f"There is no job `{name}` in workspace {state.scope.workspace}."
        raise NotFound("ResourceNotFound", text)
    return _row(row)


def add_job(transaction: WorkspaceTransaction, row: JobRow) -> None:
    """Store a new job.

    Raises:
        ServiceError: the name is in use (409) or not valid.
    """
    if not _NAME.fullmatch(row.name):
        rule = "1 to 255 letters, digits, `-` and `_`, starting with a letter or digit"
        raise bad(f"The job name `{row.name}` is invalid: {rule}.", "InvalidJobName")
    db, key = transaction.db, (rows.fold_case(row.name), transaction.state.id)
    if db.execute("SELECT 1 FROM jobs WHERE key = ? AND workspace = ?", key).fetchone():
        text = f"A job `{row.name}` exists already; the name of a job is taken for ever."
        raise conflict(text, "JobNameConflict")
    note = json.dumps(row.note)
    parts = (row.name, row.kind, row.endpoint, row.deployment, row.created, note, row.parent)
    db.execute(
        "INSERT INTO jobs (key, workspace, name, kind, endpoint, deployment, created, note, parent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*key, *parts),
    )


def submit(
    transaction: WorkspaceTransaction, row: JobRow, command: Command, steps: Iterable[JobRow] = ()
) -> JobRecord:
    """Store a new job with its steps, if it has any, and submit it to the engine."""
    for new_row in (row, *steps):
        add_job(transaction, new_row)
    with translate_refusals(transaction.state.id):
        replay.run_command(transaction, command)
    return job_record(transaction.world, transaction.state.id, row)


def new_name(transaction: WorkspaceTransaction, prefix: str) -> str:
    """Return an unused name, derived from the seed and the number of jobs."""
    (count,) = transaction.db.execute("SELECT count(*) FROM jobs").fetchone()
    return f"{prefix}-{uuid_of(f'{transaction.state.seed}/job/{count}')}"


def require_resource(db: Connection, state: WorkspaceState, address: Address) -> StoredResource:
    """Return a resource that a job needs.

    Raises:
        ServiceError: it does not exist, or is being deleted (404).
    """
    resource = rows.find(db, state.id, address)
    if resource is None or resource.state == "Deleting":
        text = f"There is no {address} in workspace {state.scope.workspace}."
        raise NotFound("ResourceNotFound", text)
    return resource


@contextmanager
def translate_refusals(workspace_id: int, status: int = 400) -> Iterator[None]:
    """Translate the engine's errors to service errors, with names of the workspace."""
    try:
        yield
    except EngineError as refused:
        text = str(refused).replace(f"`{workspace_id}/", "`")
        first = text.partition(" ")[0]
        text = text + "." if "_" in first else f"{text[:1].upper()}{text[1:]}."  # `p_unusable`
        code = "Conflict" if status == CONFLICT else "BadArgument"
        raise Permanent(code, text, status=status) from None


def measurements(view: JobView) -> dict[str, Data]:
    """Return the known figures of a job; the cost is "unknown" without a price."""
    return {
        "makespan_s": round_figure(view.makespan_s),
        **_work_done(view),
        "preempted_nodes": view.preempted_nodes,
        "preempted_cores": view.preempted_cores,
        "billed_node_s": round_figure(view.billed_node_s),
        "billed_node_h": round_figure(view.billed_node_s / HOUR),
        "cost": "unknown" if view.cost is None else round_figure(view.cost),
        "cost_to_come": round_figure(view.cost_to_come),
        "lost_node_s": round_figure(view.lost_node_s),
        "waits_for": view.waits_for,
        "reason": view.reason or None,
        "warning": view.warning,
    }


def _work_done(view: JobView) -> dict[str, Data]:
    """Return the work of a batch or training job, total and done."""
    if view.mini_batches is not None:
        batches = view.mini_batches
        counts = {"total": batches.total, "completed": batches.completed, "failed": batches.failed}
        return {"mini_batches": {**counts, "attempts": batches.attempts}}
    if view.members is not None:
        statuses = [status.value for status in view.members.values()]
        ended = ("Completed", "Failed", "Canceled")
        of = {word.lower(): statuses.count(word) for word in ended}
        return {"children": {"total": len(statuses), **of}}
    if view.training is not None:
        now = view.training
        steps = {"total": now.steps, "done": now.step, "saved": now.saved}
        return {"steps": steps, "restarts": now.restarts, "metric_points": now.metric_count}
    return {}


def round_figure(number: float | None) -> float | None:
    """Round to microseconds, to remove floating-point noise."""
    return None if number is None else round(number, 6)


def job_record(world: World, workspace_id: int, row: JobRow) -> JobRecord:
    """Return a job with the engine's view of it; if the user's code failed, with its own reason."""
    view = views.job(world, command_log.engine_name(workspace_id, row.name))
    if view.status is JobStatus.FAILED and row.note.get("failure"):
        view = replace(view, reason=str(row.note["failure"]))
    return JobRecord(row, view)


def _row(read: tuple[Any, ...]) -> JobRow:
    name, kind, endpoint, deployment, created, note, parent = read
    return JobRow(name, kind, endpoint, deployment, created, json.loads(note), parent)
