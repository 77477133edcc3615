"""Events that have become void: they leave the queue, and no history is another for it."""

from __future__ import annotations

import pytest

from mlctl.simulator.engine import engine, void_events
from mlctl.simulator.engine.commands import AddCluster, SetPreemption
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.engine.processes import Poisson
from tests.builders.histories import HOUR, cluster, world


def lived(hours: int) -> tuple[list[LoggedEvent], int]:
    """What happens to ten nodes that are lost six times an hour; the longest that the queue was."""
    commands = (SetPreemption((Poisson(6.0),)), AddCluster(cluster(10, 10, low=True)))
    made = world(*commands, settings=SimulationSettings(), watched=False)
    events: list[LoggedEvent] = []
    longest = 0
    for hour in range(1, hours + 1):
        events += engine.advance(made, hour * HOUR)
        longest = max(longest, len(made.queue))
    return events, longest


def test_a_queue_does_not_grow_with_the_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    grown, longest = lived(40)
    monkeypatch.setattr(void_events, "_ROOM", 100)
    events, shorter = lived(40)
    assert events == grown
    assert longest > 400
    assert shorter < 150
