"""mlctl local fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster


def test_a_fault_is_listed_with_what_it_has_seen_and_cleared(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    number = mlctl("local", "fault", "add", "throttle", "--target", "compute/*", "--nth", "9").out
    mlctl("apply", "cpu.yml", "--yes")
    (fault,) = mlctl("local", "fault", "list", "-o", "json").json
    assert (f"{fault['number']}\n", fault["trouble"], fault["nth"]) == (number, "throttle", 9)
    assert fault["seen"] > 0
    mlctl("local", "fault", "clear")
    assert mlctl("local", "fault", "list", "-o", "json").json == []


def test_troubles_of_cloud_and_wire_share_one_list_and_go_by_number(mlctl: Run) -> None:
    mlctl("local", "fault", "add", "fail", "--target", "compute/*")
    mlctl("local", "fault", "add", "refuse", "--path", "*/computes/*", "--retry-after", "ms")
    listed = mlctl("local", "fault", "list", "-o", "json").json
    assert [(each["number"], each["trouble"]) for each in listed] == [(1, "fail"), (2, "refuse")]
    assert (listed[1]["path"], listed[1]["retry_after"]) == ("*/computes/*", "ms")
    assert mlctl("local", "status").json["faults"] == listed
    assert mlctl("local", "fault", "clear", "1").code == 0
    assert mlctl("local", "fault", "list", "-o", "json").json == listed[1:]
    assert "refuse" in mlctl("local", "fault", "list").out


def test_clearing_a_fault_that_is_not_there_clears_none(mlctl: Run) -> None:
    mlctl("local", "fault", "add", "fail")
    assert "no fault 9" in mlctl("local", "fault", "clear", "1", "9").err
    assert len(mlctl("local", "fault", "list", "-o", "json").json) == 1


def test_a_trouble_of_the_wire_says_that_it_needs_an_emulator(mlctl: Run) -> None:
    assert "mlctl emulator start" in mlctl("local", "fault", "add", "hang-up").err
    assert "emulator" not in mlctl("local", "fault", "add", "fail").err


@pytest.mark.parametrize(
    "flags",
    [
        ("refuse", "--target", "compute/*"),
        ("fail", "--path", "*"),
        ("fail", "--bytes", "3"),
        ("refuse", "--status", "99"),
        ("slow", "--seconds", "400d"),
        ("gremlins",),
    ],
)
def test_a_fault_that_makes_no_sense_is_a_usage_error(mlctl: Run, flags: tuple[str, ...]) -> None:
    assert mlctl("local", "fault", "add", *flags).code == 2
    assert mlctl("local", "fault", "list", "-o", "json").json == []
