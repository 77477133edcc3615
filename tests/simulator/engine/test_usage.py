"""Node time and what it costs."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import (
    AddCluster,
    SubmitBatch,
)
from mlctl.simulator.engine.usage import usage
from tests.builders.histories import (
    HOUR,
    batch,
    cluster,
    of,
    world,
)


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
