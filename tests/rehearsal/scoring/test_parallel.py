"""Parallel steps and components as what is rehearsed."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.rehearsal.documents import from_documents
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.scoring.deployment import Deployment

SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest"
PIPELINE = f"""\
{SCHEMA}/pipelineJob.schema.json
type: pipeline
settings: {{default_compute: azureml:cpu}}
jobs:
  score:
    type: parallel
    inputs:
      data: {{type: mltable, path: ./table, mode: direct}}
      model: {{type: uri_folder, path: ./model}}
      rate: 0.5
    outputs:
      rows: {{type: uri_file}}
    input_data: ${{{{inputs.data}}}}
    mini_batch_size: "10kb"
    resources: {{instance_count: 3}}
    max_concurrency_per_instance: 2
    error_threshold: 5
    retry_settings: {{max_retries: 1, timeout: 7}}
    environment_variables: {{WORD: hello}}
    task:
      type: run_function
      code: ./src
      entry_script: score.py
      environment: azureml:e:1
      program_arguments: >-
        --model ${{{{inputs.model}}}} --rate ${{{{inputs.rate}}}} --to ${{{{outputs.rows}}}}
      append_row_to: ${{{{outputs.rows}}}}
"""
COMPONENT = f"""\
{SCHEMA}/parallelComponent.schema.json
type: parallel
name: scores
version: "1"
inputs:
  data: {{type: uri_folder}}
  rate: {{type: number, default: 2}}
  seed: {{type: integer, optional: true}}
outputs:
  rows: {{type: uri_file}}
input_data: ${{{{inputs.data}}}}
mini_batch_size: "4"
task:
  type: run_function
  code: ./src
  entry_script: score.py
  environment: azureml:e:1
  program_arguments: --rate ${{{{inputs.rate}}}} $[[--seed ${{{{inputs.seed}}}}]]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src", "model", "table"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "score.py").write_text("def run(mini_batch):\n    return mini_batch\n")
    (tmp_path / "table" / "MLTable").write_text("paths: []\n")
    return tmp_path


def asked(folder: Path, text: str, address: str | None = None) -> Deployment:
    (folder / "x.yml").write_text(text)
    loaded = Loader(Report(), date(2026, 1, 1), scripts=False).load([str(folder / "x.yml")])
    found: Any = from_documents("x.yml", loaded, address)
    assert isinstance(found, Deployment)
    return found


def test_a_parallel_step_says_how_its_script_is_run(folder: Path) -> None:
    found = asked(folder, PIPELINE)
    assert (found.script, found.code) == (folder / "src" / "score.py", folder / "src")
    assert (found.nodes, found.slots, found.tries, found.timeout) == (3, 2, 2, 7.0)
    assert (found.tabular, found.mini_batch_bytes, found.error_threshold) == (True, 10240, 5)
    assert (found.variables, found.endpoint) == ({"WORD": "hello"}, False)
    assert found.with_outputs(Path("/o")) == (
        *("--model", str(folder / "model"), "--rate", "0.5", "--to", "/o/rows"),
    )


def test_a_parallel_component_has_the_defaults_of_the_service(folder: Path) -> None:
    found = asked(folder, COMPONENT)
    assert (found.mini_batch_size, found.tabular, found.mini_batch_bytes) == (4, False, None)
    assert (found.nodes, found.slots, found.tries, found.timeout) == (1, 1, 3, 60.0)
    assert found.arguments == ("--rate", "2")
    assert found.output_action == "summary_only"


def test_a_step_takes_from_its_component_what_it_does_not_say(folder: Path) -> None:
    (folder / "c.yml").write_text(COMPONENT)
    step = (
        "  one: {type: parallel, component: ./c.yml, mini_batch_size: '2', compute: azureml:c,"
        " inputs: {seed: 4, data: {type: uri_folder, path: ./model}}}\n"
    )
    text = f"{SCHEMA}/pipelineJob.schema.json\ntype: pipeline\njobs:\n{step}"
    found = asked(folder, text + step.replace("one:", "two:"), "two")
    assert (found.mini_batch_size, found.code) == (2, folder / "src")
    assert found.arguments == ("--rate", "2", "--seed", "4")
    with pytest.raises(
        RehearsalError, match=r"has several: choose one with --deployment .*.*/one, .*/two"
    ):
        asked(folder, text + step.replace("one:", "two:"))


def test_an_argument_that_is_not_here_is_told(folder: Path) -> None:
    with pytest.raises(
        RehearsalError, match="the input `model` of the arguments is not a local file or value"
    ):
        asked(folder, PIPELINE.replace("path: ./model", "path: azureml:m:1"))
    with pytest.raises(RehearsalError, match=r"there is no script `nothing\.py`"):
        asked(folder, PIPELINE.replace("score.py", "nothing.py"))
