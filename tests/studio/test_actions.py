"""The forms of the pages, apart from the pages."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.service_errors import Permanent
from mlctl.studio.actions import _preempt


@pytest.mark.parametrize("text", ["0", "-1", "1000000", "", "many"])
def test_a_number_of_nodes_is_at_least_1_and_has_at_most_six_digits(text: str) -> None:
    cloud: Any = None
    with pytest.raises(Permanent, match="is not a number of nodes"):
        _preempt(cloud, {"cluster": "cpu", "nodes": text})
