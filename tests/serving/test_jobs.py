"""Jobs of the simulated cloud have the results of the user's own code, where that was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.shell import Run

CLUSTER = "$schema: x/amlCompute.schema.json\nname: cpu\ntype: amlcompute\nsize: Standard_DS3_v2\n"
COMMAND = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: %s
code: src
environment: azureml:AzureML-sklearn-1.5@latest
compute: azureml:cpu
"""
PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
inputs: {word: hello}
outputs: {last: {mode: upload}}
settings: {default_compute: azureml:cpu, continue_on_step_failure: false}
jobs:
  write:
    type: command
    command: echo ${{inputs.word}} ${{inputs.more}} > ${{outputs.text}}/a.txt
    environment: azureml:AzureML-sklearn-1.5@latest
    inputs: {word: "${{parent.inputs.word}}", more: world}
    outputs: {text: {type: uri_folder}}
  read:
    type: command
    command: tr a-z A-Z < ${{inputs.text}}/a.txt > ${{outputs.upper}}/b.txt%s
    environment: azureml:AzureML-sklearn-1.5@latest
    inputs: {text: "${{parent.jobs.write.outputs.text}}"}
    outputs: {upper: "${{parent.outputs.last}}"}
"""
SWEEP = """\
$schema: https://azuremlschemas.azureedge.net/latest/sweepJob.schema.json
type: sweep
trial:
  command: |
    mkdir -p "${MLFLOW_TRACKING_URI#file://}/0/r/metrics"
    echo 1 ${{search_space.c}} 0 > "${MLFLOW_TRACKING_URI#file://}/0/r/metrics/score"
    test ${{search_space.c}} != 2
  environment: azureml:AzureML-sklearn-1.5@latest
