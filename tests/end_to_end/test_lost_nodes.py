"""What a node costs that is lost, and the one that takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run

NODE = (
    "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"
    "name: cluster\ntype: amlcompute\nsize: Standard_DS3_v2\ntier: low_priority\n"
    "min_instances: 1\nmax_instances: 1\n"
)
WAIT_S, LATER_S = 180, 600


def test_a_lost_node_is_billed_until_it_is_gone_and_the_start_of_its_replacement_too(
    mlctl: Run, tmp_path: Path
) -> None:
    """Of ten minutes after a loss, three are a wait for a node, and one is its preparation."""
    (tmp_path / "cpu.yml").write_text(NODE)

    def billed() -> float:
        """Node-seconds of the cluster."""
        rows = mlctl("local", "usage", "-o", "json").json
        return float(next(row["node_hours"] for row in rows if row["name"] == "cluster")) * 3600

    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    assert mlctl("local", "advance", "1h").code == 0
    before = billed()
    assert mlctl("local", "preempt", "cluster").code == 0
    assert billed() == pytest.approx(before, abs=1)
    assert mlctl("local", "advance", "10m").code == 0
    assert billed() - before == pytest.approx(LATER_S - WAIT_S, abs=1)
