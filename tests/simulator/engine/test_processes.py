"""Losses that combine, in the long run and number by number: rates, and whose luck is whose."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import pytest

from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import AddCluster, SetCapacity, SetPreemption
from mlctl.simulator.engine.processes import (
    Constant,
    HyperExponential,
    LossScript,
    Poisson,
    PreemptionProcess,
    Shock,
    Weibull,
)
from mlctl.simulator.engine.state import World
from tests.builders.histories import AT_ONCE, DAY, HOUR, cluster, world


def losses_of(made: World, to: float) -> list[tuple[float, object]]:
    """When which node of `c` is lost until a moment."""
    return [
        (event.at, event.facts["node"])
        for event in engine.advance(made, to)
        if event.event == "PREEMPT" and event.facts["cluster"] == "c"
    ]


@pytest.mark.parametrize(
    "process", [Poisson(1.0), HyperExponential(1.0, 3.0), Weibull(1.0, 50.0), Shock(1.0, 0.5)]
)
def test_to_set_the_capacity_does_not_begin_what_takes_nodes_anew(
    process: PreemptionProcess,
) -> None:
    commands = (SetPreemption((process,)), AddCluster(cluster(5, 5, low=True)))
    alone, other = world(*commands), world(*commands)
    before = losses_of(other, 0.9 * HOUR)
    engine.apply(other, SetCapacity(Constant(100)))
    assert before + losses_of(other, 9 * HOUR) == losses_of(alone, 9 * HOUR)


def test_another_node_another_cluster_and_another_process_leave_the_luck_of_a_node_alone() -> None:
    poisson = SetPreemption((Poisson(0.2),))
    small = world(poisson, AddCluster(cluster(3, 3, low=True)))
    large = world(
        SetPreemption((Poisson(0.2), LossScript(((1.0, 9),)))),
        AddCluster(cluster(2, 2, name="b", low=True)),
        AddCluster(cluster(5, 5, low=True)),
    )
    first = losses_of(small, 2 * DAY)
    assert first
    assert [loss for loss in losses_of(large, 2 * DAY) if loss[1] in (0, 1, 2)] == first


def test_a_node_is_up_for_the_share_of_the_time_that_its_rates_say() -> None:
    settings = replace(AT_ONCE, replacement_s=1800.0)
    made = world(
        SetPreemption((Poisson(0.3), Poisson(0.2))),
        AddCluster(cluster(100, 100, low=True)),
        settings=settings,
        watched=False,
    )
    engine.run(made, 20 * DAY)
    share = made.clusters["c"].billed_s + sum(
        made.now - node.billed_until
        for node in made.clusters["c"].nodes.values()
        if node.billed_until is not None
    )
    # An alternating renewal process: up 2 h on average, then down for 0.5 h.
    cycles = 100 * 20 * 24 / 2.5
    deviation = 0.2 * sqrt(1 / cycles)  # of u/(u+d): (d/(u+d)) times the cv of u, which is 1
    assert abs(share / (100 * 20 * DAY) - 0.8) < 4 * deviation


def test_shocks_and_independent_losses_add_up() -> None:
    made = world(
        SetPreemption((Poisson(0.1), Shock(0.2, 0.5))),
        AddCluster(cluster(1, 1, low=True)),
        watched=False,
    )
    engine.run(made, 20_000 * HOUR)
    expected = (0.1 + 0.2 * 0.5) * 20_000
    assert abs(made.clusters["c"].preempted_nodes - expected) < 4 * sqrt(expected)
