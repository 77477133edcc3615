"""Values of bodies: durations and whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane.resources import arm_body


@pytest.mark.parametrize(
    ("written", "respelt"),
    [
        ("PT2M", "PT2M"),
        ("PT120S", "PT2M"),
        ("PT100S", "PT1M40S"),
        ("P0Y0M0DT0H2M0S", "PT2M"),
        ("pt1m30.5s", "PT1M30.5S"),
        ("PT90000S", "P1DT1H"),
        ("P1W", "P7D"),
        ("PT0S", "PT0S"),
    ],
)
def test_a_duration_is_respelt_as_dotnet_does(written: str, respelt: str) -> None:
    assert arm_body.duration(written, "idle") == respelt


@pytest.mark.parametrize("wrong", ["P", "PT", "P1DT", "2m", "00:02:00", 120, None, "", "PT-1S"])
def test_what_is_no_duration_is_refused(wrong: object) -> None:
    with pytest.raises(ServiceError, match="`idle` must be an ISO 8601 duration"):
        arm_body.duration(wrong, "idle")


@given(st.integers(0, 10**9))
def test_a_respelt_duration_stays_as_it_is(seconds: int) -> None:
    once = arm_body.duration(f"PT{seconds}S", "idle")
    assert arm_body.duration(once, "idle") == once


@pytest.mark.parametrize("wrong", [True, "3", 1.5, None, 0, 11])
def test_what_is_no_whole_number_between_the_bounds_is_refused(wrong: object) -> None:
    with pytest.raises(ServiceError, match="`nodes` must be"):
        arm_body.whole_number(wrong, 1, "nodes", greatest=10)
