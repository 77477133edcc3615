"""What surrounds the event engine: the state on disk, the log, metrics, traces and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from mlctl.cloud.sim import engine, persist, traces, views
from mlctl.cloud.sim.commands import (
    AddCluster,
    AddPool,
    Command,
    Configure,
    Lock,
    Preempt,
    Refused,
    ResizeCluster,
    ResizePool,
    SetCapacity,
    SetPreemption,
    SetTenancy,
    SubmitBatch,
    SubmitPoolJob,
    SubmitTraining,
    Unknown,
)
from mlctl.cloud.sim.metrics import Bucket, Metric, aggregate, points
from mlctl.cloud.sim.model import (
    ClusterSpec,
    PoolSpec,
    Settings,
    Tenancy,
    Workload,
    parameters,
)
from mlctl.cloud.sim.processes import (
    Constant,
    HyperExponential,
    OnOff,
    Poisson,
    Preemption,
    Script,
    Shock,
    Steps,
    Trace,
    Weibull,
    eviction_rate,
    life,
)
from mlctl.cloud.sim.state import World
from mlctl.cloud.sim.usage import usage
from tests.histories import (
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
    return json.dumps(persist.dump(made), allow_nan=False)


def test_a_state_that_was_read_back_is_written_down_the_same() -> None:
    made = world(*of(cluster(3, low=True), batch(100, 60, 3, concurrency=2), Poisson(5.0)))
    engine.run(made, 700)
    assert text_of(persist.load(json.loads(text_of(made)))) == text_of(made)


def test_nodes_stay_in_the_order_in_which_they_were_lost() -> None:
    losses = Script(((10, 2), (20, 0)))
    slow = replace(AT_ONCE, replacement_s=1000.0)
    made = world(*of(cluster(3, low=True), batch(3, 60, 3), losses), settings=slow)
    engine.run(made, 30)
    again = persist.load(json.loads(text_of(made)))
    engine.run(again, 61)
    assert [node.number for node in views.nodes(again, "c")] == [1, 2]  # who was lost last, goes


def test_a_million_mini_batches_take_no_more_room_than_those_that_run() -> None:
    made = world(*of(cluster(20), batch(1_000_000, 60, 20)), watched=False)
    engine.run(made, HOUR)
    assert len(text_of(made)) < 10_000


def test_a_state_of_a_newer_version_is_refused() -> None:
    with pytest.raises(Refused, match="a newer version wrote the state"):
        persist.load({**persist.dump(world()), "format": persist.FORMAT + 1})


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


def test_a_trace_is_read_from_its_file() -> None:
    text = '{"metadata": {"gap_seconds": 300}, "data": [2, 2, 1, 0]}'
    assert traces.trace(text) == Trace(300.0, (2, 2, 1, 0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[1, 2]",
        '{"metadata": {}, "data": [1]}',
        '{"metadata": {"gap_seconds": 0}, "data": [1]}',
        '{"metadata": {"gap_seconds": "x"}, "data": [1]}',
        '{"metadata": {"gap_seconds": true}, "data": [1]}',
        '{"metadata": {"gap_seconds": NaN}, "data": [1]}',
        '{"metadata": {"gap_seconds": 300}, "data": []}',
        '{"metadata": {"gap_seconds": 300}, "data": [1, -1]}',
        '{"metadata": {"gap_seconds": 300}, "data": [1, 1.5]}',
        '{"metadata": {"gap_seconds": 300}, "data": "12"}',
        "[" * 100_000,
    ],
    ids=str,
)
def test_what_is_no_trace_is_refused_and_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(Refused, match=r'a trace is \{"metadata"'):
        traces.trace(text)


def test_scripts_and_times_are_read_from_their_files() -> None:
    assert traces.script('[[50, 1], [60, "all"]]') == Script(((50.0, 1), (60.0, "all")))
    assert traces.steps("[[0, 2], [60, 0]]") == Steps(((0.0, 2), (60.0, 0)))
    assert traces.times("[1, 2.5]") == (1.0, 2.5)


@pytest.mark.parametrize("text", ["{}", "[]", "[[1]]", "[[-1, 0]]", '[[1, "some"]]', "[[1, -1]]"])
def test_what_is_no_script_is_refused(text: str) -> None:
    for reader in (traces.script, traces.steps):
        with pytest.raises(Refused, match="script is"):
            reader(text)


@pytest.mark.parametrize("text", ["{}", "[]", "[-1]", '["x"]', "[true]"])
def test_what_are_no_service_times_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="service times are"):
        traces.times(text)


def wrong_jobs() -> Iterable[tuple[Command, str]]:
    """Jobs that cannot be."""
    yield SubmitBatch(batch(0, 60, 1)), "the number of files must be at least 1, not 0"
    yield SubmitBatch(batch(1, 60, 0)), "instance_count must be at least 1"
    yield SubmitBatch(batch(1, -1, 1)), "the time per mini-batch must be at least 0, not -1"
    yield SubmitBatch(batch(1, 1, 1, timeout_s=0.0)), "timeout must be more than 0"
    yield SubmitBatch(batch(1, 1, 1, error_threshold=-2)), "error_threshold must be at least -1"
    odd = Workload(per_mini_batch_s=1, fail_probability=1.5)
    yield SubmitBatch(batch(1, 1, 1, workload=odd)), "to fail must be between 0 and 1, not 1.5"
    yield SubmitBatch(batch(1, 1, 1, on="nowhere")), "there is no cluster `nowhere`"
    yield SubmitTraining(training(0, 1)), "the number of steps must be at least 1"
    yield SubmitTraining(training(1, 0)), "the time per step must be more than 0"
    yield SubmitTraining(training(1, 1, cluster="x")), "there is no cluster `x`"
    own = ClusterSpec("own")
    yield SubmitTraining(training(1, 1, serverless=own)), "it takes no cluster"
    yield SubmitPoolJob("p", 60, "x"), "there is no pool `x`"


def wrong_clouds() -> Iterable[tuple[Command, str]]:
    """Clusters, pools and settings that cannot be."""
    yield AddCluster(cluster(1)), "there is a cluster `c` already"
    yield AddCluster(cluster(1, 2, name="d")), "max_instances must be at least 2, not 1"
    yield AddCluster(cluster(1, name="")), "a cluster needs a name"
    yield ResizeCluster("c", min_instances=9), "max_instances must be at least 9, not 4"
    yield Preempt("c", (7,)), "cluster `c` has no node 7"
    yield Configure(Settings(p_unusable=2)), "p_unusable must be between 0 and 1"
    yield Configure(Settings(allocation_s=-1)), "allocation_s must be at least 0"
    yield AddPool(PoolSpec("p", -1)), "the number of VMs must be at least 0"
    yield ResizePool("p", 1), "there is no pool `p`"
    yield SetTenancy(Tenancy(0)), "the number of jobs at once must be at least 1"
    yield SetCapacity(Constant(-1)), "every number of nodes must be a whole number"
    yield SetCapacity(OnOff(0, 1)), "the rate of outages must be more than 0"


def wrong_losses() -> Iterable[tuple[Command, str]]:
    """Preemption that cannot be."""
    wrong: list[tuple[Preemption, str]] = [
        (Poisson(-1), "the rate of losses must be more than 0, not -1"),
        (Poisson(float("nan")), "the rate of losses must be more than 0"),
        (Shock(1, 1.5), "must be between 0 and 1, not 1.5"),
        (HyperExponential(1, 0.5), "must be at least 1, not 0.5"),
        (Weibull(1, 0), "the shape of a Weibull life must be more than 0"),
        (Script(((-1, 0),)), "every second of the script must be at least 0"),
        (Script(((1, "some"),)), "every node of the script must be a whole number"),
        (Trace(0, (1,)), "the gap of a trace must be more than 0"),
        (Trace(1, ()), "a trace needs at least one number of nodes"),
    ]
    yield from ((SetPreemption((process,)), text) for process, text in wrong)


@pytest.mark.parametrize(
    ("command", "text"), [*wrong_jobs(), *wrong_clouds(), *wrong_losses()], ids=str
)
def test_what_cannot_be_is_refused_with_its_reason(command: Command, text: str) -> None:
    made = world(AddCluster(cluster(4, low=True)))
    with pytest.raises(Refused, match=text.replace("(", r"\(")):
        engine.apply(made, command)


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
    again = persist.load(json.loads(text_of(made)))
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
