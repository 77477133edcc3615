"""The tracking server of MLflow: runs, experiments, metrics and artifacts of a workspace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from mlctl.emulator.mlflow import tracking
from mlctl.pointer import Data
from mlctl.serving.servers import Servers
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import CLUSTER, WS, Answer, World, world
from tests.builders.served import serving

API = f"/mlflow/v1.0{WS}/api/2.0"
JOB = {
    "jobType": "Command",
    "environmentId": "azureml:AzureML-sklearn-1.5@latest",
    "computeId": f"{WS}/computes/cpu",
    "experimentName": "trainings",
}
LOGS = """\
store="${MLFLOW_TRACKING_URI#file://}/0"; run="$store/$MLFLOW_RUN_ID"
printf 0.1 > "$run/params/rate"; mkdir -p "$store/inner/metrics" "$store/inner/tags"
printf '1 0.5 0\\n2 0.25 1\\n' > "$run/metrics/loss"; echo 1 7 0 > "$store/inner/metrics/x"
printf "%s" "$MLFLOW_RUN_ID" > "$store/inner/tags/mlflow.parentRunId"
mkdir outputs/model; echo 3 > outputs/model/factor.txt
"""
# What an unmodified client does: beside jobs, and in one that says itself where it logs.
CLIENT = """\
import mlflow
from mlflow import MlflowClient
client = MlflowClient()
mlflow.set_experiment("mine")
with mlflow.start_run(run_name="first") as run:
    mlflow.log_metric("loss", 0.5, step=1)
    mlflow.log_params({"a": 1, "b": "x"})
    mlflow.log_text("hello", "texts/a.txt")
    with mlflow.start_run(nested=True) as child:
        mlflow.log_metric("loss", 0.1)
    model = mlflow.initialize_logged_model(name="third", params={"p": "1"})
    mlflow.finalize_logged_model(model.model_id, "READY")
    mlflow.log_text("flavors: {}", "own/MLmodel")
