"""The whole way: mlctl from the shell, over TLS, on an emulator that others could use too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from mlctl.cli.shell.exits import Exit
from tests.builders import shell
from tests.builders.azure import led
from tests.builders.paths import LOW_PRIORITY, SAMPLES
from tests.builders.served import Served, serving
from tests.builders.shell import Done, Run, edit

_numbers = count(0xA0000)
FAULT = {"trouble": "refuse", "method": "PUT", "path": "*/computes/*"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An emulator of its own process; every test has a subscription of its own there."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def mlctl(
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """mlctl on a new workspace of the emulator."""
    run = shell.inside(tmp_path, monkeypatch, capsys)
    led(served, monkeypatch)
    monkeypatch.setenv("MLCTL_BACKEND", "azure")
    monkeypatch.setenv("MLCTL_SUBSCRIPTION", str(UUID(int=next(_numbers))))
    monkeypatch.setenv("MLCTL_RESOURCE_GROUP", "rg")
    monkeypatch.setenv("MLCTL_WORKSPACE", "ws")
    yield run
    served.ask("DELETE", "/mlctl/faults")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the low-priority sample."""
    shutil.copytree(LOW_PRIORITY, tmp_path / "sample")
    return tmp_path / "sample"


def done(found: Done) -> Done:
    assert found.code == Exit.OK, found.err + found.out
    return found


def test_a_sample_is_planned_applied_and_planned_to_nothing(mlctl: Run, sample: Path) -> None:
    assert "4 to add" in done(mlctl("plan", sample)).out
    assert "4 added" in done(mlctl("apply", sample, "-y")).out
    assert done(mlctl("plan", sample, "--detailed-exitcode")).out.startswith("No changes.")
    assert "4 destroyed" in done(mlctl("destroy", sample, "-y")).out


def test_a_change_is_made_in_place_and_a_fixed_one_by_making_anew(mlctl: Run, sample: Path) -> None:
    done(mlctl("apply", sample / "low-pri-cluster.yml", "-y"))
    edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 5")
    assert "1 changed" in done(mlctl("apply", sample / "low-pri-cluster.yml", "-y")).out
    edit(sample / "low-pri-cluster.yml", "low_priority", "dedicated")
    again = done(mlctl("apply", sample / "low-pri-cluster.yml", "-y"))
    assert "1 added, 0 changed, 1 destroyed" in again.out


def test_a_saved_plan_uploads_what_it_was_made_of_or_nothing(mlctl: Run, sample: Path) -> None:
    done(mlctl("plan", sample, "--out", "plan.json"))
    kept = (sample / "model" / "MLmodel").read_text()
    (sample / "model" / "MLmodel").write_text("another\n")
    refused = mlctl("apply", "plan.json")
    assert refused.code == Exit.ERROR
    assert "has changed since the plan was made" in refused.err
    (sample / "model" / "MLmodel").write_text(kept)
    done(mlctl("apply", "plan.json"))


@pytest.mark.filterwarnings("ignore")  # the SDK's own
def test_the_pipeline_of_a_sample_becomes_components(mlctl: Run, tmp_path: Path) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    shutil.copytree(SAMPLES / "pipeline-batch", tmp_path / "pipeline")
    done(mlctl("apply", "pipeline", "-y"))
    assert done(mlctl("plan", "pipeline")).out.startswith("No changes.")


def test_what_is_throttled_is_asked_again(mlctl: Run, sample: Path, served: Served) -> None:
    served.ask("POST", "/mlctl/faults", {**FAULT, "status": 429, "retry_after": "ms"})
    found = done(mlctl("apply", sample / "low-pri-cluster.yml", "-y"))
    assert "1 added" in found.out


def test_a_refusal_is_told_with_its_advice(mlctl: Run, sample: Path, served: Served) -> None:
    said = {"status": 409, "code": "ScopeLocked", "message": "It is locked."}
    served.ask("POST", "/mlctl/faults", {**FAULT, **said})
    found = mlctl("apply", sample / "low-pri-cluster.yml", "-y")
    assert found.code == Exit.ERROR
    assert "(ScopeLocked) It is locked." in found.err
    assert "resizing (0 -> 0)" in found.err
    assert "request: " in found.err


def test_a_workspace_that_is_not_there_is_an_error_of_a_plan_and_a_3_of_show(
    mlctl: Run, sample: Path, served: Served
) -> None:
    gone = {"trouble": "refuse", "status": 404, "path": "/subscriptions/*", "times": 0}
    served.ask("POST", "/mlctl/faults", {**gone, "code": "ResourceGroupNotFound"})
    assert mlctl("plan", sample).code == Exit.ERROR
    assert mlctl("compute", "list").code == Exit.NOT_FOUND


