"""The calendar of the simulated cloud."""

from __future__ import annotations

from mlctl.simulator.control_plane.state import clock


def test_the_clock_starts_with_2026_and_ends_with_9999() -> None:
    assert clock.iso(60.5) == "2026-01-01T00:01:00.500Z"
    assert clock.iso(1e300).startswith("9999-12-31")
    assert str(clock.today(86400 * 31)) == "2026-02-01"
