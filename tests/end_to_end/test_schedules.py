"""Schedules from the file to the jobs that they start: both backends, the clock, the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.builders import shell
from tests.builders.azure import led
from tests.builders.sdk import lead_here, sdk
from tests.builders.served import serving
from tests.builders.shell import Run, cluster, edit

SCHEDULE = """\
$schema: https://azuremlschemas.azureedge.net/latest/schedule.schema.json
name: nightly
trigger:
  type: cron
  expression: 0 6 * * *
  time_zone: W. Europe Standard Time
create_job:
  type: pipeline
  job: jobs/train.yml
  settings: {force_rerun: true}
  inputs: {night: "${{creation_context.trigger_time}}"}
"""
PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
inputs:
  night: none
  rounds: 3
  heart: {type: uri_folder, path: "azureml://datastores/workspaceblobstore/paths/heart"}
outputs: {model: {type: uri_folder}}
settings: {default_compute: "azureml:cpu"}
jobs:
  train:
    type: command
    command: python train.py ${{inputs.rounds}}
    code: ./src
    environment: azureml://registries/azureml/environments/sklearn-1.5/versions/28
    inputs: {rounds: "${{parent.inputs.rounds}}"}
"""
COMMAND = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: python train.py
code: ./src
environment: azureml://registries/azureml/environments/sklearn-1.5/versions/28
compute: azureml:cpu
"""
FIRST, SECOND = "nightly-20260101T050000Z", "nightly-20260102T050000Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schedule, the job in a folder of its own, and a cluster."""
    here = tmp_path / "infra"
    (here / "jobs" / "src").mkdir(parents=True)
    (here / "jobs" / "src" / "train.py").write_text("print('trained')\n")
    (here / "nightly.yml").write_text(SCHEDULE)
    (here / "jobs" / "train.yml").write_text(PIPELINE)
    cluster(here / "cpu.yml")
    return here


