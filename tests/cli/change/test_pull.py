"""`mlctl pull`, from the shell."""

from __future__ import annotations

from pathlib import Path

from tests.builders.shell import Run, edit

CLUSTER = """\
# our cluster
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu
type: amlcompute
size: Standard_D4ds_v5
max_instances: 2   # enough
tags: {team: ds, unit: a}
"""
UPDATE = ("compute", "update", "-n", "cpu", "--max-instances", "7", "--min-instances", "1")


def changed(mlctl: Run, folder: Path, text: str = CLUSTER) -> Path:
    """A cluster's file, whose cluster somebody changed since."""
    (folder / "infra").mkdir()
    file = folder / "infra" / "cpu.yml"
    file.write_text(text)
    assert mlctl("apply", "infra", "--yes").code == 0
    assert mlctl(*UPDATE, "--set", "tags.team=x", "--remove", "tags.unit").code == 0
    return file


def test_live_values_are_written_and_nothing_else_changes(mlctl: Run, tmp_path: Path) -> None:
    file = changed(mlctl, tmp_path)
    assert mlctl("pull", "infra", "--write").code == 0
    assert file.read_text() == CLUSTER.replace(
        "max_instances: 2 ", "min_instances: 1\nmax_instances: 7 "
    ).replace("{team: ds, unit: a}", "{team: x}")
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0
    again = mlctl("pull", "infra", "--write")
    assert (again.code, "Nothing to pull" in again.err) == (0, True)


def test_without_write_the_changes_are_shown_as_a_diff(mlctl: Run, tmp_path: Path) -> None:
    file = changed(mlctl, tmp_path)
    done = mlctl("pull", "infra")
    assert (done.code, file.read_text()) == (0, CLUSTER)
    assert "-max_instances: 2   # enough\n" in done.out
    assert "+min_instances: 1\n+max_instances: 7   # enough\n+tags: {team: x}\n" in done.out


def test_what_a_variable_says_stays_one(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("variables: {most: 2}\n")
    text = CLUSTER.replace("max_instances: 2 ", "max_instances: ${{ var.most }} ")
    file = changed(mlctl, tmp_path, text)
    done = mlctl("pull", "infra", "--write")
    assert done.code == 1
    assert "compute/cpu max_instances is left: the file says it by a variable" in done.err
    assert "max_instances: ${{ var.most }}" in file.read_text()
    assert "tags: {team: x}" in file.read_text()


def test_secrets_and_local_files_are_left(mlctl: Run, sample: Path) -> None:
    text = "\nsettings:\n  environment_variables: {API_TOKEN: hunter2-hunter2}\n"
    edit(sample / "deployment.yml", "\nsettings:\n", text)
    mlctl("apply", "sample", "--yes")
    edit(sample / "deployment.yml", "hunter2-hunter2", "another-one-here")
    before = (sample / "deployment.yml").read_text()
    done = mlctl("pull", "sample", "--write")
    assert "API_TOKEN is left: it looks like a secret" in done.err
    assert (sample / "deployment.yml").read_text() == before
    assert "hunter2" not in done.out + done.err


def test_what_is_not_there_is_left(mlctl: Run, tmp_path: Path) -> None:
    changed(mlctl, tmp_path)
    mlctl("compute", "delete", "-n", "cpu", "--yes")
    done = mlctl("pull", "infra", "--write")
    assert (done.code, "compute/cpu is left: it is not in the workspace" in done.err) == (1, True)
