"""What surrounds the event engine: time, the state on disk, the log, metrics and settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mlctl.simulator.engine import engine, snapshot, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    Command,
    Lock,
    Refused,
    SubmitBatch,
    Unknown,
)
from mlctl.simulator.engine.metrics import Bucket, Metric, aggregate, points
from mlctl.simulator.engine.model import Settings, parameters
from mlctl.simulator.engine.processes import Poisson, Script, eviction_rate, life
from mlctl.simulator.engine.state import World
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import (
    AT_ONCE,
    DAY,
    EVER,
    HOUR,
    NO_CANCEL,
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


def test_a_state_that_was_read_back_is_written_down_the_same() -> None:
    made = world(*of(cluster(3, low=True), batch(100, 60, 3, concurrency=2), Poisson(5.0)))
    engine.run(made, 700)
    assert text_of(snapshot.load(json.loads(text_of(made)))) == text_of(made)


def test_nodes_stay_in_the_order_in_which_they_were_lost() -> None:
    losses = Script(((10, 2), (20, 0)))
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


def test_a_state_of_a_newer_version_is_refused() -> None:
    with pytest.raises(Refused, match="a newer version wrote the state"):
        snapshot.load({**snapshot.dump(world()), "format": snapshot.FORMAT + 1})


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
        with pytest.raises(ValueError, match="time does not go back: it is 10 s"):
            engine.run(made, to)


def test_waiting_for_a_job_stops_the_clock_where_it_ended() -> None:
    made = world(*of(cluster(1), batch(3, 60, 1)))
    events = [event.event for event in engine.wait(made, "j", DAY)]
    assert (made.now, events[-1]) == (180, "JOB_ENDED")


def test_waiting_stops_at_its_limit() -> None:
    made = world(*of(cluster(1), batch(3, 60, 1)))
    assert (engine.finish(made, "j", 100), made.now) == (False, 100)


def test_waiting_for_what_can_never_happen_leaves_the_clock_alone() -> None:
    made = world(AddCluster(cluster(1)), Lock("c"), SubmitBatch(batch(3, 60, 1)))
    assert (engine.finish(made, "j", DAY), made.now) == (False, 0)
    assert engine.next_at(made) is None


def test_waiting_for_an_unknown_job_is_refused() -> None:
    with pytest.raises(Unknown, match="there is no job `j`"):
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


def buckets(metric: Metric, *commands: Command, interval: float = 100.0) -> list[Bucket]:
    """A metric of `c` over its first 500 seconds."""
    made, events = World("metrics", settings=NO_CANCEL), []
    for command in commands:
        events += engine.apply(made, command)
    events += engine.advance(made, 500)
    return aggregate(points(events, "c"), metric, 0, 500, interval)


LOST = of(cluster(2, low=True), batch(100, 60, 2), Script(((150, 0), (250, 0), (270, 1))))


def test_preempted_nodes_add_up_over_the_intervals() -> None:
    assert [bucket.total for bucket in buckets(Metric.PREEMPTED, *LOST)] == [0, 1, 2, 0, 0]


def test_active_nodes_are_averaged_over_time() -> None:
    job = of(cluster(2), batch(2, 50, 2))
    seen = buckets(Metric.ACTIVE, *job)
    assert [(bucket.average, bucket.minimum, bucket.maximum) for bucket in seen[:2]] == [
        (1.0, 0, 2),
        (0.0, 0, 0),
    ]


def test_what_ends_as_an_interval_begins_is_not_seen_in_it() -> None:
    seen = buckets(Metric.ACTIVE, *of(cluster(2), batch(2, 100, 2)))
    assert [bucket.maximum for bucket in seen] == [2, 0, 0, 0, 0]


def test_cores_are_nodes_times_what_a_node_has() -> None:
    assert buckets(Metric.PREEMPTED, *LOST)[2].times(4).total == 8


def test_total_nodes_go_with_the_cluster() -> None:
    seen = buckets(Metric.TOTAL, *of(cluster(2), batch(2, 50, 2)), interval=250.0)
    assert [bucket.average for bucket in seen] == [2 * 170 / 250, 0]


def test_every_setting_says_where_its_value_is_from() -> None:
    known = list(parameters(Settings()))
    assert {parameter.source for parameter in known} == {"S", "D", "A"}
    assert all(parameter.why for parameter in known)


@pytest.mark.parametrize(
    ("band", "rate"),
    [(0.025, 0.0253), (0.075, 0.0780), (0.125, 0.1335), (0.175, 0.1924), (0.25, 0.2877)],
)
def test_eviction_bands_are_rates(band: float, rate: float) -> None:
    assert eviction_rate(band) == pytest.approx(rate, abs=5e-5)


def test_the_chance_to_be_lost_within_an_hour_is_that_of_the_band() -> None:
    assert life(Poisson(eviction_rate(0.175)), 0.175) == pytest.approx(HOUR)


def test_a_world_without_end_is_read_back_at_its_moment() -> None:
    made = world(*of(cluster(1), batch(1, 60, 1)), settings=AT_ONCE)
    engine.run(made, EVER)
    again = snapshot.load(json.loads(text_of(made)))
    assert (again.now, list(usage(again))) == (EVER, list(usage(made)))


def test_what_nodes_still_owe_is_owed_by_their_jobs() -> None:
    jobs = [SubmitBatch(batch(9, 60, nodes, name=name)) for name, nodes in (("a", 1), ("b", 2))]
    made = world(AddCluster(cluster(3)), *jobs)
    engine.run(made, 50)
    assert {one.name: one.node_s for one in usage(made)} == {"c": 150, "a": 50, "b": 100}


def test_prices_are_per_hour_of_a_node() -> None:
    priced = of(replace(cluster(2), price=0.27), batch(2, HOUR, 2))
    made = world(*priced)
    engine.run(made, HOUR)
    assert [one.cost for one in usage(made)] == [0.54, 0.54]
