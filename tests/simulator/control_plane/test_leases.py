"""Leases of applies: how long they are held."""

from __future__ import annotations

import pytest

from mlctl.simulator.control_plane.leases import LeaseRow


@pytest.mark.parametrize(
    ("now", "is_held"),
    [(100.0, True), (159.9, True), (160.0, False), (40.1, True), (40.0, False)],
)
def test_a_lease_is_held_until_its_duration_is_over(now: float, is_held: bool) -> None:
    row = LeaseRow("project", 1, "id", {}, since=100.0, renewed=100.0, duration=60.0)
    assert row.is_held(now) is is_held


def test_a_lease_that_has_ended_is_not_held() -> None:
    assert not LeaseRow("project", 1, "", {}, since=1.0, renewed=1.0, duration=60.0).is_held(1.0)
