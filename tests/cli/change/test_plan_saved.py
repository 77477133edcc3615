"""`mlctl plan --out FILE` and `mlctl apply FILE`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit


def save(mlctl: Run, *paths: str) -> None:
    """Save the plan of some paths as `plan.json`."""
    assert mlctl("plan", *paths, "--out", "plan.json").code in (0, 1)


def test_a_saved_plan_is_applied_without_asking(mlctl: Run, sample: Path) -> None:
    save(mlctl, "sample")
    done = mlctl("apply", "plan.json")
    assert (done.code, "Resources: 4 added" in done.out) == (0, True)
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_a_saved_plan_alone_does_what_it_says_whatever_the_files_say_now(
    mlctl: Run, tmp_path: Path
) -> None:
    cluster(tmp_path / "cpu.yml", most=2)
    save(mlctl, "cpu.yml")
    cluster(tmp_path / "cpu.yml", most=9)
    mlctl("apply", "plan.json", "--plan-only")
    assert mlctl("compute", "show", "-n", "cpu", "--query", "max_instances").json == 2


def test_a_world_that_moved_is_refused_by_name(mlctl: Run, tmp_path: Path) -> None:
    for most in (2, 3):
        save(mlctl, str(cluster(tmp_path / "cpu.yml", most=most)))
        if most == 2:
            mlctl("apply", "plan.json")
    mlctl("apply", cluster(tmp_path / "cpu.yml", most=4), "--yes")
    done = mlctl("apply", "plan.json")
    assert (done.code, "\n  compute/cpu\n" in done.err) == (4, True)
    assert mlctl("compute", "show", "-n", "cpu", "--query", "max_instances").json == 4


def test_a_saved_plan_that_was_applied_is_done(mlctl: Run, sample: Path) -> None:
    save(mlctl, "sample")
    assert [mlctl("apply", "plan.json").code for _ in range(2)] == [0, 0]


def test_a_saved_plan_that_failed_in_part_is_taken_up(mlctl: Run, sample: Path) -> None:
    save(mlctl, "sample")
    mlctl("local", "fault", "add", "fail", "--operation", "put", "--target", "batch-deployment/*",
          "--status", "400")  # fmt: skip
    assert [mlctl("apply", "plan.json").code for _ in range(2)] == [7, 0]
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0


def test_a_plan_that_would_be_rejected_is_not_begun(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "3")
    save(mlctl, "sample")
    assert (mlctl("apply", "plan.json").code, mlctl("model", "list").json) == (6, [])


def test_a_plan_with_a_warning_is_applied(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "4")
    save(mlctl, "sample")
    assert mlctl("apply", "plan.json").code == 0


def test_a_plan_of_another_workspace_is_refused(mlctl: Run, tmp_path: Path) -> None:
    save(mlctl, str(cluster(tmp_path / "cpu.yml")))
    done = mlctl("apply", "plan.json", "-w", "other")
    assert (done.code, "and this is another one" in done.err) == (1, True)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"format_version": "9.0"}'])
def test_what_is_no_plan_is_refused_with_what_to_do(mlctl: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    done = mlctl("apply", "plan.json")
    assert (done.code, "mlctl plan PATH... --out FILE" in done.err) == (1, True)


def test_every_cut_of_a_plan_is_refused(mlctl: Run, tmp_path: Path) -> None:
    save(mlctl, str(cluster(tmp_path / "cpu.yml")))
    whole = (tmp_path / "plan.json").read_text()
    for size in range(0, len(whole) - 2, 500):
        (tmp_path / "plan.json").write_text(whole[:size])
        assert mlctl("apply", "plan.json").code == 1


def test_a_plan_without_one_of_its_parts_is_refused(mlctl: Run, tmp_path: Path) -> None:
    save(mlctl, str(cluster(tmp_path / "cpu.yml")))
    whole = json.loads((tmp_path / "plan.json").read_text())
    for part in ("backend", "workspace", "steps", "read", "resource_changes", "applyable"):
        left = {key: value for key, value in whole.items() if key != part}
        (tmp_path / "plan.json").write_text(json.dumps(left))
        assert mlctl("apply", "plan.json").code == 1


def test_a_plan_that_cannot_be_saved_is_an_error(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    done = mlctl("plan", "cpu.yml", "--out", "nowhere/plan.json")
    assert (done.code, "cannot write the plan" in done.err) == (1, True)


def test_only_its_owner_can_read_a_plan(mlctl: Run, sample: Path) -> None:
    edit(sample / "endpoint.yml", "A heart", "The heart")
    save(mlctl, "sample")
    assert (sample.parent / "plan.json").stat().st_mode & 0o777 == 0o600
