"""Rules about several resources: each combination is tried."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mlctl.policies.check import _holds


@pytest.mark.parametrize(("others", "holds"), [(100, True), (101, False)])
def test_a_rule_with_more_than_ten_thousand_combinations_is_not_tried(
    others: int, holds: bool
) -> None:
    policy: Any = SimpleNamespace(rule=SimpleNamespace(holds=lambda _: True))
    assert _holds(policy, {}, [[{}] * 100, [{}] * others]) is holds
