"""Jobs as they go: what happens while the clock moves, and what has happened, told again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import records
from mlctl.simulator.control_plane.jobs.records import Known, Row
from mlctl.simulator.control_plane.service import Place
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.engine import views
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.views import JobView


@dataclass(frozen=True, slots=True)
class Progress:
    """What happened since the last one, and where the job and its cluster are now."""

    now: float
    known: Known
    nodes: views.Counts | None
    events: tuple[LoggedEvent, ...]


def follow(place: Place, name: str, seconds: float, *, detail: bool) -> Iterator[Progress]:
    """Let time pass until the job has ended, but no longer than `seconds`; tell as it goes.

    With `detail` it goes in small strides, and tells what has happened already, too; every
    mini-batch is told of, but those past that went well. The clock stands still where nothing will
    ever happen.

    Raises:
        Refusal: there is no such job (404).
    """
    with place.store.look() as db:
        world = rows.world(db, place.scope, place.location)
        row = records.row_of(db, world, name)
    there = world.workspace
    limit = min(world.now + seconds, clock.END)
    yield _progress(place, there, row, tuple(_past(place, name)) if detail else ())
    job, grain = command_log.name_of(there, row.name), replay.FINE if detail else replay.COARSE
    for stride in replay.strides(place.store, job, limit, grain=grain, detail=detail):
        yield _progress(place, there, row, stride.events)


def story(place: Place, name: str) -> Iterator[str]:
    """What happened to a job and its cluster, from submitting it to its end, as JSON lines.

    Told again from the beginning of the cloud, in seconds since it was submitted: the same lines
    for the same orders and seed, however long the writes before it took.

    Raises:
        Refusal: there is no such job (404).
    """
    view = records.find(place, name).view
    for event in _story(place, view):
        yield _since(view.submitted, plainly(event)).line()


def _past(place: Place, name: str) -> Iterator[LoggedEvent]:
    view = records.find(place, name).view
    quiet = ("MB_START", "MB_DONE")  # as many as there are mini-batches, when all is well
    return (event for event in _story(place, view) if event.event not in quiet)


def _story(place: Place, view: JobView) -> Iterator[LoggedEvent]:
    begun = False
    for event in replay.story(place.store, detail=True):
        mine = event.facts.get("job") == view.name
        begun = begun or mine
        if begun and _concerns(event, view):
            yield event
        if mine and event.event == "JOB_ENDED":
            return


def metrics(place: Place, name: str) -> list[tuple[int, float, int]]:
    """What a training job logged: the run, the second of the clock, the step.

    "The re-started job will then append to the metrics": steps repeat from run to run.

    Raises:
        Refusal: there is no such job (404), or it is none of training.
    """
    training = records.find(place, name).view.training
    if training is None:
        raise bad(f"The job `{name}` logs no metrics: it is no training job.", "NoMetrics")
    points: list[tuple[int, float, int]] = []
    run, before = 1, 0
    for at, step in training.metrics:
        run += step <= before
        before = step
        points.append((run, at, step))
    return points


def _progress(place: Place, workspace: int, row: Row, events: tuple[LoggedEvent, ...]) -> Progress:
    with replay.look(place.store) as now:
        found = records.known(now, workspace, row)
        cluster = found.view.cluster
        there = cluster is not None and cluster in now.clusters
        counts = views.counts(now, cluster) if there and cluster else None
        near = (plainly(event) for event in events if _concerns(event, found.view))
        return Progress(now.now, found, counts, tuple(near))


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


def plainly(event: LoggedEvent) -> LoggedEvent:
    """An event with the names that people know."""
    facts = {
        key: command_log.plain(value) if key in _NAMES and isinstance(value, str) else value
        for key, value in event.facts.items()
    }
    return LoggedEvent(event.at, event.event, facts)


_NAMES = ("cluster", "job", "pool")
