"""Settings of the engine."""

from __future__ import annotations

import json
from dataclasses import fields

from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.parameters import assumptions
from tests.builders.paths import ROOT


def test_every_setting_says_where_its_value_is_from() -> None:
    known = list(assumptions(SimulationSettings()))
    assert {parameter.source for parameter in known} == {"S", "D", "A"}
    assert all(parameter.why for parameter in known)


def test_the_defaults_of_a_cluster_are_those_of_its_schema() -> None:
    text = (ROOT / "schemas" / "amlCompute.schema.json").read_text(encoding="utf-8")
    properties = json.loads(text)["properties"]
    shown = {each.name: each.value for each in assumptions(SimulationSettings())}
    names = ("tier", "min_instances", "max_instances", "idle_time_before_scale_down")
    assert [shown[name] for name in names] == [properties[name]["default"] for name in names]


def test_every_setting_has_a_row_that_says_what_it_means() -> None:
    settings = SimulationSettings()
    rows = {parameter.name: parameter for parameter in assumptions(settings)}
    assert all(rows[slot.name].value == getattr(settings, slot.name) for slot in fields(settings))
