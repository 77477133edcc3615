"""`mlctl local`: the strings of the simulated cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster


def moment(mlctl: Run) -> str:
    """What the clock of the cloud says."""
    return str(mlctl("local", "status", "--query", "time").json)


def test_a_new_cloud_is_empty_and_at_its_start(mlctl: Run) -> None:
    said = mlctl("local", "status").json
    assert said["time"] == "2026-01-01T00:00:00.000Z"
    assert [said[key] for key in ("workspaces", "running", "faults", "locks")] == [[], 0, [], []]


def test_status_counts_what_a_workspace_holds(mlctl: Run, sample: Path) -> None:
    mlctl("apply", sample, "--yes")
    (workspace,) = mlctl("local", "status").json["workspaces"]
    counts = {"batch-deployment": 1, "batch-endpoint": 1, "compute": 1, "model": 1}
    assert workspace["resources"] == counts


@pytest.mark.parametrize(
    ("length", "later"),
    [
        ("90", "00:01:30"),
        ("90s", "00:01:30"),
        ("15m", "00:15:00"),
        ("1h30m", "01:30:00"),
        ("PT90S", "00:01:30"),
        ("1.5h", "01:30:00"),
    ],
)
def test_time_advances_as_far_as_it_is_told(mlctl: Run, length: str, later: str) -> None:
    assert mlctl("local", "advance", length).code == 0
    assert moment(mlctl) == f"2026-01-01T{later}.000Z"


@pytest.mark.parametrize("length", ["5x", "", "h", "1h1", "soon"])
def test_what_is_no_duration_is_a_usage_error(mlctl: Run, length: str) -> None:
    assert mlctl("local", "advance", length).code == 2
    assert moment(mlctl) == "2026-01-01T00:00:00.000Z"


def test_waiting_costs_virtual_time_only(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    mlctl("local", "fault", "add", "delay", "--operation", "put", "--seconds", "6h")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    assert moment(mlctl) >= "2026-01-01T06:00:00"


def test_reset_asks_and_then_forgets_everything(mlctl: Run, sample: Path) -> None:
    mlctl("apply", sample, "--yes")
    assert mlctl("local", "reset").code == 1
    assert mlctl("local", "reset", "--yes").code == 0
    assert mlctl("local", "status").json["workspaces"] == []


def test_a_quota_is_set_and_listed(mlctl: Run) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "8", "--family", "standardDSv2Family=4")
    listed = mlctl("local", "quota", "list", "-o", "json").json
    limits = {one["quota"]: one["limit"] for one in listed}
    assert (limits["low_priority"], limits["standardDSv2Family"]) == (8, 4)


def test_a_quota_is_of_one_region(mlctl: Run) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "8", "-l", "westus")
    query = ("-o", "json", "--query", "[?quota=='low_priority'].limit")
    assert mlctl("local", "quota", "list", *query).json == [100]
    assert mlctl("local", "quota", "list", "-l", "westus", *query).json == [8]


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--low-priority-cores", "-1"),
        ("--family", "standardDSv2Family"),
        ("--family", "standardDSv2Family=many"),
        ("--family", "standardDSv22Family=4"),
    ],
)
def test_a_quota_that_makes_no_sense_is_a_usage_error(mlctl: Run, flags: tuple[str, ...]) -> None:
    assert mlctl("local", "quota", "set", *flags).code == 2


def test_a_family_is_found_in_any_letter_case_and_without_blanks(mlctl: Run) -> None:
    mlctl("local", "quota", "set", "--family", "STANDARDdsv2FAMILY=4")
    mlctl("local", "quota", "set", "--family", "standardncasv3_t4family=8")
    for name, limit in (("standardDSv2Family", 4), ("Standard NCASv3_T4 Family", 8)):
        query = f"[?quota=='{name}'].limit"
        assert mlctl("local", "quota", "list", "-o", "json", "--query", query).json == [limit]


def test_the_same_seed_tells_the_same_story(mlctl: Run, sample: Path) -> None:
    stories = []
    for _ in range(2):
        mlctl("local", "reset", "--yes", "--seed", "7")
        mlctl("apply", sample, "--yes", "--parallelism", "1")
        stories.append([mlctl("compute", "list").out, mlctl("model", "list").out, moment(mlctl)])
    assert stories[0] == stories[1]


def test_the_strings_are_those_of_the_local_backend_alone(mlctl: Run) -> None:
    scope = ("--subscription", "s", "-g", "g", "-w", "w")
    assert mlctl("local", "status", "--backend", "nowhere", *scope).code == 1