def test_a_workspace_is_shown_listed_and_emptied(mlctl: Run, sample: Path) -> None:
    done(mlctl("apply", sample, "-y"))
    names = [one["name"] for one in done(mlctl("compute", "list")).json]
    assert names == ["low-pri-cluster"]
    assert done(mlctl("model", "show", "-n", "heart-classifier")).json["version"] == "1"
    assert mlctl("compute", "show", "-n", "nobody").code == Exit.NOT_FOUND
    done(mlctl("batch-endpoint", "delete", "-n", "heart-classifier-batch", "-y"))
    assert done(mlctl("batch-endpoint", "list")).json == []


def test_the_doctor_finds_nothing_wrong(mlctl: Run) -> None:
    found = done(mlctl("doctor", "-o", "json")).json
    verdicts = {one["name"]: one["verdict"] for one in found["checks"]}
    assert verdicts["credentials"] == verdicts["clock"] == "ok"


def test_a_server_that_nobody_vouches_for_gets_no_token(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    found = mlctl("compute", "list")
    assert found.code == Exit.ERROR
    assert "UntrustedCertificate" in found.err
    assert "REQUESTS_CA_BUNDLE" in found.err


def test_no_token_is_ever_on_the_screen(mlctl: Run, sample: Path, served: Served) -> None:
    served.ask("POST", "/mlctl/faults", {**FAULT, "status": 401, "code": "X"})
    shown = [mlctl("--debug", "apply", sample, "-y"), mlctl("plan", sample, "--out", "plan.json")]
    text = "".join(one.out + one.err for one in shown) + Path("plan.json").read_text()
    assert "eyJ" not in text
    assert "Bearer" not in text
    assert json.loads(Path("plan.json").read_text())["backend"] == "azure"


def test_a_deployment_is_invoked_and_its_job_listed_and_cancelled(mlctl: Run, sample: Path) -> None:
    done(mlctl("apply", sample, "-y"))
    invoke = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch")
    asked = (*invoke, "-d", "classifier-xgboost", "--input", "https://host/data")
    name = json.loads(done(mlctl(*asked)).out)["name"]
    listed = done(mlctl("batch-endpoint", "list-jobs", "-n", "heart-classifier-batch")).out
    assert [one["name"] for one in json.loads(listed)] == [name]
    assert json.loads(done(mlctl("job", "cancel", "-n", name)).out)["status"] == "Canceled"
    assert mlctl("job", "wait", "-n", name).code == Exit.ERROR


@pytest.mark.filterwarnings("ignore")  # the SDK's own
def test_the_log_of_a_job_is_streamed_until_it_has_ended(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    done(mlctl("apply", sample, "-y"))
    asked = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch", "--input", "https://x/y")
    name = json.loads(done(mlctl(*asked)).out)["name"]
    assert "mini-batches completed: " in done(mlctl("job", "stream", "-n", name)).out
    assert mlctl("job", "stream", "-n", name, "--limit", "5m").code == Exit.USAGE
    assert mlctl("job", "stream", "-n", "none").code == Exit.NOT_FOUND


@pytest.mark.filterwarnings("ignore")  # the SDK's own
def test_what_a_job_leaves_behind_is_downloaded_once_it_has_ended(
    mlctl: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    done(mlctl("apply", sample, "-y"))
    asked = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch", "--input", "https://x/y")
    name = json.loads(done(mlctl(*asked)).out)["name"]
    download = ("job", "download", "-n", name, "-p", tmp_path / "left")
    assert "has not ended" in mlctl(*download).err
    done(mlctl("job", "stream", "-n", name))
    done(mlctl(*download, "--all"))
    found = {
        path.relative_to(tmp_path / "left").as_posix() for path in tmp_path.rglob("left/**/*.*")
    }
    assert found == {"named-outputs/score/predictions.csv"}  # azure-ai-ml brings no more
    assert mlctl(*download, "--output-name", "none").code == Exit.NOT_FOUND


def test_real_jobs_are_not_told_how_long_they_take(mlctl: Run, sample: Path) -> None:
    asked = ("batch-endpoint", "invoke", "-n", "e", "--input", "https://host/data")
    for told in (("--files", "9"), ("--workload", "slow")):
        refused = mlctl(*asked, *told)
        assert refused.code == Exit.USAGE
        assert f"{told[0]}: only the simulated cloud" in refused.err


def test_a_job_brings_its_code(mlctl: Run, sample: Path, tmp_path: Path) -> None:
    done(mlctl("apply", sample / "low-pri-cluster.yml", "-y"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print(1)\n")
    (tmp_path / "job.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\n"
        "command: python train.py\ncode: ./src\ncompute: azureml:low-pri-cluster\n"
        "environment: azureml://registries/azureml/environments/e/versions/1\n"
    )
    made = [
        json.loads(done(mlctl("job", "create", "-f", tmp_path / "job.yml", "-n", name)).out)
        for name in ("one", "two")
    ]
    assert made[0]["code"] == made[1]["code"]
    assert made[0]["code"].startswith("azureml:")
