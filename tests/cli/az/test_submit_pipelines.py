"""Pipeline jobs from the shell: submitted from a file, on a simulated cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run

CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu-cluster
type: amlcompute
size: Standard_D4ds_v5
max_instances: 2
"""
PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
experiment_name: taxi
settings:
  default_compute: azureml:cpu-cluster
inputs:
  rate: 0.1
outputs:
  model: {mode: upload}
jobs:
  prep:
    command: python prep.py ${{inputs.rate}} ${{outputs.data}}
    code: ./src
    environment: {image: busybox}
    inputs: {rate: "${{parent.inputs.rate}}"}
    outputs: {data: {type: uri_folder}}
  train:
    component: ./train.yml
    inputs: {data: "${{parent.jobs.prep.outputs.data}}"}
    outputs: {model: "${{parent.outputs.model}}"}
"""
TRAIN = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json
name: train
type: command
inputs: {data: {type: uri_folder}}
outputs: {model: {type: uri_folder}}
command: echo ${{inputs.data}} > ${{outputs.model}}/m
environment: {image: busybox}
"""


@pytest.fixture
def cloud(mlctl: Run, tmp_path: Path) -> Run:
    """A cloud with a cluster, and a pipeline beside its component and code."""
    files = {"cluster.yml": CLUSTER, "pipeline.yml": PIPELINE, "train.yml": TRAIN}
    for name, text in {**files, "src/prep.py": "print()\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert mlctl("apply", "cluster.yml", "--yes").code == 0
    return mlctl


def create(cloud: Run, *more: str, name: str = "taxi") -> Any:
    return cloud("job", "create", "-f", "pipeline.yml", "--name", name, *more)


def children(cloud: Run, name: str = "taxi") -> dict[str, Any]:
    listed = cloud("job", "list", "--parent-job-name", name).json
    return {each["display_name"]: each for each in listed}


def test_a_pipeline_is_submitted_with_what_its_steps_name_and_runs(cloud: Run) -> None:
    made = create(cloud).json
    assert (made["type"], made["status"], {*made["jobs"]}) == (
        *("pipeline", "Running"),
        {"prep", "train"},
    )
    assert {each["status"] for each in children(cloud).values()} == {"Queued", "NotStarted"}
    assert cloud("job", "wait", "-n", "taxi").json["children"]["completed"] == 2
    steps = children(cloud)
    assert {each["type"] for each in steps.values()} == {"base"}
    named = {each["properties"]["azureml.moduleName"] for each in steps.values()}
    assert named == {"azureml_anonymous"}


def test_what_is_typed_goes_over_the_file(cloud: Run) -> None:
    create(cloud, "--stream", "--set", "inputs.rate=0.2")
    create(cloud, "--stream", name="again")
    reused = {name for name, each in children(cloud, "again").items() if _is_reused(each)}
    assert reused == set()  # the rate is another one, and what is made of it
    create(cloud, "--stream", "--set", "inputs.rate=0.2", name="third")
    assert {name for name, each in children(cloud, "third").items() if _is_reused(each)} == {
        *("prep", "train")
    }
    create(cloud, "--stream", "--set", "settings.force_rerun=True", name="fourth")
    assert not any(map(_is_reused, children(cloud, "fourth").values()))


def _is_reused(step: Any) -> bool:
    return bool(step["properties"].get("azureml.isreused"))


def test_streaming_tells_what_happens_to_which_step(cloud: Run) -> None:
    told = create(cloud, "--stream", "--web")
    assert "start one with `mlctl studio`" in told.err
    lines = [line for line in told.out.splitlines() if "JOB_ENDED" in line]
    assert [line.partition("JOB_ENDED")[2].split() for line in lines] == [
        ["part=prep", "status=Completed"],
        ["part=train", "status=Completed"],
        ["status=Completed"],
    ]


def test_outputs_of_a_pipeline_are_downloaded_by_name(cloud: Run, tmp_path: Path) -> None:
    create(cloud, "--stream")
    assert cloud("job", "download", "-n", "taxi", "--output-name", "model").code == 0
    assert (tmp_path / "named-outputs/model/output.txt").exists()
    assert cloud("job", "download", "-n", "taxi", "--output-name", "none").code == 3


def test_a_cancelled_pipeline_cancels_its_steps(cloud: Run) -> None:
    create(cloud)
    assert cloud("job", "cancel", "-n", "taxi").json["status"] == "Canceled"
    assert {each["status"] for each in children(cloud).values()} == {"Canceled"}


def test_a_step_takes_as_long_as_the_workload_of_its_name_says(cloud: Run) -> None:
    cloud("local", "workload", "set", "--name", "train", "--steps", "3", "--seconds-per-step", "5")
    create(cloud)
    # A node comes after 240 s, `prep` takes 10 steps of a minute, `train` three of five seconds.
    assert cloud("job", "wait", "-n", "taxi").json["makespan_s"] == 240 + 600 + 15


def test_a_pipeline_that_names_no_cluster_of_the_workspace_is_refused(cloud: Run) -> None:
    told = create(cloud, "--set", "settings.default_compute=azureml:gpu")
    assert told.code != 0
    assert "gpu" in told.err
    assert cloud("job", "list").json == []
