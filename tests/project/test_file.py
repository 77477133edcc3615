"""`mlctl.yml`, and the rules that it and `--ignore` leave out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlctl.project.file import Project
from tests.builders.shell import Run, cluster

LONG = "a-cluster-with-a-very-long-name"
CREATE = ("compute", "create", "-n", LONG, "--type", "amlcompute", "--max-instances", "2")
JOB = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: sleep 1
environment: {image: ubuntu}
compute: azureml:cpu
unknown: 1
"""


def test_a_cluster_name_of_the_service_is_taken_where_the_rule_is_waived(mlctl: Run) -> None:
    refused = mlctl(*CREATE)
    assert refused.code == 1
    assert "the service has been seen to take up to 32 characters" in refused.err
    assert "`--ignore MLC106`" in refused.err
    assert mlctl(*CREATE, "--ignore", "MLC106").code == 0
    update = ("compute", "update", "-n", LONG, "--max-instances", "3", "--ignore", "bad-name")
    assert mlctl(*update).json["max_instances"] == 3


def test_what_the_project_ignores_no_command_checks(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("ignore: [MLC106, MLC101]\n")
    cluster(tmp_path / "long.yml", LONG)
    assert mlctl(*CREATE, "--dry-run").code == 0
    for command in ("validate", "plan", "apply --yes"):
        assert mlctl(*command.split(), "long.yml").code == 0
    cluster(tmp_path / "cpu.yml", "cpu")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    (tmp_path / "job.yml").write_text(JOB)
    assert mlctl("job", "create", "-f", "job.yml").code == 0
    (tmp_path / "mlctl.yml").unlink()
    assert mlctl("job", "create", "-f", "job.yml").code == 1
    assert mlctl("job", "create", "-f", "job.yml", "--ignore", "unknown-field").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workspce: w\n", "mlctl.yml:1:1\n  |\n1 | workspce: w\n  | ^^^^^^^^\n"),
        ("workspce: w\n", "did you mean `workspace`?"),
        ("workspace: 12\n", "error[MLC103]"),
        ("backend:\n", "`backend` has no value"),
        ("ignore: MLC106\n", "error[MLC103]"),
        ("ignore: [MLC106, MLC16]\n", "`MLC16` is not a rule\n --> mlctl.yml:1:18"),
        ("ignore: [nonsense]\n", "docs/rules.md lists them"),
        ("a: [\n", "error[MLC0"),
        ("- a\n", "error[MLC0"),
        ("# nothing\n", "`mlctl.yml` is empty\n  = hint: write `project: NAME` in it"),
        (
            "project: a\n---\nproject: b\n",
            "mlctl.yml must be one document, but this is a second one",
        ),
        ("policies: [rules.yml]\n", "there is no file `rules.yml`\n --> mlctl.yml:1:12"),
        (
            "environments: {prod: {overlays: [prod.yml]}}\n",
            "there is no file `prod.yml`\n --> mlctl.yml:1:34",
        ),
    ],
)
def test_what_a_project_cannot_say_is_an_error_at_its_place(
    mlctl: Run, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mlctl.yml").write_text(text)
    for line in (("compute", "list"), ("validate", "."), CREATE):
        done = mlctl(*line)
        assert done.code in (1, 2)
        assert said in done.err
        assert done.err.endswith("ERROR: mlctl.yml cannot be used as it is\n")
    assert not (tmp_path / ".mlctl").exists()


def test_a_project_that_is_no_file_is_not_passed_over(mlctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "mlctl.yml"
    file.mkdir()
    assert "`mlctl.yml` cannot be read" in mlctl("validate", ".").err
    file.rmdir()
    for target in ("nowhere", "mlctl.yml"):
        file.symlink_to(target)
        assert "`mlctl.yml` cannot be read" in mlctl("validate", ".").err
        file.unlink()
    os.mkfifo(file)
    assert "`mlctl.yml` cannot be read" in mlctl("validate", ".").err


def test_a_project_named_as_a_path_is_no_resource(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("project: p\n")
    assert "configures the project and declares no resources" in mlctl("plan", "mlctl.yml").err


def test_a_backend_that_there_is_not_is_told_before_its_workspace(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "mlctl.yml").write_text("backend: azur\n")
    assert "there is no backend `azur`; did you mean `azure`?" in mlctl("compute", "list").err


def test_an_empty_project_says_nothing(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("{}\n")
    assert mlctl("compute", "list").json == []


def test_a_rule_to_ignore_that_there_is_not_is_wrong_usage(mlctl: Run) -> None:
    done = mlctl(*CREATE, "--ignore", "MLC16")
    assert (done.code, "did you mean `MLC106`?" in done.err) == (2, True)


def test_lists_of_an_environment_go_on_those_of_the_project() -> None:
    chosen = {"ignore": ["MLC302"], "variables": {"b": 2}, "workspace": "prod"}
    values = {"ignore": ["MLC106"], "variables": {"a": 1, "b": 1}, "workspace": "dev"}
    project = Project({**values, "environments": {"prod": chosen}}).within("prod")
    assert project.ignore == {"MLC106", "MLC302"}
    assert (project.variables, project.text("workspace")) == ({"a": 1, "b": 2}, "prod")
