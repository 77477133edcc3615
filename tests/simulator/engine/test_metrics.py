"""Metrics of clusters over intervals."""

from __future__ import annotations

from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import (
    Command,
)
from mlctl.simulator.engine.metrics import Bucket, Metric, aggregate, node_counts
from mlctl.simulator.engine.processes import LossScript
from mlctl.simulator.engine.state import World
from tests.builders.histories import (
    NO_CANCEL,
    batch,
    cluster,
    of,
)


def buckets(metric: Metric, *commands: Command, interval: float = 100.0) -> list[Bucket]:
    """A metric of `c` over its first 500 seconds."""
    made, events = World("metrics", settings=NO_CANCEL), []
    for command in commands:
        events += engine.apply(made, command)
    events += engine.advance(made, 500)
    return aggregate(node_counts(events, "c"), metric, 0, 500, interval)


LOST = of(cluster(2, low=True), batch(100, 60, 2), LossScript(((150, 0), (250, 0), (270, 1))))


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
    assert buckets(Metric.PREEMPTED, *LOST)[2].in_cores(4).total == 8


def test_total_nodes_go_with_the_cluster() -> None:
    seen = buckets(Metric.TOTAL, *of(cluster(2), batch(2, 50, 2)), interval=250.0)
    assert [bucket.average for bucket in seen] == [2 * 170 / 250, 0]
