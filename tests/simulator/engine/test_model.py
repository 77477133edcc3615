"""Settings of the engine."""

from __future__ import annotations

import json

from mlctl.simulator.engine.model import SimulationSettings, parameters
from tests.builders.paths import ROOT


def test_every_setting_says_where_its_value_is_from() -> None:
    known = list(parameters(SimulationSettings()))
    assert {parameter.source for parameter in known} == {"S", "D", "A"}
    assert all(parameter.why for parameter in known)


def test_the_defaults_of_a_cluster_are_those_of_its_schema() -> None:
    text = (ROOT / "schemas" / "amlCompute.schema.json").read_text(encoding="utf-8")
    fields = json.loads(text)["properties"]
    shown = {each.name: each.value for each in parameters(SimulationSettings())}
    names = ("tier", "min_instances", "max_instances", "idle_time_before_scale_down")
    assert [shown[name] for name in names] == [fields[name]["default"] for name in names]
