"""Events and progress of jobs: while the clock moves, and replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mlctl.dataclasses import dataclass
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import artifacts, mlflow_store, records
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.blob_store import BlobStore
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import views
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.views import JobView


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """The events since the last progress, and the state of the job and its cluster at `now`.

    Times are in seconds since the job was submitted.
    """

    now: float
    record: JobRecord
    nodes: views.NodeCounts | None
    events: tuple[LoggedEvent, ...]


def follow(
    workspace: WorkspaceHandle, name: str, seconds: float, *, detail: bool
) -> Iterator[JobUpdate]:
    """Move the clock until the job has ended, or for `seconds`, and yield progress on the way.

    With `detail` the time slices are short, past events are included, and there are events of
    single mini-batches (of past ones only failures). The clock stops if no event is scheduled any
    more.
    """
    with workspace.store.read() as db:
        state = workspace.state(db)
        row = records.job_row(db, state, name)
    workspace_id = state.id
    limit = min(state.now + seconds, clock.END)
    yield _progress(
        workspace, workspace_id, row, tuple(_past_events(workspace, name)) if detail else ()
    )
    job = command_log.engine_name(workspace_id, row.name)
    events_per_slice = replay.FINE_SLICE if detail else replay.COARSE_SLICE
    for time_slice in replay.run_job(
        workspace.store, job, limit, events_per_slice=events_per_slice, detail=detail
    ):
        yield _progress(workspace, workspace_id, row, time_slice.events)


def event_lines(workspace: WorkspaceHandle, name: str) -> Iterator[str]:
    """Return the events of a job and its cluster, from submission to the end, as lines of JSON.

    Times are in seconds since submission: the lines depend on the commands and the seed, not on how
    long earlier operations took.
    """
    view = records.get_job(workspace, name).view
    for event in _events_of(workspace, view):
        yield line_since(view.submitted, event)


def line_since(start: float, event: LoggedEvent) -> str:
    """Return an event as a line of JSON: times in seconds since `start`, the workspace's names."""
    return _since(start, with_resource_names(event)).line()


def _past_events(workspace: WorkspaceHandle, name: str) -> Iterator[LoggedEvent]:
    view = records.get_job(workspace, name).view
    quiet = ("MB_START", "MB_DONE")  # one per mini-batch
    return (event for event in _events_of(workspace, view) if event.event not in quiet)


def _events_of(workspace: WorkspaceHandle, view: JobView) -> Iterator[LoggedEvent]:
    begun = False
    for event in replay.events(workspace.store, detail=True, start=view.submitted):
        mine = event.facts.get("job") == view.name
        begun = begun or mine
        if begun and _concerns(event, view):
            yield event
        if mine and event.event == "JOB_ENDED":
            return


def metrics(workspace: WorkspaceHandle, name: str) -> list[tuple[int, float, int, str, float]]:
    """Return a training job's metrics: (run, seconds since submission, step, metric, value).

    Runs append to the metrics, so steps repeat ("The re-started job will then append to the
    metrics"). Only what a user's code has logged has names and values.

    Raises:
        ServiceError: there is no such job (404), or it is not a training job.
    """
    job = records.get_job(workspace, name)
    view = job.view
    state = workspace.current
    logged_values = artifacts.logged_metrics(job, state.now)
    sent = list(mlflow_store.run_metrics(BlobStore(workspace.store), state.scope, name))
    waited = (view.submitted if view.started is None else view.started) - view.submitted
    logged_values += [(waited + (metric.at - sent[0].at) / 1000, metric) for metric in sent]
    if logged_values:
        return [(1, at, metric.step, metric.name, metric.value) for at, metric in logged_values]
    training = view.training
    if training is None:
        raise bad(f"The job `{name}` logs no metrics: it is no training job.", "NoMetrics")
    logged = zip(training.metric_runs, training.metrics, strict=True)
    return [(run, round(at - view.submitted, 6), step, "", 0.0) for run, (at, step) in logged]


def _progress(
    workspace: WorkspaceHandle, workspace_id: int, row: JobRow, events: tuple[LoggedEvent, ...]
) -> JobUpdate:
    with replay.current(workspace.store) as world:
        job = records.job_record(world, workspace_id, row)
        cluster = job.view.cluster
        has_cluster = cluster is not None and cluster in world.clusters
        counts = views.counts(world, cluster) if has_cluster and cluster else None
        near = [event for event in events if _concerns(event, job.view)]
        names = _step_names(workspace, near, job.view)
        began = job.view.submitted
        shown_events = (
            _since(began, with_resource_names(_with_step(event, names))) for event in near
        )
        return JobUpdate(round(world.now - began, 6), job, counts, tuple(shown_events))


def _step_names(
    workspace: WorkspaceHandle, events: Iterable[LoggedEvent], view: JobView
) -> dict[str, str]:
    """Return the names of steps for people, by the engine's names."""
    steps = {str(event.facts["job"]) for event in events if "job" in event.facts} - {view.name}
    with workspace.store.read() as db:
        state = workspace.state(db)
        rows_by_step = {
            step: records.job_row(db, state, command_log.resource_name(step)) for step in steps
        }
    return {
        step: str(row.note.get("displayName") or row.name) for step, row in rows_by_step.items()
    }


def _with_step(event: LoggedEvent, names: Mapping[str, str]) -> LoggedEvent:
    """Return an event with the name of the step that it is about."""
    name = names.get(str(event.facts.get("job")))
    facts = event.facts if name is None else {"part": name, **event.facts}
    return LoggedEvent(event.at, event.event, facts)


def _concerns(event: LoggedEvent, view: JobView) -> bool:
    """Whether an event is about the job, its cluster, or the capacity of regions."""
    facts = event.facts
    if "job" in facts:
        return facts["job"] in view.parts
    return "region" in facts or ("cluster" in facts and facts["cluster"] in view.parts.values())


def _since(start: float, event: LoggedEvent) -> LoggedEvent:
    """Return an event with times since `start`, rounded to microseconds."""
    began = event.facts.get("began")
    moments = {"began": round(began - start, 6)} if isinstance(began, float) else {}
    return LoggedEvent(round(event.at - start, 6), event.event, {**event.facts, **moments})


def with_resource_names(event: LoggedEvent) -> LoggedEvent:
    """Replace the engine's names in an event by the workspace's."""
    facts = {
        key: command_log.resource_name(value) if key in _NAMES and isinstance(value, str) else value
        for key, value in event.facts.items()
    }
    return LoggedEvent(event.at, event.event, facts)


_NAMES = ("cluster", "job", "pool")
