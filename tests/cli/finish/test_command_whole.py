"""`mlctl finish` of pipelines, sweeps and commands without checkpoints: a run does all, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.shell import Run

IMAGE = "environment: {image: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest}"
PIPELINE = f"""type: pipeline
settings: {{default_compute: azureml:spare-nodes}}
jobs:
  first:
    type: command
    command: echo > ${{{{outputs.kept}}}}/a
    {IMAGE}
    compute: azureml:spare-nodes
    outputs: {{kept: {{type: uri_folder}}}}
  second:
    type: command
    command: ls ${{{{inputs.kept}}}}
    {IMAGE}
    inputs: {{kept: "${{{{parent.jobs.first.outputs.kept}}}}"}}
"""
SWEEP = f"""type: sweep
trial:
  command: python train.py --lr ${{{{search_space.lr}}}}
  {IMAGE}
compute: azureml:spare-nodes
sampling_algorithm: random
search_space: {{lr: {{type: uniform, min_value: 0.1, max_value: 0.9}}}}
objective: {{primary_metric: loss, goal: minimize}}
limits: {{max_total_trials: 4, max_concurrent_trials: 2}}
"""
COMMAND = f"""type: command
command: python train.py
{IMAGE}
compute: azureml:spare-nodes
"""
WORK = ("--steps", "60", "--seconds-per-step", "30", "--yes", "--name", "night")
OUTAGE = (*WORK, "--deadline", "3h", "--policy", "uniform-progress")


def staged(mlctl: Run, text: str) -> Run:
    """A job in a file, and its cluster, which has no nodes from its twentieth minute on."""
    Path("job.yml").write_text(text)
    cluster = "name: spare-nodes\ntype: amlcompute\nsize: Standard_D4s_v3\ntier: low_priority\n"
    Path("cluster.yml").write_text(cluster + "max_instances: 2\n")
    assert mlctl("apply", "cluster.yml", "--yes").code == 0
    nodes = {"metadata": {"gap_seconds": 300}, "data": [2] * 4 + [0] * 90 + [2] * 200}
    Path("trace.json").write_text(json.dumps(nodes))
    assert mlctl("local", "preemption", "set", "--trace", "trace.json").code == 0
    return mlctl


@pytest.mark.parametrize("text", [PIPELINE, SWEEP, COMMAND], ids=["pipeline", "sweep", "command"])
def test_a_run_that_is_lost_is_submitted_again_as_a_whole(mlctl: Run, text: str) -> None:
    run = staged(mlctl, text)
    done = run("finish", "-f", "job.yml", *OUTAGE)
    assert done.code == 0, done.err
    assert "a job that every run does as a whole, on spare-nodes" in done.out
    assert done.out.splitlines()[-1].startswith("night: done; 1 of 1 run, 2 runs, 1 lost")
    runs = run("finish", "show", "night", "-o", "json").json["runs"]
    assert [part["tier"] for part in runs] == ["low_priority", "dedicated"]
    assert runs[0]["ended"] > 1200  # it had worked, so it was let go on until the rest just fitted
    assert runs[0]["usd"] > 0
    assert "compute/spare-nodes-dedicated" in run("finish", "log", "night").out
    listed = run("compute", "list", "-o", "json").json
    assert [cluster["name"] for cluster in listed] == ["spare-nodes"]


def test_the_steps_of_a_dedicated_run_are_on_the_twin(mlctl: Run) -> None:
    run = staged(mlctl, PIPELINE)
    assert run("finish", "-f", "job.yml", *WORK, "--policy", "dedicated").code == 0
    body = run("job", "show", "-n", "night", "-o", "json").json
    assert body["settings"]["default_compute"].endswith("spare-nodes-dedicated")
    assert body["jobs"]["first"]["compute"].endswith("spare-nodes-dedicated")


def test_the_forecast_reckons_with_steps_in_a_row(mlctl: Run) -> None:
    run = staged(mlctl, PIPELINE)
    line = ("finish", "-f", "job.yml", *WORK, "--weather", "calm", "--policy", "dedicated")
    assert run(*line).code == 0
    data = run("finish", "show", "night", "-o", "json").json
    [option], [part] = data["forecast"], data["runs"]
    assert option["time_s"] == pytest.approx(part["ended"] - part["at"])
    assert option["time_s"] > 2 * 60 * 30


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PIPELINE.replace("azureml:spare-nodes", "serverless"), "steps run on serverless compute"),
        (SWEEP.replace("max_total_trials: 4", "max_total_trials: 0"), "max_total_trials"),
        (PIPELINE.replace("compute: azureml:spare-nodes\n    outputs", "outputs"), ""),
    ],
)
def test_what_has_no_twin_or_no_end_is_refused(mlctl: Run, text: str, words: str) -> None:
    done = staged(mlctl, text)("finish", "-f", "job.yml", *WORK)
    assert done.code == (1 if words else 0), done.err
    assert words in done.err


def test_a_deployed_pipeline_component_is_a_job_that_each_run_does_all_of(
    mlctl: Run, tmp_path: Path
) -> None:
    sample = Path(__file__).parents[3] / "samples" / "pipeline-batch"
    assert mlctl("apply", sample, "--yes").code == 0
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a b")
    line = ("finish", "-n", "word-count-batch", "--input", str(tmp_path / "texts"))
    done = mlctl(*line, *WORK, "--policy", "dedicated")
    assert done.code == 0, done.err
    assert "each run does all of, on word-count-batch/word-count-pipeline" in done.out
    log = mlctl("finish", "log", "night").out
    assert "making batch-deployment/word-count-batch/word-count-pipeline-dedicated" in log
    shown = mlctl("job", "show", "-n", "night", "-o", "json").json
    assert shown["deployment_name"] == "word-count-pipeline-dedicated"
    names = [cluster["name"] for cluster in mlctl("compute", "list", "-o", "json").json]
    assert names == ["pipeline-cluster"]
