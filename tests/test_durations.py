"""Durations as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT2M", 120),
        ("PT120S", 120),
        ("P0Y0M0DT0H2M0S", 120),
        ("PT1M30S", 90),
        ("PT1.5S", 1.5),
        ("P1D", 86_400),
        ("P1W", 604_800),
        ("PT0S", 0),
    ],
)
def test_every_iso_form_of_a_duration_is_read(text: str, seconds: float) -> None:
    assert durations.parse_iso(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "2m", "00:02:00", "-PT2M", "PT2", "PTS", "PT1.2.3S", "P1DT"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no ISO 8601 duration"):
        durations.parse_iso(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (120, "PT2M"),
        (90, "PT1M30S"),
        (300, "PT5M"),
        (0, "PT0S"),
        (90_061, "P1DT1H1M1S"),
        (86_400, "P1D"),
        (100, "PT1M40S"),
        (694_861, "P8DT1H1M1S"),
        (0.0000001, "PT0.0000001S"),
        (1.5, "PT1.5S"),
        (86_400 * 366.0, "P366D"),
        (36_000, "PT10H"),
    ],
)
def test_durations_are_written_as_dotnet_and_the_sdk_write_them(seconds: float, text: str) -> None:
    assert durations.format_iso(seconds) == text


@given(st.integers(0, 10**9))
def test_a_duration_that_is_written_is_read_back(seconds: int) -> None:
    assert durations.parse_iso(durations.format_iso(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("1h30m", 5400), ("30d", 2_592_000), ("pt2m", 120)],
)
def test_what_people_type_is_read(text: str, seconds: float) -> None:
    assert durations.parse(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1x", "1h 30m", "s90"])
def test_what_is_neither_short_nor_iso_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        durations.parse(text)


@pytest.mark.parametrize("text", ["P99999999999999999999D", f"P{'9' * 400}D", f"PT{'9' * 9000}S"])
def test_a_duration_that_the_service_cannot_keep_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than a duration can be"):
        durations.parse_iso(text)


@pytest.mark.parametrize("text", ["9" * 400, "9" * 400 + "m", "9" * 20 + "d", "9" * 5000 + "h"])
def test_what_people_type_is_no_longer_than_the_service_can_keep(text: str) -> None:
    with pytest.raises(ValueError, match="longer than a duration can be"):
        durations.parse(text)


def test_people_get_the_largest_units_that_matter() -> None:
    assert [durations.elapsed(seconds) for seconds in (0.9, 59, 125, 3720)] == [
        "0s",
        "59s",
        "2m05s",
        "1h02m",
    ]
