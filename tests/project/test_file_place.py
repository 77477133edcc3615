"""Which `mlctl.yml` holds: the nearest_file at or above what a command is about."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import mlctl as library
from mlctl.project.file import SeveralProjects, nearest_file, project_file
from tests.builders.shell import Run, cluster, edit

FILE = "mlctl.yml"
Made = Callable[..., Path]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a cluster in `infra/cpu`, in which a command runs."""
    (tmp_path / ".git").mkdir()
    cluster(tmp_path / "infra" / "cpu" / "cpu.yml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def project(folder: Path, text: str = "project: scoring\n") -> Path:
    """Write a `mlctl.yml`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(text)
    return folder / FILE


@pytest.mark.parametrize("of", ["infra/cpu/cpu.yml", "infra/cpu", "infra", ".", "infra/*/*.yml"])
def test_it_is_found_at_above_and_below_what_is_named(root: Path, of: str) -> None:
    assert project_file([of]) is None
    project(root / "infra")
    assert project_file([of]) == Path("infra", FILE)


def test_the_nearest_one_holds_and_is_named_as_the_path_is(root: Path) -> None:
    project(root)
    assert project_file(["infra/cpu"]) == Path(FILE)
    project(root / "infra" / "cpu")
    assert project_file(["infra/cpu/cpu.yml", "infra/cpu"]) == Path("infra", "cpu", FILE)
    assert project_file([root / "infra" / "cpu"]) == root / "infra" / "cpu" / FILE


def test_it_is_not_looked_for_above_the_checkout(root: Path) -> None:
    inner = root / "inner"
    (inner / ".git").mkdir(parents=True)
    project(root)
    assert project_file([inner]) is None
    assert nearest_file(str(root / "infra" / "new" / "folder")) == str(root / FILE)


def test_outside_of_a_checkout_it_is_not_looked_for_where_everybody_may_write(root: Path) -> None:
    (root / ".git").rmdir()
    project(root)
    assert project_file([root / "infra"]) == root / FILE
    root.chmod(0o777)
    assert project_file([root / "infra"]) == root / FILE, "the current folder is meant"
    (root / "infra").chmod(0o777)
    project(root / "infra")
    assert project_file([root / "infra" / "cpu"]) is None
    assert project_file([root / "infra"]) == root / "infra" / FILE


def test_links_to_the_same_folder_are_one_project(root: Path) -> None:
    project(root / "infra")
    (root / "link").symlink_to("infra")
    assert project_file(["link", "infra/cpu"]) == Path("link", FILE)


def test_files_of_two_projects_are_an_error_that_names_both(root: Path, mlctl: Run) -> None:
    project(root / "a"), project(root / "b")
    for one in ("a", "b"):
        cluster(root / one / "cpu.yml")
    for given in (["a", "b"], ["."], ["a/cpu.yml", "b/*.yml"]):
        with pytest.raises(SeveralProjects, match=r"`a/mlctl.yml` and `b/mlctl.yml` are two"):
            project_file(given)
    for command in ("plan", "validate", "render", "graph"):
        done = mlctl(command, ".")
        assert done.code in (1, 2)
        assert "`a/mlctl.yml` and `b/mlctl.yml` are two projects" in done.err
    assert mlctl("plan", "a").code == 0
    assert mlctl("fmt", ".", "--check").code == 0
    assert mlctl("compute", "list").code == 0


def test_cases_have_a_project_of_their_own(root: Path) -> None:
    project(root), project(root / "tests")
    (root / "tests" / "a.test.yml").write_text("tests: []\n")
    assert project_file(["."]) == Path(FILE)


@pytest.mark.parametrize(
    ("where", "path"),
    [(".", "infra"), ("infra/cpu", "."), ("other", "../infra/cpu/cpu.yml"), ("infra", "cpu")],
)
def test_a_command_is_about_the_same_project_from_everywhere(
    root: Path, mlctl: Run, monkeypatch: pytest.MonkeyPatch, where: str, path: str
) -> None:
    project(
        root / "infra",
        "project: scoring\nvariables: {most: 3}\npolicies: [rules.yml]\n"
        "environments:\n  prod:\n    workspace: ml-prod\n    overlays: [prod.yml]\n",
    )
    (root / "infra" / "rules.yml").write_text(
        "policies: [{name: small, rule: compute.max_instances < `9`, message: m}]\n"
    )
    (root / "infra" / "prod.yml").write_text("compute/cpu: {description: of prod}\n")
    edit(root / "infra" / "cpu" / "cpu.yml", "max_instances: 2", "max_instances: ${{ var.most }}")
    (root / "other").mkdir()
    monkeypatch.chdir(root / where)
    done = mlctl("plan", path, "--env", "prod", "-o", "json")
    assert done.code == 0, done.err
    assert done.json["workspace"]["workspace"] == "ml-prod"
    after = done.json["resource_changes"][0]["change"]["after"]
    assert (after["max_instances"], after["description"]) == (3, "of prod")
    assert after["tags"]["mlctl.project"] == "scoring"
    assert "small" in mlctl("plan", path, "--var", "most=9").err


def test_a_note_says_which_one_holds_where_it_is_elsewhere(root: Path, mlctl: Run) -> None:
    project(root / "infra")
    assert "workspace local/local (by infra/mlctl.yml)" in mlctl("plan", "infra").err
    project(root)
    assert "(by" not in mlctl("compute", "list").err


@pytest.mark.slow
def test_a_saved_plan_is_applied_with_the_project_of_its_files(root: Path, mlctl: Run) -> None:
    project(
        root / "infra",
        "project: s\nenvironments: {a: {workspace: w-a}, b: {workspace: w-b}}\nvariables: {n: a}\n",
    )
    assert mlctl("plan", "infra", "--env", "a", "--out", "plan-a.json").code == 0
    (root / "elsewhere").mkdir()
    shutil.move(root / "plan-a.json", root / "elsewhere" / "one.json")
    assert mlctl("apply", "elsewhere/one.json", "--env", "a").code == 0
    assert mlctl("apply", "elsewhere/one.json").code == 1  # another workspace
    edit(root / "infra" / "cpu" / "cpu.yml", "name: cpu", "name: cpu-${{ var.n }}")
    edit(root / "infra" / FILE, "{workspace: w-b}", "{workspace: w-b, variables: {n: b}}")
    again = mlctl("plan", "infra", "--env", "all", "--out", "plan-{env}.json")
    assert again.code == 0, again.out
    assert mlctl("apply", "plan-{env}.json", "--env", "all").code == 0
    assert mlctl("plan", "infra", "--env", "all", "--detailed-exitcode").code == 0


def test_commands_of_az_go_by_the_project_of_their_file(root: Path, mlctl: Run) -> None:
    project(root / "infra", "workspace: ml-dev\nprotect: [compute/*]\n")
    made = mlctl("compute", "create", "-f", "infra/cpu/cpu.yml")
    assert (made.code, "workspaces/ml-dev/" in made.json["id"]) == (0, True)
    edit(root / "infra" / "cpu" / "cpu.yml", "D4ds", "D8ds")
    assert mlctl("compute", "create", "-f", "infra/cpu/cpu.yml", "--replace").code == 5


def test_export_and_prune_go_by_the_project_of_the_folder(root: Path, mlctl: Run) -> None:
    project(root / "infra")
    cluster(root / "infra" / "more" / "gpu.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    pruned = mlctl("plan", "infra/cpu", "--prune", "--detailed-exitcode")
    assert pruned.code == 0, "infra/more is of the project, too"
    project(root / "copy", "workspace: empty\n")
    assert "0 files written" in mlctl("export", "--to", "copy").err


def test_the_library_reads_the_same_project(root: Path) -> None:
    project(root / "infra")
    for paths in ("infra/cpu", ["infra/cpu/cpu.yml"], root / "infra"):
        assert library.read_project(paths).text("project") == "scoring"
    project(root / "b")
    with pytest.raises(library.SeveralProjects):
        library.read_project(["infra", "b"])
