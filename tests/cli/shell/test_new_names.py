"""Several environments of one run: their order, and what they would make in one region."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit, finish, start

PROJECT = """\
variables: {name: cpu}
environments:
  dev: {workspace: ml-dev, variables: {name: cpu-dev}}
  test: {workspace: ml-test, variables: {name: cpu-test}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A cluster in two environments, each with a name of its own."""
    (tmp_path / "mlctl.yml").write_text(PROJECT)
    cluster(tmp_path / "cpu.yml", name="${{ var.name }}")
    return tmp_path


def ran(folder: Path, *line: str) -> tuple[int, str, str]:
    done = finish(start(folder, *line))
    return done.code, done.out, done.err


@pytest.mark.slow
def test_one_name_in_two_new_environments_is_refused_before_the_first_write(
    mlctl: Run, project: Path
) -> None:
    edit(project / "mlctl.yml", "cpu-dev", "cpu")
    edit(project / "mlctl.yml", "cpu-test", "cpu")
    code, _, err = ran(project, "plan", ".", "--env", "all")
    assert code == 1
    assert "MLC406: compute/cpu is new in dev and test, and its name must be unique in" in err
    code, _, err = ran(project, "apply", ".", "--env", "all", "--yes")
    assert (code, "Nothing was started in any environment." in err) == (6, True)
    for environment in ("dev", "test"):
        assert mlctl("compute", "list", "--env", environment).json == []
    assert ran(project, "plan", ".", "--env", "all", "--ignore", "MLC406")[0] == 0


@pytest.mark.slow
def test_all_saved_plans_are_checked_before_the_first_write(mlctl: Run, project: Path) -> None:
    assert ran(project, "plan", ".", "--env", "all", "--out", "plan-{env}.json")[0] == 0
    create = ("compute", "create", "-n", "cpu-test", "-t", "amlcompute", "--env", "test")
    assert mlctl(*create).code == 0
    code, out, err = ran(project, "apply", "plan-{env}.json", ".", "--env", "all")
    assert (code, "Nothing was started in any environment." in err) == (4, True)
    assert out.index("== test ==") < out.index("\n  compute/cpu-test\n")
    assert "== dev: exit code 0 ==" in out
    assert "== test: exit code 4 ==" in out
    assert mlctl("compute", "list", "--env", "dev").json == []


@pytest.mark.slow
def test_environments_run_in_the_order_of_the_project_up_to_the_first_that_fails(
    mlctl: Run, project: Path
) -> None:
    fault = ("local", "fault", "add", "fail", "--operation", "put", "--status", "400")
    assert mlctl(*fault, "--target", "compute/cpu-dev").code == 0
    line = ("apply", ".", "--env", "test,dev", "--yes", "--in-order")
    code, out, _ = ran(project, *line)
    assert code != 0
    assert out.index("== dev ==") < out.index("== test ==\nNot started, because dev has failed.")
    assert mlctl("compute", "list", "--env", "test").json == []


def test_a_check_writes_nothing(mlctl: Run, project: Path) -> None:
    assert mlctl("apply", ".", "--env", "dev", "--check").code == 0
    assert mlctl("compute", "list", "--env", "dev").json == []
