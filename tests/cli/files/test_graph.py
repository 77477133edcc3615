"""`mlctl graph`, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, edit

PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
settings: {default_compute: serverless}
jobs:
  train: {component: "azureml:train:1"}
"""


def test_files_are_drawn_as_a_tree(mlctl: Run, sample: Path) -> None:
    done = mlctl("graph", "sample")
    assert done.code == 0
    assert done.out.startswith("classifier-xgboost (model deployment)\n├─ ")


def test_a_deployment_is_one_in_whichever_form_it_is_written(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "d.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/batchDeployment.schema.json\n"
        "name: main\nendpoint_name: heart-batch\nmodel: azureml:m:1\ncompute: azureml:cpu-cluster\n"
        "mini_batch_size: 10\n"
    )
    assert mlctl("graph", "d.yml").out.splitlines()[0].endswith(" (model deployment)")


@pytest.mark.parametrize(("output", "begins"), [("mermaid", "flowchart LR"), ("dot", "digraph")])
def test_and_as_pictures_of_other_programs(
    mlctl: Run, tmp_path: Path, output: str, begins: str
) -> None:
    (tmp_path / "pipeline.yml").write_text(PIPELINE)
    done = mlctl("graph", "pipeline.yml", "-o", output)
    assert done.code == 0
    assert done.out.startswith(begins)
    assert "train" in done.out


def graphviz(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Make a program `dot` the only one on the path."""
    folder.mkdir()
    (folder / "dot").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "dot").chmod(0o700)
    monkeypatch.setenv("PATH", str(folder))


def test_graphviz_draws_the_svg_from_dot(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pipeline.yml").write_text(PIPELINE)
    graphviz(tmp_path / "bin", monkeypatch, 'read first && echo "<svg $1>$first</svg>"')
    done = mlctl("graph", "pipeline.yml", "-o", "svg")
    assert (done.code, done.out) == (0, "<svg -Tsvg>digraph mlctl {</svg>\n")


@pytest.mark.parametrize("script", ["", "exit 1"])
def test_without_a_graphviz_that_draws_it_is_mermaid_and_a_note(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    (tmp_path / "pipeline.yml").write_text(PIPELINE)
    if script:
        graphviz(tmp_path / "bin", monkeypatch, script)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
    done = mlctl("graph", "pipeline.yml", "-o", "svg")
    assert (done.code, done.out[:12]) == (0, "flowchart LR")
    assert done.err == "note: Graphviz's `dot` draws no SVG here; this is Mermaid's text\n"


def test_what_is_wrong_is_said_and_not_drawn(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "tier:", "tire:")
    done = mlctl("graph", "sample")
    assert done.code == 1
    assert "├─" not in done.out
    assert "did you mean `tier`?" in f"{done.out}{done.err}"


def test_a_folder_of_nothing_is_nothing_to_draw(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = mlctl("graph", "empty")
    assert "├─" not in done.out
