"""Pipeline and sweep jobs: the unmodified azure-ai-ml on the emulator, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders.sdk import Sdk, lead_here, sdk

pytestmark = pytest.mark.filterwarnings("ignore")

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
    command: echo ${{inputs.rate}} > ${{outputs.data}}/a
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
version: 3
type: command
inputs: {data: {type: uri_folder}}
outputs: {model: {type: uri_folder}}
command: echo ${{inputs.data}} > ${{outputs.model}}/m
environment: {image: busybox}
"""


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)
    monkeypatch.setattr("time.sleep", lambda _: None)


@pytest.fixture
def here() -> Sdk:
    from azure.ai.ml.entities import AmlCompute

    made = sdk()
    size = AmlCompute(name="cpu-cluster", size="STANDARD_DS3_v2", max_instances=2)
    made.ml.compute.begin_create_or_update(size).result()
    return made


def submitted(here: Sdk, folder: Path, **changes: Any) -> Any:
    from azure.ai.ml import load_job

    (folder / "pipeline.yml").write_text(PIPELINE)
    (folder / "train.yml").write_text(TRAIN)
    job: Any = load_job(folder / "pipeline.yml")
    for name, value in changes.items():
        setattr(job.settings, name, value)
    return here.ml.jobs.create_or_update(job)


def polled(here: Sdk, name: str) -> Any:
    """The job at its end, polled as published notebooks do it."""
    for _ in range(300):
        job = here.ml.jobs.get(name)
        if job.status in ("Completed", "Failed", "Canceled"):
            return job
    raise AssertionError(job.status)


def test_a_pipeline_is_polled_to_its_end_and_keeps_what_was_sent(here: Sdk, tmp_path: Path) -> None:
    made = submitted(here, tmp_path)
    assert (made.type, made.status) == ("pipeline", "Preparing")
    job = polled(here, made.name)
    assert (job.status, job.experiment_name) == ("Completed", "taxi")
    assert {*job.jobs} == {"prep", "train"}
    assert str(job.inputs["rate"]._data) == "0.1"
    assert job.settings.default_compute == "cpu-cluster"
    assert [each.name for each in here.ml.jobs.list()] == [made.name]


def test_the_steps_are_children_with_their_modules_and_times(here: Sdk, tmp_path: Path) -> None:
    made = submitted(here, tmp_path)
    before = {
        each.display_name: each.status for each in here.ml.jobs.list(parent_job_name=made.name)
    }
    assert before == {"prep": "Queued", "train": "NotStarted"}
    polled(here, made.name)
    prep, train = here.ml.jobs.list(parent_job_name=made.name)
    assert [prep.display_name, train.display_name] == ["prep", "train"]
    assert {prep.status, train.status} == {"Completed"}
    assert prep.properties["azureml.moduleName"] == "azureml_anonymous"
    assert prep.creation_context.last_modified_at < train.creation_context.last_modified_at
    alone = here.ml.jobs.get(
        train.name
    )  # the resource manager says nothing of it: the history does
    assert (alone.display_name, alone.properties["azureml.pipelinerunid"]) == ("train", made.name)


def test_a_pipeline_is_streamed_and_its_outputs_are_downloaded(
    here: Sdk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = submitted(here, tmp_path)
    here.ml.jobs.stream(made.name)
    assert "Streaming logs/azureml/executionlogs.txt" in capsys.readouterr().out
    here.ml.jobs.download(made.name, download_path=tmp_path / "all", all=True)
    here.ml.jobs.download(made.name, download_path=tmp_path / "one", output_name="model")
    child, _ = here.ml.jobs.list(parent_job_name=made.name)
    here.ml.jobs.download(child.name, download_path=tmp_path / "child", output_name="data")
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.txt")}
    assert files == {
        "all/artifacts/logs/azureml/executionlogs.txt",
        "all/named-outputs/model/output.txt",
        "one/named-outputs/model/output.txt",
        "child/named-outputs/data/output.txt",
    }


def test_a_cancelled_pipeline_cancels_its_steps(here: Sdk, tmp_path: Path) -> None:
    made = submitted(here, tmp_path)
    here.ml.jobs.begin_cancel(made.name).result()
    assert here.ml.jobs.get(made.name).status == "Canceled"
    assert {each.status for each in here.ml.jobs.list(parent_job_name=made.name)} == {"Canceled"}


def test_an_archived_job_is_listed_with_the_archived_ones(here: Sdk, tmp_path: Path) -> None:
    from azure.ai.ml.constants import ListViewType

    made = submitted(here, tmp_path)
    here.ml.jobs.archive(made.name)
    assert list(here.ml.jobs.list()) == []
    archived = here.ml.jobs.list(list_view_type=ListViewType.ARCHIVED_ONLY)
    assert [each.name for each in archived] == [made.name]
    here.ml.jobs.restore(made.name)
    assert [each.name for each in here.ml.jobs.list()] == [made.name]


@pytest.mark.slow
def test_what_ran_before_is_reused_unless_a_rerun_is_forced(here: Sdk, tmp_path: Path) -> None:
    first = polled(here, submitted(here, tmp_path).name)
    again = polled(here, submitted(here, tmp_path).name)
    steps = list(here.ml.jobs.list(parent_job_name=again.name))
    ran = {each.display_name: each.name for each in here.ml.jobs.list(parent_job_name=first.name)}
    for each in steps:
        assert each.properties["azureml.isreused"] == "true"
        assert each.properties["azureml.reusedrunid"] == ran[each.display_name]
        assert each.properties["azureml.reusedpipelinerunid"] == first.name
    here.ml.jobs.download(steps[0].name, download_path=tmp_path / "x", output_name="data")
    assert (tmp_path / "x/named-outputs/data/output.txt").exists()
    forced = polled(here, submitted(here, tmp_path, force_rerun=True).name)
    for each in here.ml.jobs.list(parent_job_name=forced.name):
        assert "azureml.isreused" not in each.properties


@pytest.mark.slow
def test_a_sweep_runs_its_trials_and_shows_them(here: Sdk) -> None:
    from azure.ai.ml import command
    from azure.ai.ml.sweep import Choice

    job = command(
        command="train ${{inputs.lr}}",
        environment="azureml://registries/azureml/environments/sklearn-1.5/versions/1",
        compute="cpu-cluster",
        inputs={"lr": 0.1},
    )
    sweep = job(lr=Choice([0.1, 0.2])).sweep(
        sampling_algorithm="random", primary_metric="loss", goal="Minimize"
    )
    sweep.set_limits(max_total_trials=3, max_concurrent_trials=2)
    made = here.ml.jobs.create_or_update(sweep)
    done = polled(here, made.name)
    assert (done.type, done.status) == ("sweep", "Completed")
    trials = list(here.ml.jobs.list(parent_job_name=made.name))
    assert [each.name for each in trials] == [f"{made.name}_{n}" for n in range(3)]
    assert {each.status for each in trials} == {"Completed"}


def test_a_pipeline_that_names_what_there_is_not_is_refused(here: Sdk, tmp_path: Path) -> None:
    from azure.ai.ml import load_job

    text = PIPELINE.replace("cpu-cluster", "gpu-cluster")
    (tmp_path / "pipeline.yml").write_text(text)
    (tmp_path / "train.yml").write_text(TRAIN)
    with pytest.raises(Exception, match="gpu-cluster"):
        here.ml.jobs.create_or_update(load_job(tmp_path / "pipeline.yml"))
    assert list(here.ml.jobs.list()) == []
