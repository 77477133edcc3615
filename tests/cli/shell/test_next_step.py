"""`mlctl` alone says what to do next in the folder."""

from __future__ import annotations

from pathlib import Path

from tests.builders.shell import Run, cluster, edit


def commands(text: str) -> list[str]:
    """The commands that a next step names."""
    return [line.partition("#")[0].strip() for line in text.splitlines()[1:]]


def test_in_an_empty_folder_a_project_is_begun(mlctl: Run) -> None:
    done = mlctl()
    assert done.code == 0
    assert commands(done.out)[0] == "mlctl init"


def test_files_that_were_never_applied_are_planned_first(mlctl: Run, tmp_path: Path) -> None:
    mlctl("init", "low-priority-batch", "--project", "scoring")
    done = mlctl()
    assert "4 resources in files, nothing applied yet" in done.out
    assert commands(done.out)[:2] == ["mlctl plan . --env dev", "mlctl apply . --env dev"]
    assert mlctl("apply", ".", "--env", "dev", "--yes").code == 0
    assert commands(mlctl().out)[:2] == ["mlctl plan . --env dev", "mlctl drift . --env dev"]


def test_errors_come_before_a_plan(mlctl: Run, tmp_path: Path) -> None:
    edit(cluster(tmp_path / "cpu.yml"), "size:", "sise:")
    done = mlctl()
    assert "1 error in the files" in done.out
    assert commands(done.out)[0] == "mlctl validate ."


def test_several_projects_are_listed(mlctl: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        mlctl("init", "training", "--to", name, "--project", name)
    assert "projects in `a` and `b`" in mlctl().out


def test_the_plan_that_it_names_can_be_made(mlctl: Run) -> None:
    mlctl("init", "low-priority-batch", "--project", "scoring")
    assert mlctl(*commands(mlctl().out)[0].split()[1:]).code == 0
