"""A checkout of a stranger: what it names or links to elsewhere is not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster

SECRET = "user:plain-word"


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file beside a git checkout, in which commands run."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    cluster(tmp_path / "repository" / "cpu.yml")
    file = tmp_path / "credentials"
    file.write_text(f"{SECRET}\n")
    monkeypatch.chdir(tmp_path / "repository")
    return file


@pytest.mark.parametrize("key", ["policies: [{}]", "overlays: [{}]", "prices: {}"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_elsewhere_that_the_project_names_is_not_read(
    key: str, linked: bool, mlctl: Run, outside: Path
) -> None:
    name = "../credentials"
    if linked:
        name = "rules.yml"
        Path(name).symlink_to(outside)
    Path("mlctl.yml").write_text(f"{key.format(name)}\n")
    done = mlctl("plan", "cpu.yml")
    assert (done.code, "is outside the git checkout" in done.err) == (1, True), done.err
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("name", ["mlctl.yml", "other.yml", "below"])
def test_a_link_that_leads_elsewhere_is_not_read(name: str, mlctl: Run, outside: Path) -> None:
    target = outside
    if name == "below":
        target = outside.parent / "folder"
        target.mkdir()
        outside.rename(target / "other.yml")
    Path(name).symlink_to(target)
    done = mlctl("validate", ".")
    assert (done.code, "outside the git checkout" in done.out + done.err) == (1, True)
    assert SECRET not in done.out + done.err


def test_what_the_command_names_is_read_wherever_it_lies(mlctl: Run, outside: Path) -> None:
    cluster(outside.parent / "elsewhere.yml", name="other")
    assert mlctl("validate", "../elsewhere.yml", "cpu.yml").code == 0
    outside.rename("rules.yml")
    Path("mlctl.yml").write_text("policies: [rules.yml]\n")
    assert SECRET in mlctl("validate", "cpu.yml").err


@pytest.mark.parametrize("name", ["all", "'a,b'", "--x", "''"])
def test_an_environment_has_a_name_that_env_takes_for_none_else(
    name: str, mlctl: Run, outside: Path
) -> None:
    Path("mlctl.yml").write_text(f"environments: {{{name}: {{}}}}\n")
    done = mlctl("validate", "--env", "all", "cpu.yml")
    assert (done.code, "is not a valid name of an environment" in done.err) == (1, True), done.err


def test_a_price_list_without_an_end_is_not_read(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "mlctl.yml").write_text("prices: /dev/zero\n")
    done = mlctl("plan", "cpu.yml")
    assert (done.code, "it is no regular file" in done.err) == (1, True)
