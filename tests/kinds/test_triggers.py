"""When triggers fire: cron lines, recurrences, time zones and their changes to summer time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mlctl.kinds import triggers

NOW = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday
BERLIN = "W. Europe Standard Time"


def firings(after: datetime = NOW, count: int = 3, **trigger: Any) -> list[str]:
    return [f"{at:%m-%d %H:%M}" for at in triggers.next_firings(trigger, after, count)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 6 * * *", ["01-01 06:00", "01-02 06:00", "01-03 06:00"]),
        ("*/20 6 * * *", ["01-01 06:00", "01-01 06:20", "01-01 06:40"]),
        ("0 6 * * mon-wed", ["01-05 06:00", "01-06 06:00", "01-07 06:00"]),
        ("0 6 * * 0", ["01-04 06:00", "01-11 06:00", "01-18 06:00"]),
        ("0 6 * * 7", ["01-04 06:00", "01-11 06:00", "01-18 06:00"]),
        ("5,10 0-1 * * *", ["01-01 00:05", "01-01 00:10", "01-01 01:05"]),
        ("0 6 13 2 *", ["01-01 06:00", "01-02 06:00", "01-03 06:00"]),  # Azure reads `0 6 * * *`
    ],
)
def test_a_cron_line_fires_when_it_says(line: str, expected: list[str]) -> None:
    assert firings(expression=line) == expected


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ({"frequency": "hour", "interval": 5}, ["01-01 05:00", "01-01 10:00", "01-01 15:00"]),
        (
            {"frequency": "day", "interval": 2, "schedule": {"hours": [4], "minutes": [0, 30]}},
            ["01-01 04:00", "01-01 04:30", "01-03 04:00"],
        ),
        (
            {
                "frequency": "week",
                "interval": 2,
                "schedule": {"hours": 4, "minutes": 0, "week_days": ["Friday", "monday"]},
            },
            ["01-02 04:00", "01-12 04:00", "01-16 04:00"],
        ),
        (
            {
                "frequency": "month",
                "interval": 1,
                "schedule": {"hours": 4, "minutes": 0, "month_days": 31},
            },
            ["01-31 04:00", "03-31 04:00", "05-31 04:00"],
        ),
        (
            {"frequency": "minute", "interval": 90, "start_time": "2025-12-31T23:00:00"},
            ["01-01 00:30", "01-01 02:00", "01-01 03:30"],
        ),
    ],
)
def test_a_recurrence_fires_in_its_rhythm(trigger: dict[str, Any], expected: list[str]) -> None:
    assert firings(**trigger) == expected


def test_a_moment_is_that_of_the_time_zone_in_summer_and_in_winter() -> None:
    summer = datetime(2026, 7, 1, tzinfo=UTC)
    assert firings(count=1, expression="0 6 * * *", time_zone=BERLIN) == ["01-01 05:00"]
    assert firings(summer, 1, expression="0 6 * * *", time_zone=BERLIN) == ["07-01 04:00"]
    spring = datetime(2026, 3, 28, 12, tzinfo=UTC)  # half past two is left out on the 29th
    assert firings(spring, 2, expression="30 2 * * *", time_zone=BERLIN) == [
        "03-29 01:30",
        "03-30 00:30",
    ]


def test_nothing_fires_before_the_start_or_after_the_end() -> None:
    bounds: dict[str, Any] = {
        "start_time": "2026-01-02T06:00:00",
        "end_time": "2026-01-03T06:00:00",
    }
    assert firings(expression="0 6 * * *", **bounds) == ["01-02 06:00", "01-03 06:00"]
    assert firings(expression="0 6 * * *", end_time="2025-01-01T00:00:00") == []


@pytest.mark.parametrize(
    "line", ["0 6 * *", "60 6 * * *", "a 6 * * *", "5-1 * * * *", "*/0 * * * *"]
)
def test_what_is_no_cron_line_says_why(line: str) -> None:
    with pytest.raises(ValueError, match=r"fields|not a value of the"):
        triggers.cron(line)


def test_every_name_of_windows_leads_to_a_zone() -> None:
    assert all(triggers.zone(name) is not None for name in triggers.zones())
    assert triggers.zone("Europe/Berlin") is None
