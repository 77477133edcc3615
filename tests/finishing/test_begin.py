"""What a job is begun with: the policies that it may have, the best one first."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.finishing.begin import PolicyForecast
from mlctl.forecast.batch.summary import LATE


@pytest.mark.parametrize(
    ("document", "rank"),
    [
        ({"late": LATE, "not_done": 0.0, "cost": 2.0}, (False, 2.0)),
        ({"late": LATE + 1e-9, "not_done": 0.0, "cost": 2.0}, (True, 2.0)),
        ({"late": None, "not_done": 0.0, "cost": None}, (False, float("inf"))),
        ({"late": None, "not_done": 0.001, "cost": 2.0}, (True, 2.0)),
    ],
)
def test_a_policy_keeps_its_deadline_if_it_is_late_no_more_often_than_is_allowed(
    document: dict[str, Any], rank: tuple[bool, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PolicyForecast, "document", lambda _: document)
    forecast: Any = PolicyForecast
    assert forecast(None, None).rank == rank
