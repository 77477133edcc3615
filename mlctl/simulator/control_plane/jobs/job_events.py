"""Jobs as they go: what happens while the clock moves, and what has happened, told again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import records
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import views
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.views import JobView


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What happened since the last one, and where the job and its cluster are now."""

    now: float
    known: JobRecord
    nodes: views.NodeCounts | None
    events: tuple[LoggedEvent, ...]


def follow(
    workspace: WorkspaceHandle, name: str, seconds: float, *, detail: bool
) -> Iterator[JobProgress]:
    """Let time pass until the job has ended, but no longer than `seconds`; tell as it goes.

    With `detail` it goes in small strides, and tells what has happened already, too; every
    mini-batch is told of, but those past that went well. The clock stands still where nothing will
    ever happen.

    Raises:
        ServiceError: there is no such job (404).
    """
    with workspace.store.read() as db:
        state = rows.workspace_state(db, workspace.scope, workspace.location)
        row = records.job_row(db, state, name)
    there = state.id
    limit = min(state.now + seconds, clock.END)
    yield _progress(workspace, there, row, tuple(_past(workspace, name)) if detail else ())
    job, events_per_slice = (
        command_log.engine_name(there, row.name),
        replay.FINE_SLICE if detail else replay.COARSE_SLICE,
    )
    for stride in replay.run_job(
        workspace.store, job, limit, events_per_slice=events_per_slice, detail=detail
    ):
        yield _progress(workspace, there, row, stride.events)


def event_lines(workspace: WorkspaceHandle, name: str) -> Iterator[str]:
    """What happened to a job and its cluster, from submitting it to its end, as JSON lines.

    Told again from the beginning of the cloud, in seconds since it was submitted: the same lines
    for the same orders and seed, however long the writes before it took.

    Raises:
        ServiceError: there is no such job (404).
    """
    view = records.get_job(workspace, name).view
    for event in _story(workspace, view):
        yield _since(view.submitted, with_resource_names(event)).line()


def _past(workspace: WorkspaceHandle, name: str) -> Iterator[LoggedEvent]:
    view = records.get_job(workspace, name).view
    quiet = ("MB_START", "MB_DONE")  # as many as there are mini-batches, when all is well
    return (event for event in _story(workspace, view) if event.event not in quiet)


def _story(workspace: WorkspaceHandle, view: JobView) -> Iterator[LoggedEvent]:
    begun = False
    for event in replay.events(workspace.store, detail=True):
        mine = event.facts.get("job") == view.name
        begun = begun or mine
        if begun and _concerns(event, view):
            yield event
        if mine and event.event == "JOB_ENDED":
            return


def metrics(workspace: WorkspaceHandle, name: str) -> list[tuple[int, float, int]]:
    """What a training job logged: the run, the second of the clock, the step.

    "The re-started job will then append to the metrics": steps repeat from run to run.

    Raises:
        ServiceError: there is no such job (404), or it is none of training.
    """
    training = records.get_job(workspace, name).view.training
    if training is None:
        raise bad(f"The job `{name}` logs no metrics: it is no training job.", "NoMetrics")
    points: list[tuple[int, float, int]] = []
    run, before = 1, 0
    for at, step in training.metrics:
        run += step <= before
        before = step
        points.append((run, at, step))
    return points


def _progress(
    workspace: WorkspaceHandle, workspace_id: int, row: JobRow, events: tuple[LoggedEvent, ...]
) -> JobProgress:
    with replay.current(workspace.store) as now:
        found = records.job_record(now, workspace_id, row)
        cluster = found.view.cluster
        there = cluster is not None and cluster in now.clusters
        counts = views.counts(now, cluster) if there and cluster else None
        near = (with_resource_names(event) for event in events if _concerns(event, found.view))
        return JobProgress(now.now, found, counts, tuple(near))


def _concerns(event: LoggedEvent, view: JobView) -> bool:
    """Whether an event is about the job, its cluster, or the capacity of every region."""
    facts = event.facts
    if "job" in facts:
        return facts["job"] == view.name
    return "region" in facts or ("cluster" in facts and facts["cluster"] == view.cluster)


def _since(start: float, event: LoggedEvent) -> LoggedEvent:
    """An event in seconds since then, to the microsecond: what doubles leave beyond is noise."""
    began = event.facts.get("began")
    moments = {"began": round(began - start, 6)} if isinstance(began, float) else {}
    return LoggedEvent(round(event.at - start, 6), event.event, {**event.facts, **moments})


def with_resource_names(event: LoggedEvent) -> LoggedEvent:
    """An event with the names that people know."""
    facts = {
        key: command_log.resource_name(value) if key in _NAMES and isinstance(value, str) else value
        for key, value in event.facts.items()
    }
    return LoggedEvent(event.at, event.event, facts)


_NAMES = ("cluster", "job", "pool")
