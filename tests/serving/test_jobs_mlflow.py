"""What the code of a job logs by MLflow is where its workspace reads it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.builders.shell import Run
from tests.serving.test_jobs import COMMAND, SWEEP, create, downloaded, here

__all__ = ["here"]

# As MLflow's client does with its file store, in the run that the job is begun with.
LOGS = """\
import os, pathlib, re, time
store = pathlib.Path(os.environ["MLFLOW_TRACKING_URI"].removeprefix("file://"), "0")
run = store / os.environ["MLFLOW_RUN_ID"]
now = int(time.time() * 1000)
(run / "metrics/val").mkdir()
(run / "metrics/loss").write_text(f"{now} 0.5 0\\n{now} 0.25 1\\n{now}")
(run / "metrics/val/acc").write_text(f"{now} nan 0\\n")
artifacts = re.search("artifact_uri: file://(.*)", (run / "meta.yaml").read_text())[1]
pathlib.Path(artifacts, "model").mkdir()
pathlib.Path(artifacts, "model", "factor.txt").write_text("3")
kept = store / "models/m-1/artifacts"
kept.mkdir(parents=True)
(kept / "a.txt").write_text("kept by itself")
(store / "models/m-1/meta.yaml").write_text("name: third\\nsource_run_id: x\\n")
"""
CLIENT = """\
import mlflow
mlflow.log_param("rate", 0.1)
mlflow.log_metric("loss", 0.5, step=0)
mlflow.log_metrics({"loss": 0.25}, step=1)
mlflow.log_text("3", "model/factor.txt")
model = mlflow.initialize_logged_model(name="third")
"""
ONLINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json
name: blue
endpoint_name: scores
model: azureml:%s@latest
code_configuration: {code: scoring, scoring_script: score.py}
environment: azureml:AzureML-sklearn-1.5@latest
instance_type: Standard_DS3_v2
instance_count: 1
"""
SCORE = """\
import os, pathlib
def init(): ...
def run(data):
    return next(pathlib.Path(os.environ["AZUREML_MODEL_DIR"]).rglob("factor.txt")).read_text()
"""


@pytest.fixture
def logged(mlctl: Run, here: Path) -> None:
    """The job `logs`, which has completed."""
    Path("src/log.py").write_text(LOGS)
    create(mlctl, COMMAND % "python log.py", "logs", "--python", sys.executable)
    assert mlctl("job", "metrics", "-o", "json", "-n", "logs").json == []  # it waits for a node
    assert mlctl("job", "stream", "-n", "logs").code == 0


def test_the_metrics_of_a_job_are_those_that_it_has_logged(mlctl: Run, logged: None) -> None:
    rows = mlctl("job", "metrics", "-o", "json", "-n", "logs").json
    shown = [(row["metric"], row["step"], row["value"]) for row in rows]
    assert shown == [("loss", 0, 0.5), ("loss", 1, 0.25), ("val/acc", 0, "nan")]
    started = mlctl("job", "show", "-n", "logs").json["steps"]
    assert started["total"] == 1
    assert all(60 < row["at_s"] < 600 for row in rows)
    drawn = mlctl("job", "metrics", "-n", "logs", "-o", "chart").out
    assert [line.split()[:2] for line in drawn.splitlines()] == [["loss", "0"], ["loss", "1"]]


def test_artifacts_and_models_that_were_logged_are_artifacts_of_the_job(
    mlctl: Run, logged: None
) -> None:
    files = downloaded(mlctl, "logs")
    assert files["artifacts/model/factor.txt"] == "3"
    assert files["artifacts/third/a.txt"] == "kept by itself"


@pytest.mark.parametrize(
    "path", ["azureml://jobs/logs/outputs/artifacts/paths/model/", "runs:/logs/model"]
)
def test_a_model_that_a_job_has_logged_is_registered_and_deployed(
    mlctl: Run, logged: None, path: str
) -> None:
    assert mlctl("model", "create", "-n", "m", "-v", "1", "--path", path).code == 0
    Path("scoring").mkdir()
    Path("scoring/score.py").write_text(SCORE)
    Path("blue.yml").write_text(ONLINE % "m")
    Path("request.json").write_text("{}")
    assert mlctl("online-endpoint", "create", "-n", "scores").code == 0
    assert mlctl("online-deployment", "create", "-f", "blue.yml", "--all-traffic").code == 0
    done = mlctl("online-endpoint", "invoke", "-n", "scores", "-r", "request.json", "--run-code")
    assert (done.code, done.json) == (0, '"3"'), done.err


def test_a_sweep_names_its_best_trial_whose_artifacts_are_found(mlctl: Run, here: Path) -> None:
    create(mlctl, SWEEP.replace("    test", "    echo 9 > outputs/factor.txt\n    test"), "s")
    mlctl("job", "stream", "-n", "s")
    best = mlctl("job", "show", "-n", "s").json["properties"]["best_child_run_id"]
    assert best == "s_2"
    assert mlctl("job", "metrics", "-o", "json", "-n", best).json[0]["value"] == 3.0
    path = f"azureml://jobs/{best}/outputs/artifacts/paths/outputs/"
    taken = f"inputs: {{i: {{type: uri_folder, path: '{path}'}}}}\n"
    create(mlctl, COMMAND % "cat ${{inputs.i}}/factor.txt" + taken, "taker")
    mlctl("job", "stream", "-n", "taker")
    assert downloaded(mlctl, "taker")["artifacts/user_logs/std_log.txt"] == "9\n"


def test_the_run_of_a_job_has_the_two_ids_that_clients_before_mlflow_3_read(
    mlctl: Run, here: Path
) -> None:
    create(
        mlctl, COMMAND % 'cat "${MLFLOW_TRACKING_URI#file://}/0/$MLFLOW_RUN_ID/meta.yaml"', "old"
    )
    mlctl("job", "stream", "-n", "old")
    lines = downloaded(mlctl, "old")["artifacts/user_logs/std_log.txt"].splitlines()
    assert {"run_id: 'old'", "run_uuid: 'old'"} <= set(lines)


def test_code_that_names_an_experiment_has_no_run_of_another_one(mlctl: Run, here: Path) -> None:
    Path("src/named.py").write_text("# mlflow.set_experiment('mine')\n")
    create(mlctl, COMMAND % "echo ${MLFLOW_RUN_ID:-none}", "named")
    mlctl("job", "stream", "-n", "named")
    assert downloaded(mlctl, "named")["artifacts/user_logs/std_log.txt"] == "none\n"


@pytest.mark.slow
def test_an_unmodified_client_logs_there(mlctl: Run, here: Path) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    Path("src/log.py").write_text(CLIENT)
    create(mlctl, COMMAND % "python log.py", "client", "--python", sys.executable)
    assert mlctl("job", "stream", "-n", "client").code == 0
    rows = mlctl("job", "metrics", "-o", "json", "-n", "client").json
    assert [(row["metric"], row["step"], row["value"]) for row in rows] == [
        ("loss", 0, 0.5),
        ("loss", 1, 0.25),
    ]
    assert downloaded(mlctl, "client")["artifacts/model/factor.txt"] == "3"
