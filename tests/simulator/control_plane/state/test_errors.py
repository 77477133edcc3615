"""Errors of the service."""

from __future__ import annotations

from mlctl.kinds.address import Address
from mlctl.simulator.control_plane.state.errors import bad, busy, conflict


def test_the_service_says_when_a_running_operation_will_have_ended() -> None:
    assert busy(Address("compute", "cpu"), "Creating", 3).retry_after == 3


def test_other_refusals_have_the_status_that_they_say() -> None:
    assert (bad("no").status, conflict("no").status) == (400, 409)
