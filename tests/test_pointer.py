"""Plain data: how deep it may be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlctl.pointer import MAX_DEPTH, Data, check_depth


@pytest.mark.parametrize("around", [lambda data: [data], lambda data: {"a": data, "b": 1}])
def test_a_hundred_levels_are_deep_enough(around: Callable[[Data], Data]) -> None:
    data: Data = 1
    for _ in range(MAX_DEPTH):
        data = around(data)
    check_depth(data)
    with pytest.raises(ValueError, match="more than 100 levels"):
        check_depth(around(data))
