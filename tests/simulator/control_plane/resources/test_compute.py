"""Clusters on the simulated cloud: what it adds to a body that leaves fields out."""

from __future__ import annotations

from mlctl.durations import format_iso
from mlctl.kinds.address import Address
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.parameters import assumptions
from tests.builders.workspace import cloud

CPU = Address("compute", "cpu")


def test_a_cluster_gets_the_bounds_that_the_settings_show() -> None:
    backend = cloud()
    backend.put(CPU, {"location": "eastus", "properties": {"computeType": "AmlCompute"}}).wait()
    scale = backend.read([CPU])[CPU].body["properties"]["properties"]["scaleSettings"]
    shown = {each.name: each.value for each in assumptions(SimulationSettings())}
    assert scale == {
        "minNodeCount": shown["min_instances"],
        "maxNodeCount": shown["max_instances"],
        "nodeIdleTimeBeforeScaleDown": format_iso(int(str(shown["idle_time_before_scale_down"]))),
    }
