"""Projects from the shell: what `mlctl.yml` says of whose things are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project and a cluster `cpu`, which declares a tag."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    (tmp_path / "infra").mkdir()
    file = cluster(tmp_path / "infra" / "cpu.yml")
    file.write_text(file.read_text() + "tags: {team: ds}\n")
    return tmp_path


def tags(mlctl: Run, name: str = "cpu") -> dict[str, str]:
    """The tags of a cluster."""
    found: dict[str, str] = mlctl("compute", "show", "-n", name).json.get("tags", {})
    return found


def test_a_project_tags_what_it_makes_once(mlctl: Run, project: Path) -> None:
    assert "mlctl.project:   scoring" in mlctl("apply", "infra", "--yes").out
    assert tags(mlctl).keys() == {"team", "mlctl.project", "mlctl.spec-hash"}
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(("text", "flags"), [("", ["--no-tags"]), ("tags: false\n", [])])
def test_where_tags_are_forbidden_none_are_made(
    mlctl: Run, project: Path, text: str, flags: list[str]
) -> None:
    edit(project / "mlctl.yml", "scoring\n", f"scoring\n{text}")
    assert mlctl("apply", "infra", "--yes", *flags).code == 0
    assert tags(mlctl) == {"team": "ds"}


def test_a_saved_plan_holds_the_tags(mlctl: Run, project: Path) -> None:
    mlctl("plan", "infra", "--out", "plan.json")
    assert mlctl("apply", "plan.json").code == 0
    assert tags(mlctl)["mlctl.project"] == "scoring"


def test_commands_of_az_neither_tag_nor_remove_the_tags(mlctl: Run, project: Path) -> None:
    mlctl("compute", "create", "-n", "other", "--type", "amlcompute", "--size", "Standard_DS3_v2")
    assert tags(mlctl, "other") == {}
    mlctl("apply", "infra", "--yes")
    edit(project / "infra" / "cpu.yml", "team: ds", "team: ml")
    assert mlctl("compute", "create", "-f", "infra/cpu.yml").code == 0
    assert tags(mlctl).keys() == {"team", "mlctl.project", "mlctl.spec-hash"}
    remove = ("compute", "update", "-n", "cpu", "--remove", 'tags."mlctl.project"')
    assert mlctl(*remove).code == 0
    assert tags(mlctl).keys() == {"team", "mlctl.spec-hash"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project: my project\n", "error[MLC1"),
        ("project: s\nprotect: [computes/*]\n", "did you mean `compute/*`?"),
        ("project: s\nprotect: [gpu]\n", "`gpu` is no address, and no pattern of one"),
        ("project: s\ntags: maybe\n", "error[MLC103]"),
    ],
)
def test_a_project_that_makes_no_sense_is_an_error_at_its_place(
    mlctl: Run, project: Path, text: str, said: str
) -> None:
    (project / "mlctl.yml").write_text(text)
    done = mlctl("plan", "infra")
    assert done.code == 1
    assert said in done.err
    assert "mlctl.yml:" in done.err