@pytest.fixture(params=["local", pytest.param("azure", marks=pytest.mark.slow)])
def anywhere(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """mlctl on the local backend, and on the azure backend in front of the emulator."""
    run = shell.inside(tmp_path, monkeypatch, capsys)
    if request.param == "local":
        yield run
        return
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    with serving(tmp_path_factory.mktemp("served")) as served:
        led(served, monkeypatch)
        monkeypatch.setenv("MLCTL_BACKEND", "azure")
        monkeypatch.setenv("MLCTL_SUBSCRIPTION", str(UUID(int=0xD1)))
        monkeypatch.setenv("MLCTL_RESOURCE_GROUP", "rg")
        monkeypatch.setenv("MLCTL_WORKSPACE", "ws")
        yield run


@pytest.mark.parametrize("job", [PIPELINE, COMMAND], ids=["pipeline", "command"])
def test_a_schedule_goes_the_whole_way(anywhere: Run, folder: Path, job: str) -> None:
    (folder / "jobs" / "train.yml").write_text(job)
    if job is COMMAND:
        edit(folder / "nightly.yml", "type: pipeline", "type: command")
        edit(folder / "nightly.yml", "  settings: {force_rerun: true}\n", "")
    made = anywhere("apply", "infra", "--yes")
    assert made.code == 0, made.err
    assert "No changes" in anywhere("plan", "infra").out
    assert "No drift" in anywhere("drift", "infra").out
    edit(folder / "jobs" / "train.yml", "python train.py", "python train.py --fast")
    edit(folder / "nightly.yml", "0 6 * * *", "0 7 * * *")
    planned = anywhere("plan", "infra").out
    assert '~ expression: "0 6 * * *" -> "0 7 * * *"' in planned
    assert "1 to change, 0 to destroy" in planned
    assert anywhere("apply", "infra", "--yes").code == 0
    assert "No changes" in anywhere("plan", "infra").out
    assert anywhere("schedule", "disable", "-n", "nightly").code == 0
    assert anywhere("schedule", "list").json == []
    assert [one["name"] for one in anywhere("schedule", "list", "--disabled-only").json] == [
        "nightly"
    ]
    assert "No changes" in anywhere("plan", "infra").out  # who is silent keeps what is there
    assert anywhere("schedule", "enable", "-n", "nightly").json["is_enabled"] is True
    assert anywhere("export", "schedule", "--to", "out").code == 0
    assert "No changes" in anywhere("plan", "out").out
    job_name = anywhere("schedule", "trigger", "-n", "nightly").json["job_name"]
    assert job_name.startswith("nightly-2")
    assert anywhere("job", "show", "-n", job_name).json["display_name"] == job_name
    assert anywhere("schedule", "delete", "-n", "nightly", "--yes").code == 0
    assert anywhere("schedule", "show", "-n", "nightly").code == 3


def test_pull_writes_into_the_file_of_the_job(mlctl: Run, folder: Path) -> None:
    mlctl("apply", "infra", "--yes")
    mlctl("schedule", "update", "-n", "nightly", "--set", "create_job.inputs.rounds=5")
    assert "create_job.inputs" in mlctl("drift", "infra").out
    edit(folder / "nightly.yml", "  inputs: {night", "  #inputs: {night")
    pulled = mlctl("pull", "infra", "--write")
    assert pulled.code == 0, pulled.err
    assert '"rounds": "5"' in (folder / "jobs" / "train.yml").read_text()


def test_virtual_time_starts_the_jobs_at_their_moments(mlctl: Run, folder: Path) -> None:
    mlctl("apply", "infra", "--yes")
    mlctl("local", "advance", "2d")
    jobs = mlctl("job", "list").json
    assert {job["name"] for job in jobs} == {FIRST, SECOND}
    shown = mlctl("job", "show", "-n", FIRST).json
    assert (shown["status"], shown["start_time"]) == ("Completed", "2026-01-01T05:00:00.000Z")
    assert shown["inputs"]["night"] == "2026-01-01T05:00:00+00:00"
    mlctl("schedule", "disable", "-n", "nightly")
    mlctl("local", "advance", "2d")
    assert len(mlctl("job", "list").json) == 2
    mlctl("schedule", "enable", "-n", "nightly")
    mlctl("local", "advance", "1d")
    assert len(mlctl("job", "list").json) == 3  # what was missed is not caught up on


def test_from_the_second_run_on_a_pipeline_without_changes_reuses_the_first(
    mlctl: Run, folder: Path
) -> None:
    edit(folder / "nightly.yml", "  settings: {force_rerun: true}\n", "")
    edit(folder / "nightly.yml", '  inputs: {night: "${{creation_context.trigger_time}}"}\n', "")
    assert "MLC368" in mlctl("validate", "infra").out
    mlctl("apply", "infra", "--yes")
    mlctl("local", "advance", "2d")
    first, second = (mlctl("job", "show", "-n", name).json for name in (FIRST, SECOND))
    assert first["makespan_s"] > 100 > second["makespan_s"]


def test_a_job_that_has_run_is_started_again(mlctl: Run, folder: Path) -> None:
    mlctl("apply", "infra/cpu.yml", "--yes")
    mlctl("job", "create", "-f", "infra/jobs/train.yml", "-n", "trained")
    edit(folder / "nightly.yml", "jobs/train.yml", "azureml:trained")
    assert mlctl("apply", "infra/nightly.yml", "--yes").code == 0
    assert "No changes" in mlctl("plan", "infra/nightly.yml").out
    mlctl("local", "advance", "1d")
    assert mlctl("job", "show", "-n", FIRST).json["status"] == "Completed"


def test_what_is_wrong_with_the_job_is_said_in_its_file(mlctl: Run, folder: Path) -> None:
    edit(folder / "jobs" / "train.yml", "inputs.rounds}}", "inputs.runds}}")
    found = mlctl("validate", "infra/nightly.yml")
    assert (found.code, "infra/jobs/train.yml:12" in found.out) == (1, True), found.out


def test_a_monitor_is_checked_and_left_to_others(mlctl: Run, folder: Path) -> None:
    monitor = """\
name: watch
trigger: {type: recurrence, frequency: day, interval: 1}
create_monitor:
  compute: {instance_type: standard_e4s_v3, runtime_version: "3.4"}
  monitoring_signals: {drift: {type: data_drift, alert_enabled: true}}
"""
    head = SCHEDULE.splitlines()[0]
    (folder / "watch.yml").write_text(f"{head}\n{monitor}")
    assert mlctl("validate", "infra/watch.yml").code == 0
    planned = mlctl("plan", "infra")
    assert (planned.code, "watch.yml: left out, mlctl only checks it" in planned.err) == (0, True)
    assert mlctl("plan", "infra/watch.yml").code == 1
    edit(folder / "watch.yml", "data_drift", "data_drifd")
    assert "did you mean `data_drift`" in mlctl("validate", "infra/watch.yml").out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_sdk_makes_enables_and_triggers_schedules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    from azure.ai.ml import dsl, entities, load_component

    lead_here(monkeypatch)
    ml: Any = sdk().ml
    made = entities.AmlCompute(name="cpu", size="STANDARD_DS3_v2", max_instances=1)
    ml.compute.begin_create_or_update(made).result()
    file = tmp_path / "c.yml"
    file.write_text("name: c\nversion: 1\ntype: command\ncommand: x\nenvironment: azureml:e:1\n")
    ml.environments.create_or_update(entities.Environment(name="e", version="1", image="busybox"))
    step = load_component(file)

    def steps() -> None:
        step()

    pipeline: Any = dsl.pipeline
    nightly = pipeline(default_compute="cpu")(steps)

    pattern = entities.RecurrencePattern(hours=2, minutes=[0, 30])
    trigger = entities.RecurrenceTrigger(frequency="day", interval=1, schedule=pattern)
    schedule = entities.JobSchedule(name="nightly", trigger=trigger, create_job=nightly())
    done = ml.schedules.begin_create_or_update(schedule).result()
    assert (done.is_enabled, done.trigger.schedule.minutes) == (True, [0, 30])
    assert [one.name for one in ml.schedules.list()] == ["nightly"]
    assert ml.schedules.begin_disable("nightly").result().is_enabled is False
    assert list(ml.schedules.list()) == []
    assert ml.schedules.begin_enable("nightly").result().is_enabled is True
    job = ml.schedules.trigger("nightly").job_name
    assert ml.jobs.get(job).display_name == job
    ml.schedules.begin_delete("nightly").result()
    assert list(ml.schedules.list()) == []
