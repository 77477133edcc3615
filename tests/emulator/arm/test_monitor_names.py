"""Names of metrics."""

from __future__ import annotations

from tests.builders.emulator import WS, world


def test_metrics_have_the_names_asked_for() -> None:
    url = f"{WS}/providers/Microsoft.Insights/metrics?metricnames=Preempted Nodes,Preempted Cores"
    named = [each["name"]["value"] for each in world().get(url).data["value"]]
    assert named == ["Preempted Nodes", "Preempted Cores"]
