"""Every folder of samples/ is valid, plans, applies, and then has nothing left to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders import shell
from tests.builders.paths import SAMPLES, SHARED

FOLDERS = sorted(folder for folder in (SAMPLES).iterdir() if folder.is_dir())
SEEDS = SHARED / "seeds"
TRAIN = SAMPLES / "training" / "src" / "train.py"


@pytest.mark.parametrize(
    "file",
    [
        "low-priority-batch/low-pri-cluster.yml",
        "low-priority-batch/deployment.yml",
        "clusters/location.yml",
        "clusters/low-priority.yml",
    ],
)
def test_the_published_yaml_is_kept_word_for_word(file: str) -> None:
    if not SEEDS.is_dir():
        pytest.skip(f"the articles' texts are not beside the checkout ({SEEDS.name}/)")
    twice = 2 * (SAMPLES / file).read_text()  # as the articles' texts print it: whole
    assert any(twice in article.read_text() for article in SEEDS.glob("*.txt"))


def test_the_basic_cluster_has_the_values_of_the_published_snippet() -> None:
    declared = yaml.safe_load((SAMPLES / "clusters" / "basic.yml").read_text())
    declared.pop("$schema")
    assert declared == {
        "name": "basic-example",
        "type": "amlcompute",
        "size": "STANDARD_DS3_v2",
        "location": "westus",
        "min_instances": 0,
        "max_instances": 2,
        "idle_time_before_scale_down": 120,
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_sample_has_a_readme_that_names_its_files(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    assert [file.name for file in folder.glob("*.yml") if f"`{file.name}`" not in readme] == []


def test_no_two_samples_declare_the_same_cluster() -> None:
    texts = [file.read_text() for folder in FOLDERS for file in folder.glob("*.yml")]
    names = [document["name"] for document in map(yaml.safe_load, texts) if document.get("size")]
    assert len(names) == len(set(names)) == 10


@pytest.mark.parametrize(
    "folder", [one for one in FOLDERS if list(one.glob("*.yml"))], ids=lambda folder: folder.name
)
def test_a_sample_is_valid_and_once_applied_leaves_nothing_to_do(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mlctl = shell.inside(tmp_path, monkeypatch, capsys)
    assert mlctl("validate", folder).code == 0
    assert mlctl("plan", folder).code == 0
    assert mlctl("apply", folder, "--yes").code == 0
    assert mlctl("plan", folder, "--detailed-exitcode").code == 0
    assert mlctl("destroy", folder, "--yes").code == 0


def test_the_training_sample_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    for epochs in ("25", "27"):
        subprocess.run([sys.executable, TRAIN, "--epochs", epochs], cwd=tmp_path, check=True)
        (outputs / "checkpoints" / "recovery_000030.part").write_text("{")
    lines = (outputs / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [*range(1, 26), *range(21, 28)]
    assert (outputs / "line.json").is_file()
