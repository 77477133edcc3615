"""`mlctl show PLAN`: a saved plan without its files and without a workspace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster


@pytest.fixture
def saved(mlctl: Run, sample: Path) -> Run:
    """mlctl in a folder with the plan of the sample as `plan.json`, and nothing else."""
    assert mlctl("plan", "sample", "--out", "plan.json").code == 0
    shutil.rmtree(sample)
    shutil.rmtree(sample.parent / ".mlctl", ignore_errors=True)
    return mlctl


def test_it_shows_what_would_be_done_and_the_lines_that_ask_for_it(saved: Run) -> None:
    shown = saved("show", "plan.json")
    assert shown.code == 0
    assert "# compute/low-pri-cluster will be created  (sample/low-pri-cluster.yml:" in shown.out
    assert "Plan: 4 to add, 0 to change, 0 to destroy." in shown.out
    assert not Path(".mlctl").exists()


def test_as_json_it_is_the_document_of_the_plan(saved: Run) -> None:
    shown = saved("show", "plan.json", "-o", "json").json
    assert shown["summary"] == {"add": 4, "change": 0, "destroy": 0}
    assert shown == json.loads(Path("plan.json").read_text())


def test_its_picture_has_an_arrow_from_what_comes_first(saved: Run) -> None:
    shown = saved("show", "plan.json", "--graph", "mermaid").out
    ids = {
        line.partition('["')[2].partition("<br/>")[0]: line.strip().partition("[")[0]
        for line in shown.splitlines()
        if "<br/>" in line
    }
    first = ids["batch-endpoint/heart-classifier-batch"]
    last = ids["batch-deployment/heart-classifier-batch/classifier-xgboost"]
    assert f"{first} --> {last}" in shown


def test_as_text_what_comes_later_stands_below_without_a_label(saved: Run) -> None:
    shown = saved("show", "plan.json", "--graph", "text").out
    assert "batch-endpoint/heart-classifier-batch (will be created)" in shown
    assert "─ batch-deployment/heart-classifier-batch/classifier-xgboost (will be" in shown
    assert "─ :" not in shown


def test_an_update_shows_both_values(mlctl: Run, tmp_path: Path) -> None:
    mlctl("apply", cluster(tmp_path / "cpu.yml", most=2), "--yes")
    mlctl("plan", cluster(tmp_path / "cpu.yml", most=5), "--out", "plan.json")
    shown = mlctl("show", "plan.json").out
    assert "~ max_instances: 2 -> 5" in shown
    assert "unchanged attributes hidden" in shown


def test_what_is_no_plan_is_refused_with_a_hint(mlctl: Run, tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    shown = mlctl("show", "cpu.yml")
    assert shown.code == 1
    assert "is no plan" in shown.err
    assert "mlctl plan PATH... --out FILE" in shown.err
    assert mlctl("show", "cpu.yml", "-o", "markdown").code == 2
