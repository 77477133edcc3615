"""`mlctl pull`, from the shell."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from mlctl import files
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
    assert "compute/cpu max_instances is left: the file uses a variable there" in done.err
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
    assert (done.code, "compute/cpu is left: it does not exist in the workspace" in done.err) == (
        1,
        True,
    )


def test_a_tag_that_the_file_lacks_is_written_beside_the_others(mlctl: Run, tmp_path: Path) -> None:
    file = changed(
        mlctl, tmp_path, CLUSTER.replace("{team: ds, unit: a}", "\n  team: ds # mine\n  unit: a")
    )
    mlctl("compute", "update", "-n", "cpu", "--set", "tags.owner=me")
    assert mlctl("pull", "infra", "--write").code == 0
    assert file.read_text().endswith("tags: \n  owner: me\n  team: x # mine\n")
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


def test_tags_are_written_where_the_file_has_none(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "infra").mkdir()
    file = tmp_path / "infra" / "cpu.yml"
    file.write_text(CLUSTER.replace("{team: ds, unit: a}", "{}  # none yet"))
    assert mlctl("apply", "infra", "--yes").code == 0
    assert mlctl("compute", "update", "-n", "cpu", "--set", "tags.team=x").code == 0
    assert mlctl("pull", "infra", "--write").code == 0
    assert 'tags: {"team": "x"}  # none yet' in file.read_text()
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


def test_what_an_anchor_says_twice_is_left_with_the_place_and_what_to_write(
    mlctl: Run, tmp_path: Path
) -> None:
    tags = "tags: {team: ds, unit: a}", "tags: {team: &team ds, unit: a, also: *team}"
    file = changed(mlctl, tmp_path, CLUSTER.replace(*tags))
    done = mlctl("pull", "infra", "--write")
    assert done.code == 1
    assert (
        "compute/cpu tags.team is left: it cannot be changed without changing something else;"
        " write `tags.team: x` in infra/cpu.yml:7 by hand" in done.err
    )
    assert "max_instances: 7" in file.read_text()
    assert "tags: {team: &team ds, also: *team}" in file.read_text()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_encoding_and_line_ends_stay(
    mlctl: Run, tmp_path: Path, encoding: str
) -> None:
    file = changed(mlctl, tmp_path)
    file.write_bytes(CLUSTER.replace("\n", "\r\n").encode(encoding))
    assert "# our cluster" not in mlctl("pull", "infra").out.partition("@@")[0]
    assert mlctl("pull", "infra", "--write").code == 0
    content = file.read_bytes()
    assert content[:2] == CLUSTER.encode(encoding)[:2]
    text = content.decode(encoding)
    assert "min_instances: 1\r\nmax_instances: 7   # enough\r\n" in text
    assert text.count("\r\n") == text.count("\n")


def test_an_overlay_takes_the_values_of_its_environment(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text(
        "environments: {prod: {overlays: [prod.yml], workspace: prod}}\n"
    )
    overlay = tmp_path / "prod.yml"
    overlay.write_text("compute/cpu:\n  max_instances: 4  # more\n")
    (tmp_path / "infra").mkdir()
    base = tmp_path / "infra" / "cpu.yml"
    base.write_text(CLUSTER)
    assert mlctl("apply", "infra", "--yes", "--env", "prod").code == 0
    assert mlctl(*UPDATE, "--env", "prod").code == 0
    assert mlctl("pull", "infra", "--write", "--env", "prod").code == 0
    assert overlay.read_text() == ("compute/cpu:\n  min_instances: 1\n  max_instances: 7  # more\n")
    assert base.read_text() == CLUSTER


def test_a_file_that_cannot_be_written_does_not_stop_the_others(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = changed(mlctl, tmp_path)
    other = first.with_name("other.yml")
    other.write_text(CLUSTER.replace("name: cpu", "name: other"))
    mlctl("apply", str(other), "--yes")
    mlctl("compute", "update", "-n", "other", "--max-instances", "9")
    write = files.write

    def full(path: Path, content: bytes) -> None:
        if path.name == "cpu.yml":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, content)

    monkeypatch.setattr(files, "write", full)
    done = mlctl("pull", "infra", "--write")
    assert done.code == 1
    assert "ERROR: cannot write infra/cpu.yml: No space left on device" in done.err
    assert "max_instances: 9" in other.read_text()
    assert first.read_text() == CLUSTER


def test_a_link_out_of_the_folder_is_not_written(mlctl: Run, tmp_path: Path) -> None:
    file = changed(mlctl, tmp_path)
    file.rename(tmp_path / "mine.yml").chmod(0o644)
    file.symlink_to(tmp_path / "mine.yml")
    done = mlctl("pull", "infra", "--write")
    assert done.code == 1
    assert "cannot write infra/cpu.yml: a link points outside the folder" in done.err
    assert (tmp_path / "mine.yml").read_text() == CLUSTER
    assert mlctl("pull", "infra/cpu.yml", "--write").code == 0