back = client.get_run(run.info.run_id)
assert back.info.status == "FINISHED", back
assert (back.data.metrics, back.data.params) == ({"loss": 0.5}, {"a": "1", "b": "x"}), back
assert [each.path for each in client.list_artifacts(run.info.run_id, "texts")] == ["texts/a.txt"]
assert mlflow.artifacts.load_text(f"{run.info.artifact_uri}/texts/a.txt") == "hello"
version = mlflow.register_model(f"runs:/{run.info.run_id}/own", "mine")
mlflow.artifacts.download_artifacts("models:/mine/1", dst_path="models")
assert open("models/MLmodel").read() == "flavors: {}", version
best = client.search_runs([run.info.experiment_id], "metrics.loss < 0.3")
assert [each.info.run_id for each in best] == [child.info.run_id], best
job = next(job for _ in range(20) if (job := client.get_run("job")).info.status == "FINISHED")
assert job.data.metrics == {"loss": 0.25, "own": 9.0}, job
assert job.data.params == {"rate": "0.1"}, job
"""


def made(here: World, what: str, **body: Data) -> Data:
    answer = here.ask("POST", f"{API}/mlflow/{what}", body)
    assert answer.status == 200, answer.data
    return answer.data


def got(here: World, what: str, **query: str) -> Answer:
    pairs = "&".join(f"{key}={quote(value)}" for key, value in query.items())
    return here.get(f"{API}/mlflow/{what}?{pairs}")


def begun(here: World, **body: Data) -> str:
    return str(made(here, "runs/create", experiment_id="0", **body)["run"]["info"]["run_id"])


def run_of(here: World, name: str) -> dict[str, Data]:
    """Status, metrics, parameters and tags of a run."""
    run = got(here, "runs/get", run_id=name).data["run"]
    data = {
        part: {each["key"]: each["value"] for each in run["data"][part]}
        for part in ("metrics", "params", "tags")
    }
    return {"status": run["info"]["status"], **data}


def ended(here: World, name: str) -> dict[str, Data]:
    """A run once it has ended: virtual time passes as it is asked for."""
    for _ in range(20):
        run = run_of(here, name)
        if run["status"] == "FINISHED":
            break
    return run


@pytest.fixture
def ran(tmp_path: Path) -> World:
    """An emulator in which the job `job` has run its code."""
    servers = Servers(sys.executable, dict(os.environ))
    here = world(Store(str(tmp_path / "local.db")), servers=servers)
    here.made(f"{WS}/computes/cpu", CLUSTER)
    job = {**JOB, "command": LOGS}
    answer = here.put(f"{WS}/jobs/job", {"properties": job})
    assert answer.status == 201, answer.data
    return here


def test_a_run_has_what_was_logged_to_it() -> None:
    here = world()
    run = begun(here, run_name="mine", start_time=5, tags=[{"key": "t", "value": "u"}])
    made(here, "runs/log-metric", run_id=run, key="loss", value=0.5, timestamp=7, step=1)
    batch = [{"key": "loss", "value": "NaN", "timestamp": 8, "step": 2}]
    made(here, "runs/log-batch", run_id=run, metrics=batch, params=[{"key": "a", "value": "1"}])
    made(here, "runs/log-parameter", run_id=run, key="b", value="x")
    made(here, "runs/delete-tag", run_id=run, key="t")
    made(here, "runs/update", run_id=run, status="FINISHED", end_time=9)
    assert run_of(here, run) == {
        "status": "FINISHED",
        "metrics": {"loss": "NaN"},
        "params": {"a": "1", "b": "x"},
        "tags": {"mlflow.runName": "mine"},
    }
    history = got(here, "metrics/get-history", run_id=run, metric_key="loss").data["metrics"]
    assert [(each["timestamp"], each["value"]) for each in history] == [(7, 0.5), (8, "NaN")]


def test_errors_are_those_that_the_client_reads() -> None:
    here = world()
    run = begun(here)
    made(here, "runs/log-parameter", run_id=run, key="a", value="1")
    again = here.ask(
        "POST", f"{API}/mlflow/runs/log-parameter", {"run_id": run, "key": "a", "value": "2"}
    )
    assert (again.status, again.data["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    for what, query in {
        "runs/get": {"run_id": "none"},
        "experiments/get-by-name": {"experiment_name": "none"},
    }.items():
        answer = got(here, what, **query)
        assert (answer.status, answer.data["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert got(here, "prompts/search").data["error_code"] == "ENDPOINT_NOT_FOUND"
    assert got(here, "runs/get").data["message"] == "The request lacks `run_id`."


WRONG: list[Data] = ["x", "", 1.5, -1, 1e400, True, [], [1], {}, {"key": 1}, None, "9" * 40, [None]]
_WRONG_VALUES: list[Data] = [None, "x", [], 1e400, "1e999"]
_WRONG_STEPS: list[Data] = [None, "x", {}, 1e400]
WRONG += [[{"key": "k", "value": value}] for value in _WRONG_VALUES]
WRONG += [[{"key": "k", "step": step}] for step in _WRONG_STEPS]


@pytest.mark.parametrize("value", WRONG)
def test_no_value_of_a_wrong_type_is_an_error_of_the_server(value: Data) -> None:
    here = world()
    run = begun(here)
    fields = (
        *("experiment_id", "start_time", "tags", "run_name", "status", "end_time", "key", "value"),
        *("metrics", "params", "timestamp", "step", "experiment_ids", "filter", "order_by"),
        *("max_results", "page_token", "name", "source_run_id", "run_id"),
    )
    for handler in tracking._HANDLERS:
        method, path = handler.split(" ")
        if method == "POST":
            for field in fields:
                body = {"run_id": run, "experiment_ids": ["0"], "key": "k", "name": "n"}
                answer = here.ask("POST", f"{API}/mlflow/{path}", {**body, field: value})
                assert answer.status < 500, (handler, field)
    assert made(here, "runs/search", experiment_ids=["0"])["runs"]


def test_runs_are_searched_by_experiment_and_filter() -> None:
    here = world()
    mine = made(here, "experiments/create", name="a/b")["experiment_id"]
    runs = {}
    for name, loss in {"one": 0.5, "two": 0.25, "three": 0.75}.items():
        run = made(here, "runs/create", experiment_id=mine, run_name=name)["run"]
        runs[name] = run["info"]["run_id"]
        made(here, "runs/log-metric", run_id=runs[name], key="loss", value=loss)
    begun(here, run_name="elsewhere")

    def names(**body: Data) -> list[str]:
        answer = made(here, "runs/search", experiment_ids=[mine], **body)
        return [run["info"]["run_name"] for run in answer.get("runs", [])]

    assert names(order_by=["metrics.loss DESC"]) == ["three", "one", "two"]
    assert names(filter="metrics.loss < 0.6 and attributes.run_name = 'one'") == ["one"]
    assert names(filter="tags.`mlflow.runName` LIKE 't%'", order_by=["metrics.loss"]) == [
        "two",
        "three",
    ]
    made(here, "runs/delete", run_id=runs["two"])
    assert sorted(names()) == ["one", "three"]
    assert names(run_view_type="DELETED_ONLY") == ["two"]
    assert names(max_results=1, page_token="1", order_by=["metrics.loss"]) == ["three"]
    bad = here.ask(
        "POST", f"{API}/mlflow/runs/search", {"experiment_ids": [mine], "filter": "loss"}
    )
    assert "is no filter such as `metrics.loss < 0.5" in bad.data["message"]
    listed = made(here, "experiments/search")["experiments"]
    assert [each["name"] for each in listed] == ["Default", "a/b"]


def test_a_job_is_a_run_with_what_its_code_has_logged(ran: World) -> None:
    run = ended(ran, "job")
    assert (run["status"], run["metrics"], run["params"]) == (
        "FINISHED",
        {"loss": 0.25},
        {"rate": "0.1"},
    )
    assert run_of(ran, "inner")["tags"]["mlflow.parentRunId"] == "job"
    named = got(ran, "experiments/get-by-name", experiment_name="trainings").data["experiment"]
    found = made(ran, "runs/search", experiment_ids=[named["experiment_id"]])["runs"]
    assert {each["info"]["run_id"] for each in found} == {"job", "inner"}


def test_artifacts_are_those_of_the_job_and_come_from_clients_too(ran: World) -> None:
    ended(ran, "job")
    files = f"{API}/mlflow-artifacts/artifacts"
    assert ran.put(f"{files}/job/artifacts/more/x.bin", b"\x00\xff").status == 200
    listed = ran.get(f"{files}?path=job/artifacts").data["files"]
    assert {(each["path"], each["is_dir"]) for each in listed} == {
        ("outputs", True),
        ("more", True),
        ("user_logs", True),
    }
    of_run = got(ran, "artifacts/list", run_id="job", path="outputs/model").data["files"]
    assert of_run == [{"path": "outputs/model/factor.txt", "is_dir": False, "file_size": 2}]
    assert ran.get(f"{files}/job/artifacts/outputs/model/factor.txt").response.body == b"3\n"
    assert ran.get(f"{files}/job/artifacts/more/x.bin").response.body == b"\x00\xff"
    assert ran.ask("DELETE", f"{files}/job/artifacts/more/x.bin").status == 200
    assert ran.get(f"{files}/job/artifacts/more/x.bin").status == 404


@pytest.mark.parametrize("uri", ["runs:/%s/kept", "azureml://jobs/%s/outputs/artifacts/paths/kept"])
def test_a_model_that_a_client_has_logged_is_the_input_of_jobs(ran: World, uri: str) -> None:
    run = begun(ran)
    sent = {"name": "kept", "source_run_id": run, "experiment_id": "0"}
    model = made(ran, "logged-models", **sent)["model"]["info"]
    at = model["artifact_uri"].removeprefix("mlflow-artifacts:/")
    ran.put(f"{API}/mlflow-artifacts/artifacts/{at}/factor.txt", b"4\n")
    number, status = model["model_id"], "LOGGED_MODEL_READY"
    ran.ask("PATCH", f"{API}/mlflow/logged-models/{number}", {"status": status})
    assert got(ran, f"logged-models/{number}").data["model"]["info"]["status"] == status
    inputs = {"m": {"jobInputType": "mlflow_model", "uri": uri % run}}
    job = {**JOB, "command": "cat ${{inputs.m}}/factor.txt", "inputs": inputs}
    assert ran.put(f"{WS}/jobs/taker", {"properties": job}).status == 201
    ended(ran, "taker")
    log = f"{API}/mlflow-artifacts/artifacts/taker/artifacts/user_logs/std_log.txt"
    assert ran.get(log).response.body == b"4\n"


def test_a_job_that_is_refused_leaves_no_run(ran: World) -> None:
    job = {**JOB, "computeId": f"{WS}/computes/none", "command": "true"}
    assert ran.put(f"{WS}/jobs/bad", {"properties": job}).status == 404
    assert got(ran, "runs/get", run_id="bad").status == 404


@pytest.mark.slow
def test_an_unmodified_client_logs_and_reads(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    with serving(tmp_path, "--http", "--run-code", "--python", sys.executable) as served:
        uri = served.told["url"]
        script = f'import mlflow; mlflow.set_tracking_uri("{uri}"); mlflow.log_metric("own", 9)'
        own = f"python -c '{script}'"
        job = {**JOB, "command": LOGS + own}
        home = served.workspace
        job["computeId"] = f"{home}/computes/cpu"
        served.ask("PUT", f"{home}/computes/cpu", CLUSTER)
        status, answer = served.ask("PUT", f"{home}/jobs/job", {"properties": job})
        assert status == 201, answer
        environment = {**os.environ, "MLFLOW_TRACKING_URI": uri}
        done = subprocess.run(
            [sys.executable, "-c", CLIENT],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
