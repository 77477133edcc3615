"""`mlctl init`, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

TEMPLATES = ("low-priority-batch", "pipeline-batch", "training", "online-blue-green")


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_is_valid_laid_out_and_can_be_planned_in_each_environment(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str
) -> None:
    done = mlctl("init", template, "--to", "new one")
    assert done.code == 0, done.err
    written = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file())
    assert [one for one in written if not one.startswith(".")] == sorted(done.out.splitlines())
    assert "cd 'new one' && mlctl plan . --env dev" in done.err
    monkeypatch.chdir(tmp_path / "new one")
    assert mlctl("validate", ".").code == 0
    assert mlctl("fmt", "--check").out == ""
    more = "-> 3" if template.startswith("online") else "-> 8"
    for environment, nodes in (("dev", ""), ("prod", more)):
        planned = mlctl("plan", ".", "--env", environment)
        assert planned.code == 0, planned.err
        assert f"ml-{environment}" in planned.err
        assert nodes in planned.err
    assert "protected" not in planned.out
    applied = mlctl("apply", ".", "--env", "all", "--yes")
    assert applied.code == 0, applied.out
    assert mlctl("plan", ".", "--env", "all").out.count("No changes.") == 2


@pytest.mark.slow
def test_the_traffic_of_a_rollout_is_another_one_in_each_environment(
    mlctl: Run, tmp_path: Path
) -> None:
    mlctl("init", "online-blue-green")
    assert "  blue: ${{ var.blue }}\n" in (tmp_path / "endpoint.yml").read_text()
    assert mlctl("apply", ".", "--env", "all", "--yes").code == 0
    for stage, traffic in (("dev", '{"green": 100}'), ("prod", '{"blue": 90, "green": 10}')):
        show = ("online-endpoint", "show", "-n", f"heart-risk-{stage}", "--query", "traffic")
        shown = mlctl(*show, "-w", f"ml-{stage}")
        assert json.loads(shown.out) == json.loads(traffic)


def test_what_is_not_yaml_is_copied_byte_by_byte(mlctl: Run, tmp_path: Path) -> None:
    mlctl("init", "training")
    script = Path("src") / "train.py"
    assert (tmp_path / script).read_bytes() == (SAMPLES / "training" / script).read_bytes()


def test_the_project_has_the_name_that_is_given_or_the_folders(mlctl: Run, tmp_path: Path) -> None:
    mlctl("init", "training", "--to", "a", "--project", "lines")
    mlctl("init", "training", "--to", "b & c")
    assert "\nproject: lines\n" in (tmp_path / "a" / "mlctl.yml").read_text()
    assert "\nproject: b-c\n" in (tmp_path / "b & c" / "mlctl.yml").read_text()


def test_nothing_is_overwritten(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text("mine")
    done = mlctl("init", "training")
    assert done.code == 1
    assert "job.yml already exists: choose another folder with --to" in done.err
    assert (tmp_path / "job.yml").read_text() == "mine"
    assert not (tmp_path / "cluster.yml").exists()


def test_without_a_terminal_a_template_has_to_be_named(mlctl: Run) -> None:
    done = mlctl("init")
    assert done.code == 1
    assert f"name a template, for example: mlctl init {TEMPLATES[0]}" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["trainig"], "unknown template `trainig`: did you mean `training`?"),
        (["training", "--project", "a b"], "`a b` cannot name a project"),
    ],
)
def test_a_wrong_name_is_told(mlctl: Run, tmp_path: Path, words: list[str], says: str) -> None:
    done = mlctl("init", *words)
    assert done.code == 1
    assert says in done.err
    assert not (tmp_path / "mlctl.yml").exists()


@pytest.mark.parametrize(
    ("typed", "name", "file"),
    [
        ("3\nlines\n", "lines", "job.yml"),
        ("\n\n", "", "model.yml"),
        ("training\nx\n", "x", "job.yml"),
    ],
)
def test_on_a_terminal_template_and_project_are_asked_for(
    mlctl: Run, tmp_path: Path, typed: str, name: str, file: str
) -> None:
    done = mlctl("init", "--to", "new", typed=typed)
    assert done.code == 0, done.err
    assert "1. low-priority-batch: a model behind a batch endpoint" in done.err
    assert f"\nproject: {name or 'new'}\n" in (tmp_path / "new" / "mlctl.yml").read_text()
    assert (tmp_path / "new" / file).is_file()
