"""Time in the engine, and its log."""

from __future__ import annotations

import json

import pytest

from mlctl.simulator.engine import engine, snapshot, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    EngineError,
    SetLock,
    SubmitBatch,
)
from mlctl.simulator.engine.processes import Poisson
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import (
    DAY,
    batch,
    cluster,
    lines,
    of,
    training,
    world,
)


def text_of(made: World) -> str:
    """The state as it is written down."""
    return json.dumps(snapshot.dump(made), allow_nan=False)


def test_looking_changes_nothing() -> None:
    made = world(*of(cluster(2, low=True), training(50, 10), Poisson(5.0)))
    engine.run(made, 333)
    before = text_of(made)
    _ = (views.nodes(made, "c"), views.counts(made, "c"), views.job(made, "j"), list(usage(made)))
    assert text_of(made) == before


def test_time_does_not_go_back() -> None:
    made = world()
    engine.run(made, 10)
    for to in (9.0, float("nan")):
        with pytest.raises(ValueError, match="time cannot go back from 10 s"):
            engine.run(made, to)


def test_waiting_for_a_job_stops_the_clock_where_it_ended() -> None:
    made = world(*of(cluster(1), batch(3, 60, 1)))
    events = [event.event for event in engine.wait(made, "j", DAY)]
    assert (made.now, events[-1]) == (180, "JOB_ENDED")


def test_waiting_stops_at_its_limit() -> None:
    made = world(*of(cluster(1), batch(3, 60, 1)))
    assert (engine.finish(made, "j", 100), made.now) == (False, 100)


def test_waiting_for_what_can_never_happen_leaves_the_clock_alone() -> None:
    made = world(AddCluster(cluster(1)), SetLock("c"), SubmitBatch(batch(3, 60, 1)))
    assert (engine.finish(made, "j", DAY), made.now) == (False, 0)
    assert engine.next_event_time(made) is None


def test_waiting_for_an_unknown_job_is_refused() -> None:
    with pytest.raises(EngineError, match="there is no job `j`"):
        engine.finish(world(), "j", DAY)


def test_a_log_line_is_one_line_of_json() -> None:
    made = world(*of(cluster(1), batch(1, 60, 1)))
    assert lines(engine.advance(made, 70)) == [
        '{"t":0.0,"event":"ALLOCATED","cluster":"c","node":0}',
        '{"t":0.0,"event":"READY","cluster":"c","node":0}',
        '{"t":0.0,"event":"DISPATCH","cluster":"c","node":0,"job":"j"}',
        '{"t":0.0,"event":"JOB_RUNNING","job":"j"}',
        '{"t":0.0,"event":"MB_START","job":"j","mini_batch":0,"node":0}',
        '{"t":60.0,"event":"MB_DONE","job":"j","mini_batch":0,"node":0}',
        '{"t":60.0,"event":"LAST_SLOT_FREE","cluster":"c","node":0}',
        '{"t":60.0,"event":"JOB_ENDED","job":"j","status":"Completed","reason":""}',
    ]
