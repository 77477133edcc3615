"""What the pages show, apart from the pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mlctl.simulator.control_plane import control
from mlctl.simulator.engine.state import NodeState
from mlctl.studio import views
from mlctl.studio.views import _whole_number
from mlctl.studio.watch import Points


@pytest.mark.parametrize(
    ("text", "number"), [("", 1), ("0", 1), ("1", 1), ("3", 3), ("4", 3), ("x", 1), ("-1", 1)]
)
def test_a_number_of_a_query_is_from_1_to_the_most(text: str, number: int) -> None:
    assert _whole_number({"page": text}, "page", 3) == number


def test_a_change_counts_from_its_moment_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "now", lambda _: 5.0)
    idle = [0.0] * len(NodeState)
    idle[NodeState.IDLE] = 1.0

    nodes = {"cpu": Points([0.0, 5.0], [(0.0,) * len(NodeState), tuple(idle)])}
    watch: Any = SimpleNamespace(cloud=SimpleNamespace(handle=None))
    watch.follow = lambda: SimpleNamespace(nodes=nodes)
    answer = views.series(watch, "cpu")
    times, *rows = answer["data"]
    assert times == [0.0, 5.0]
    assert rows[answer["names"].index("idle")] == [0.0, 1.0]
