"""`mlctl import`, from the shell: live resources become a project's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, edit


@pytest.fixture
def found(mlctl: Run, sample: Path, tmp_path: Path) -> Path:
    """The sample, made by somebody without a project; ours has one now."""
    assert mlctl("apply", "sample", "--yes").code == 0
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    return sample


def tags(mlctl: Run) -> dict[str, str]:
    """The tags of the cluster."""
    told: dict[str, str] = mlctl("compute", "show", "-n", "low-pri-cluster").json.get("tags", {})
    return told


def test_what_is_taken_over_is_tagged_and_nothing_else_changes(mlctl: Run, found: Path) -> None:
    before = mlctl("batch-deployment", "list", "-e", "heart-classifier-batch").json
    done = mlctl("import", "sample", "--yes")
    assert (done.code, "4 changed" in done.out) == (0, True)
    after = mlctl("batch-deployment", "list", "-e", "heart-classifier-batch").json
    for one in (*before, *after):
        for key in ("tags", "creation_context", "system_data"):
            one.pop(key, None)
    assert after == before
    assert tags(mlctl).keys() >= {"mlctl.project", "mlctl.spec-hash"}
    assert mlctl("plan", "sample", "--detailed-exitcode").code == 0
    assert "Nothing to import" in mlctl("import", "sample", "--yes").err


def test_what_was_taken_over_can_be_pruned(mlctl: Run, found: Path) -> None:
    mlctl("import", "sample", "--yes")
    for file in found.rglob("*.yml"):
        if file.name != "model.yml":
            file.unlink()
    done = mlctl("apply", "sample", "--prune", "--yes", "--prune-limit", "3")
    assert (done.code, "3 destroyed" in done.out) == (0, True)


def test_what_differs_from_its_file_stays_and_has_no_hash(mlctl: Run, found: Path) -> None:
    edit(found / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 5")
    assert mlctl("import", "sample", "--yes").code == 0
    assert tags(mlctl) == {"mlctl.project": "scoring"}
    assert mlctl("compute", "show", "-n", "low-pri-cluster").json["max_instances"] == 2
    assert "max_instances: 5 in the file, 2 in the workspace" in mlctl("drift", "sample").out


def test_what_another_project_owns_is_taken_only_by_its_name(
    mlctl: Run, found: Path, tmp_path: Path
) -> None:
    mlctl("import", "sample", "--yes")
    (tmp_path / "mlctl.yml").write_text("project: others\n")
    refused = mlctl("import", "sample", "--yes")
    assert refused.code == 5
    assert "compute/low-pri-cluster belongs to the project `scoring`: --from scoring" in refused.err
    assert mlctl("import", "sample", "--yes", "--from", "scoring").code == 0
    assert tags(mlctl)["mlctl.project"] == "others"


def test_what_is_not_there_is_left_to_apply(mlctl: Run, found: Path) -> None:
    mlctl("batch-endpoint", "delete", "-n", "heart-classifier-batch", "--yes")
    done = mlctl("import", "sample", "--yes")
    assert done.code == 0
    assert "batch-endpoint/heart-classifier-batch is not in the workspace: apply makes" in done.err


@pytest.mark.parametrize("text", ["ignore: []\n", "project: a\ntags: false\n"])
def test_import_needs_a_project_with_tags(
    mlctl: Run, found: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "mlctl.yml").write_text(text)
    done = mlctl("import", "sample", "--yes")
    assert (done.code, "name a `project` in mlctl.yml" in done.err) == (1, True)


def test_nothing_is_tagged_without_a_yes(mlctl: Run, found: Path) -> None:
    assert mlctl("import", "sample", typed="no\n").code == 8
    assert tags(mlctl) == {}
