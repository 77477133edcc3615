"""Errors of the service."""

from __future__ import annotations

from mlctl.kinds.address import Address
from mlctl.simulator.control_plane.state.errors import (
    Refusal,
    bad,
    busy,
    conflict,
)


def test_refusals_that_pass_say_so() -> None:
    address = Address("compute", "cpu")
    assert busy(address, "Creating", 3).passing
    assert Refusal("Busy", "", status=429).passing
    assert Refusal("Broken", "", status=503).passing
    assert not bad("no").passing
    assert not conflict("no").passing
