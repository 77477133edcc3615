"""The state of the engine on disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from mlctl.simulator.engine import engine, snapshot, views
from mlctl.simulator.engine.processes import LossScript, Poisson
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import (
    AT_ONCE,
    EVER,
    HOUR,
    batch,
    cluster,
    of,
    world,
)


def text_of(made: World) -> str:
    """The state as it is written down."""
    return json.dumps(snapshot.dump(made), allow_nan=False)


def test_a_state_that_was_read_back_is_written_down_the_same() -> None:
    made = world(*of(cluster(3, low=True), batch(100, 60, 3, concurrency=2), Poisson(5.0)))
    engine.run(made, 700)
    assert text_of(snapshot.load(json.loads(text_of(made)))) == text_of(made)


def test_nodes_stay_in_the_order_in_which_they_were_lost() -> None:
    losses = LossScript(((10, 2), (20, 0)))
    slow = replace(AT_ONCE, replacement_s=1000.0)
    made = world(*of(cluster(3, low=True), batch(3, 60, 3), losses), settings=slow)
    engine.run(made, 30)
    again = snapshot.load(json.loads(text_of(made)))
    engine.run(again, 61)
    assert [node.number for node in views.nodes(again, "c")] == [1, 2]  # who was lost last, goes


def test_a_million_mini_batches_take_no_more_room_than_those_that_run() -> None:
    made = world(*of(cluster(20), batch(1_000_000, 60, 20)), watched=False)
    engine.run(made, HOUR)
    assert len(text_of(made)) < 10_000


@pytest.mark.parametrize("change", [{"format": snapshot.FORMAT + 1}, {"renamed": 1}])
def test_a_state_of_another_version_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(snapshot.OtherVersionError):
        snapshot.load({**snapshot.dump(world()), **change})


def test_a_class_or_field_that_has_another_name_is_refused_wherever_it_stands() -> None:
    made = world(*of(cluster(3, low=True), batch(100, 60, 3, concurrency=2), Poisson(5.0)))
    engine.run(made, 700)
    text = text_of(made)
    names = {*re.findall(r'"(\w+)": ', text)} - {"is"}
    renames = [(f'"{name}": ', f'"old_{name}": ') for name in names]
    assert len(renames) > 30
    for old, new in (*renames, ("BatchJob", "OldJob"), ("Poisson", "OldWeather")):
        with pytest.raises(snapshot.OtherVersionError):
            snapshot.load(json.loads(text.replace(old, new)))


def test_a_world_without_end_is_read_back_at_its_moment() -> None:
    made = world(*of(cluster(1), batch(1, 60, 1)), settings=AT_ONCE)
    engine.run(made, EVER)
    again = snapshot.load(json.loads(text_of(made)))
    assert (again.now, list(usage(again))) == (EVER, list(usage(made)))


def test_a_world_that_was_read_back_looks_whether_its_job_stands_still() -> None:
    made = world(*of(cluster(1), batch(1, 5000, 1)), settings=AT_ONCE)
    engine.run(made, 300)
    again = snapshot.load(json.loads(text_of(made)))
    engine.run(again, 700)  # it looks after 600 s: first_task_creation_timeout
    assert engine.job_of(again, "j").ended is None
