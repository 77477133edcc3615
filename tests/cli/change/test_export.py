"""`mlctl export`, from the shell: files that say what is live, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, edit


@pytest.mark.parametrize("name", ["low-priority-batch", "components", "data", "batch-pool"])
def test_samples_are_exported_and_planned_without_a_change(mlctl: Run, name: str) -> None:
    assert mlctl("apply", SAMPLES / name, "--yes").code == 0
    done = mlctl("export", "--to", "out")
    assert (done.code, "check them with: mlctl plan out" in done.err) == (0, True)
    assert mlctl("validate", "out").code == 0
    planned = mlctl("plan", "out", "--detailed-exitcode")
    assert (planned.code, planned.out[:11]) == (0, "No changes.")


def test_a_file_has_azs_order_and_says_what_it_leaves_out(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    mlctl("apply", "sample", "--yes")
    mlctl("export", "compute/low-pri-cluster", "--to", "out")
    (file,) = (tmp_path / "out").rglob("*.yml")
    assert file.relative_to(tmp_path).as_posix() == "out/compute/low-pri-cluster.yml"
    lines = file.read_text().splitlines()
    assert "# Omitted, as it is the workspace's: location." in lines
    keys = [line.partition(":")[0] for line in lines if line[0] not in "# "]
    known = ["$schema", "name", "type", "size", "tier", "min_instances", "max_instances"]
    assert [one for one in keys if one in known] == known


def test_kinds_and_addresses_choose_what_is_exported(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    mlctl("apply", "sample", "--yes")
    mlctl("export", "model", "compute/low-pri-cluster", "--to", "out")
    names = {one.relative_to(tmp_path / "out").as_posix() for one in tmp_path.rglob("out/*/*")}
    assert names == {"model/heart-classifier-1.yml", "compute/low-pri-cluster.yml"}


def test_all_versions_of_an_asset_are_exported_where_they_are_wanted(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    mlctl("apply", "sample", "--yes")
    for version in ("2", "10"):
        edit(sample / "model.yml", "version: ", f"version: {version} #")
        assert mlctl("model", "create", "-f", "sample/model.yml").code == 0
    wanted = {
        "newest": ("model",),
        "every": ("model", "--all-versions"),
        "one": ("model/heart-classifier", "--all-versions"),
        "named": ("model/heart-classifier:2", "--all-versions"),
    }
    found = {}
    for name, what in wanted.items():
        assert mlctl("export", *what, "--to", name).code == 0
        files = sorted((tmp_path / name).rglob("*.yml"))
        found[name] = [one.stem.removeprefix("heart-classifier-") for one in files]
        assert mlctl("validate", name).code == 0
        assert mlctl("plan", name, "--detailed-exitcode").code == 0
    assert found == {
        "newest": ["10"],
        "every": ["1", "10", "2"],
        "one": ["1", "10", "2"],
        "named": ["2"],
    }


def test_a_name_that_only_the_service_takes_is_exported_with_a_waiver(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "train.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json\n"
        "name: train-model\nversion: 1\ntype: command\ncommand: python train.py\n"
        "environment: azureml:AzureML-sklearn-1.5@latest\n"
    )
    assert mlctl("validate", "train.yml").code == 1
    assert mlctl("apply", "train.yml", "--yes", "--ignore", "MLC106").code == 0
    assert mlctl("export", "--to", "out").code == 0
    (file,) = (tmp_path / "out").rglob("*.yml")
    assert "\n# mlctl:ignore=MLC106\n" in file.read_text()
    assert mlctl("validate", "out").code == 0
    assert mlctl("plan", "out", "--detailed-exitcode").code == 0


def test_secrets_become_variables_of_the_environment(
    mlctl: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\nsettings:\n  environment_variables: {API_TOKEN: hunter2-hunter2, MODE: fast}\n"
    edit(sample / "deployment.yml", "\nsettings:\n", text)
    user = "ssh_settings: {admin_username: ann, admin_password: Pa55-w0rd-Pa55}\n"
    file = sample / "low-pri-cluster.yml"
    file.write_text(file.read_text() + user)
    assert mlctl("apply", "sample", "--yes").code == 0
    done = mlctl("export", "--to", "out")
    assert "environment variables, which hold secrets: ADMIN_PASSWORD, API_TOKEN" in done.err
    written = "".join(one.read_text() for one in (tmp_path / "out").rglob("*.yml"))
    assert "hunter2" not in written + done.out + done.err
    assert "API_TOKEN: ${{ env.API_TOKEN }}" in written
    assert "admin_password: ${{ env.ADMIN_PASSWORD }}" in written
    assert "MODE: fast" in written
    unset = mlctl("plan", "out")
    assert (unset.code, "`API_TOKEN` is not set" in unset.err) == (1, True)
    monkeypatch.setenv("API_TOKEN", "hunter2-hunter2")
    monkeypatch.setenv("ADMIN_PASSWORD", "Pa55-w0rd-Pa55")
    assert mlctl("plan", "out", "--detailed-exitcode").code == 0


def test_tags_of_a_project_are_not_written_and_stay(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    mlctl("apply", "sample", "--yes")
    mlctl("export", "--to", "out")
    assert not any("mlctl." in one.read_text() for one in (tmp_path / "out").rglob("*.yml"))
    assert mlctl("plan", "out", "--detailed-exitcode").code == 0


def test_files_that_are_there_are_not_overwritten_unless_asked(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    mlctl("apply", "sample", "--yes")
    mlctl("export", "--to", "out")
    model = tmp_path / "out" / "model" / "heart-classifier-1.yml"
    model.write_text("mine")
    done = mlctl("export", "model", "--to", "out")
    assert (done.code, model.read_text()) == (1, "mine")
    assert "already exists: choose another folder, or pass --overwrite" in done.err
    assert mlctl("export", "model", "--to", "out", "--overwrite").code == 0
    assert model.read_text() != "mine"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("computes", "did you mean `compute`?"),
        ("job", "no kind `job`: kinds are"),
        ("compute/none", "there is no compute/none in this workspace"),
        ("compute/a/b", "is not an address"),
        ("code/a:1", "no document declares code"),
    ],
)
def test_what_is_not_there_is_said(mlctl: Run, what: str, said: str) -> None:
    done = mlctl("export", what, "--to", "out")
    assert (done.code, said in done.err) == (1, True), done.err


def test_a_folder_that_cannot_be_written_is_an_error(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    Path("out").write_text("a file")
    done = mlctl("export", "--to", "out")
    assert (done.code, "ERROR: cannot write" in done.err) == (1, True)
    assert Path("out").is_file()


@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_written_through_a_link_out_of_the_folder(
    mlctl: Run, sample: Path, tmp_path: Path, overwrite: bool
) -> None:
    mlctl("apply", "sample", "--yes")
    file = tmp_path / "out" / "model" / "heart-classifier-1.yml"
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "elsewhere.yml")
    done = mlctl("export", "model", "--to", "out", *(["--overwrite"] if overwrite else []))
    why = "a link leads out of out" if overwrite else "already exists"
    assert (done.code, why in done.err) == (1, True)
    assert not (tmp_path / "elsewhere.yml").exists()
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(tmp_path, target_is_directory=True)
    assert mlctl("export", "model", "--to", "out", "--overwrite").code == 1