compute: azureml:cpu
sampling_algorithm: grid
search_space: {c: {type: choice, values: [1, 2, 3]}}
objective: {goal: maximize, primary_metric: score}
limits: {max_total_trials: 5}
"""


@pytest.fixture
def here(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a cluster and code; its own home."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    Path("cpu.yml").write_text(CLUSTER)
    Path("src").mkdir()
    Path("src/main.py").write_text("import sys; sys.exit(f'no {sys.argv[1]}')\n")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    return tmp_path


def write(text: str) -> str:
    Path("job.yml").write_text(text)
    return "job.yml"


def create(mlctl: Run, text: str, name: str, *more: str) -> None:
    done = mlctl("job", "create", "-f", write(text), "-n", name, "--run-code", *more)
    assert done.code == 0, done.err


def downloaded(mlctl: Run, name: str, *more: str) -> dict[str, str]:
    """The files of a job by their paths."""
    done = mlctl("job", "download", "-n", name, "-p", f"got-{name}", *(more or ("--all",)))
    assert done.code == 0, done.err
    root = Path(f"got-{name}")
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.*")}


def test_a_command_job_has_the_files_and_the_log_of_its_command(mlctl: Run, here: Path) -> None:
    text = COMMAND % "ls; echo kept > outputs/k.txt; echo 7 > ${{outputs.answer}}/n.txt"
    create(mlctl, text + "outputs: {answer: {type: uri_folder}}\n", "first")
    assert mlctl("job", "stream", "-n", "first").code == 0
    files = downloaded(mlctl, "first")
    assert files == {
        "artifacts/user_logs/std_log.txt": "logs\nmain.py\noutputs\n",
        "artifacts/outputs/k.txt": "kept\n",
        "named-outputs/answer/n.txt": "7\n",
    }
    shown = mlctl("job", "show", "-n", "first").json
    assert (shown["status"], shown["steps"]["total"]) == ("Completed", 1)
    assert 0 < shown["work"]["seconds_per_step"] < 60
    assert "results" not in json.dumps(shown)


def test_a_job_whose_script_fails_is_failed_with_what_it_has_printed(
    mlctl: Run, here: Path
) -> None:
    create(mlctl, COMMAND % "echo kept > outputs/k.txt; python main.py good", "bad")
    assert mlctl("job", "stream", "-n", "bad").code == 1
    shown = mlctl("job", "show", "-n", "bad").json
    assert shown["status"] == "Failed"
    assert "it ended with exit code 1" in shown["reason"]
    assert shown["reason"].endswith("no good")
    assert downloaded(mlctl, "bad")["artifacts/outputs/k.txt"] == "kept\n"


def test_steps_of_a_pipeline_take_what_those_before_have_written(mlctl: Run, here: Path) -> None:
    create(mlctl, PIPELINE % "", "p")
    assert mlctl("job", "stream", "-n", "p").code == 0
    assert downloaded(mlctl, "p", "--output-name", "last") == {
        "named-outputs/last/b.txt": "HELLO WORLD\n"
    }
    steps = mlctl("job", "list", "-p", "p").json
    assert {step["display_name"]: step["status"] for step in steps} == {
        "write": "Completed",
        "read": "Completed",
    }
    write_step = next(step["name"] for step in steps if step["display_name"] == "write")
    assert downloaded(mlctl, write_step)["named-outputs/text/a.txt"] == "hello world\n"


def test_a_pipeline_whose_step_fails_is_failed_and_has_no_outputs(mlctl: Run, here: Path) -> None:
    create(mlctl, PIPELINE % "; exit 3", "p")
    assert mlctl("job", "stream", "-n", "p").code == 1
    assert not any(name.startswith("named") for name in downloaded(mlctl, "p"))
    failed = [step for step in mlctl("job", "list", "-p", "p").json if step["status"] == "Failed"]
    assert [step["display_name"] for step in failed] == ["read"]
    assert "exit code 3" in failed[0]["reason"]


def test_the_trials_of_a_sweep_are_those_that_ran(mlctl: Run, here: Path) -> None:
    create(mlctl, SWEEP, "s")
    mlctl("job", "stream", "-n", "s")
    trials = {trial["name"]: trial["status"] for trial in mlctl("job", "list", "-p", "s").json}
    assert trials == {"s_0": "Completed", "s_1": "Failed", "s_2": "Completed"}


def test_an_output_with_a_name_is_data_that_other_jobs_take(mlctl: Run, here: Path) -> None:
    output = "outputs: {o: {type: uri_folder, name: made, version: '3'}}\n"
    create(mlctl, COMMAND % "echo 5 > ${{outputs.o}}/n.txt" + output, "maker")
    assert mlctl("data", "show", "-n", "made", "-v", "3").json["type"] == "uri_folder"
    for name, path in {
        "by-name": "azureml:made:3",
        "by-job": "azureml://jobs/maker/outputs/o/paths/",
    }.items():
        taken = f"inputs: {{i: {{type: uri_folder, path: '{path}'}}}}\n"
        create(mlctl, COMMAND % "cat ${{inputs.i}}/n.txt" + taken, name)
        mlctl("job", "stream", "-n", name)
        assert downloaded(mlctl, name)["artifacts/user_logs/std_log.txt"] == "5\n"


@pytest.mark.parametrize("reference", ["azureml:factor@latest", "azureml:factor:1"])
def test_a_step_takes_a_model_of_the_workspace(mlctl: Run, here: Path, reference: str) -> None:
    Path("src/factor.txt").write_text("3")
    assert mlctl("model", "create", "-n", "factor", "--path", "src/factor.txt").code == 0
    model = f"{{type: custom_model, path: '{reference}'}}"
    job = PIPELINE.replace("more: world", f"more: {model}") % ""
    create(
        mlctl, job.replace("echo ${{inputs.word}} ${{inputs.more}}", "cat ${{inputs.more}}"), "p"
    )
    assert mlctl("job", "stream", "-n", "p").code == 0
    assert downloaded(mlctl, "p", "--output-name", "last") == {"named-outputs/last/b.txt": "3"}


def test_a_job_that_is_refused_runs_no_code(mlctl: Run, here: Path) -> None:
    file = write((COMMAND % f"touch {here}/ran").replace("azureml:cpu", "azureml:other"))
    assert mlctl("job", "create", "-f", file, "--run-code").code != 0
    file = write(COMMAND % "true" + "inputs: {i: {type: uri_folder, path: azureml:none:1}}\n")
    refused = mlctl("job", "create", "-f", file, "-n", "kept", "--run-code")
    assert refused.code != 0
    assert mlctl("job", "list").json == []
    assert not Path("ran").exists()


def test_no_code_runs_unless_somebody_says_so(mlctl: Run, here: Path) -> None:
    file = write(COMMAND % f"touch {here}/ran")
    assert mlctl("job", "create", "-f", file).code == 0
    assert not Path("ran").exists()
    assert mlctl("local", "code", "on").code == 0
    assert mlctl("job", "create", "-f", file).code == 0
    assert Path("ran").exists()


def test_a_job_for_this_machine_needs_no_cluster_and_is_refused_without_its_code(
    mlctl: Run, here: Path
) -> None:
    file = write((COMMAND % "echo done > outputs/k.txt").replace("azureml:cpu", "local"))
    refused = mlctl("job", "create", "-f", file, "-n", "refused")
    assert refused.code == 1
    assert "`compute: local` runs its code on this machine" in refused.err
    assert "--run-code here, `mlctl emulator start --run-code`" in refused.err
    create(mlctl, Path(file).read_text(), "local-job")
    assert mlctl("job", "stream", "-n", "local-job").code == 0
    assert downloaded(mlctl, "local-job")["artifacts/outputs/k.txt"] == "done\n"
    assert mlctl("job", "show", "-n", "local-job").json["compute"] == "local"
