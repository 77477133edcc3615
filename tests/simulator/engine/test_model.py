"""Settings of the engine."""

from __future__ import annotations

from mlctl.simulator.engine.model import SimulationSettings, parameters


def test_every_setting_says_where_its_value_is_from() -> None:
    known = list(parameters(SimulationSettings()))
    assert {parameter.source for parameter in known} == {"S", "D", "A"}
    assert all(parameter.why for parameter in known)
