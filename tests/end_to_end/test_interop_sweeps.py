"""Published sweeps: our body of the job is the SDK's, and they run from the shell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address
from mlctl.kinds.records.job import KIND as JOB
from mlctl.kinds.values import complete, encode
from mlctl.pointer import Data
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.paths import SHARED
from tests.builders.sdk import lead_here
from tests.builders.shell import PLENTY, Run
from tests.builders.standins import complete as with_standins
from tests.end_to_end.test_interop_azure import ours
from tests.end_to_end.test_interop_emulator import SCOPE, TODAY
from tests.end_to_end.test_interop_jobs import prepared

SWEEPS = SHARED / "corpus-kinds" / "cli" / "jobs" / "single-step"
PUBLISHED = ("lightgbm", "scikit-learn")
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu-cluster
type: amlcompute
size: Standard_DS3_v2
max_instances: 4
"""
# Every distribution, and a field of every section that the published ones do not have.
FULL: dict[str, Any] = {
    "type": "sweep",
    "display_name": "all",  # the SDK makes one up
    "experiment_name": "all",
    "trial": {
        "code": "src",
        "command": "echo ${{search_space.a}}",
        "environment": "azureml:AzureML-lightgbm-3.3@latest",
        "environment_variables": {"A": "b"},
        "resources": {"instance_count": 2, "shm_size": "3g", "docker_args": "-x"},
        "distribution": {"type": "PyTorch", "process_count_per_instance": 2},
    },
    "compute": "azureml:cpu-cluster",
    "identity": {"type": "user_identity"},
    "queue_settings": {"job_tier": "standard"},
    "sampling_algorithm": {"type": "Random", "seed": 3, "rule": "sobol", "logbase": "e"},
    "search_space": {
        "a": {
            "type": "choice",
            "values": [1, 2.5, "x", {"b": {"type": "uniform", "min_value": 0, "max_value": 1}}],
        },
        "u": {"type": "Uniform", "min_value": 0, "max_value": 1},
        "lu": {"type": "loguniform", "min_value": -6, "max_value": -1},
        "qu": {"type": "quniform", "min_value": 0, "max_value": 100, "q": 10},
        "qlu": {"type": "qloguniform", "min_value": 0, "max_value": 1, "q": 2},
        "n": {"type": "normal", "mu": 0.5, "sigma": 1},
        "ln": {"type": "lognormal", "mu": 0, "sigma": 1},
        "qn": {"type": "qnormal", "mu": 0, "sigma": 1, "q": 2},
        "qln": {"type": "qlognormal", "mu": 0, "sigma": 1, "q": 2},
        "r": {"type": "randint", "upper": 5},
    },
    "objective": {"goal": "Maximize", "primary_metric": "m"},
    "early_termination": {"type": "bandit", "slack_factor": 0.1, "evaluation_interval": 2},
    "limits": {
        "max_total_trials": 4,
        "max_concurrent_trials": 2,
        "timeout": 7200,
        "trial_timeout": 100,
    },
    "inputs": {"x": 1, "y": {"type": "uri_file", "path": "https://example.org/y.csv"}},
    "outputs": {"o": {"type": "uri_folder"}},
    "tags": {"a": "b"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "a word for an algorithm": {
        "sampling_algorithm": "Grid",
        "search_space": {"a": {"type": "choice", "values": [1, 2]}},
    },
    "bayesian": {"sampling_algorithm": {"type": "bayesian"}, "early_termination": None},
    "bandit with nothing said": {"early_termination": {"type": "Bandit"}},
    "median stopping": {"early_termination": {"type": "median_stopping", "delay_evaluation": 5}},
    "truncation": {
        "early_termination": {"type": "truncation_selection", "truncation_percentage": 20}
    },
    "resources of both": {"resources": {"instance_type": "Standard_DS3_v2"}},
}
needs_published = pytest.mark.skipif(not SWEEPS.is_dir(), reason=f"{SWEEPS} is absent")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture
def published(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / "job-sweep.yml"
    shutil.copy(SWEEPS / request.param / "iris" / file.name, file)
    with_standins(file)
    return file


def of_the_sdk(file: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """What the unmodified SDK sends to the emulator."""
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    from azure.ai.ml import load_job

    lead_here(monkeypatch)
    here = prepared()
    here.ml.jobs.create_or_update(load_job(file))
    sent = [one for one in here.transport.seen if one.method == "PUT" and "/jobs/" in one.path]
    return json.loads(sent[-1].body)["properties"]


def of_ours(file: Path) -> Data:
    """What we send for it."""
    report = Report()
    loader = Loader(report, TODAY, JOB, SCOPE, planning=True)
    found = loader.load([str(file)]).graph.resources.values()
    assert not report.failed, [each.message for each in report]
    job = next(one for one in found if one.kind is JOB)
    return encode(complete(job.values, job.form), job.form, SCOPE)["properties"]


def told_alike(body: Data) -> Data:
    """A body without what says nothing, the id of uploaded code, and the state of a repository."""
    if not isinstance(body, dict):
        return body
    kept = {key: told_alike(held) for key, held in body.items() if ".git." not in key}
    kept |= {"codeId": "uploaded"} if "codeId" in kept else {}
    return {key: held for key, held in kept.items() if held not in (None, {}, False)}


@needs_published
@pytest.mark.parametrize("published", PUBLISHED, indirect=True)
def test_the_body_of_a_published_sweep_is_the_sdks(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told_alike(of_ours(published)) == told_alike(of_the_sdk(published, monkeypatch))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_body_of_any_sweep_is_the_sdks(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {key: held for key, held in {**FULL, **VARIANTS[variant]}.items() if held is not None}
    file = tmp_path / "sweep.yml"
    file.write_text(yaml.safe_dump(said))
    with_standins(file)
    assert told_alike(of_ours(file)) == told_alike(of_the_sdk(file, monkeypatch))


@needs_published
@pytest.mark.parametrize("published", PUBLISHED, indirect=True)
def test_a_published_sweep_runs_from_the_shell(published: Path, mlctl: Run) -> None:
    (published.parent / "cluster.yml").write_text(CLUSTER)
    assert mlctl(*PLENTY).code == 0
    assert mlctl("apply", "cluster.yml", "--yes").code == 0
    done = mlctl("job", "create", "-f", published.name, "--name", "iris", "--stream")
    assert done.code == 0, done.err
    shown = mlctl("job", "show", "-n", "iris").json
    assert (shown["type"], shown["status"], shown["children"]["total"]) == (
        *("sweep", "Completed"),
        20,
    )
    said = yaml.safe_load(published.read_text())
    assert shown["search_space"] == said["search_space"]
    assert shown["sampling_algorithm"] == {"type": "random"}
    trials = mlctl("job", "list", "--parent-job-name", "iris").json
    assert [each["status"] for each in trials] == ["Completed"] * 20


def test_the_sdk_reads_a_sweep_that_we_submit_to_azure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_here(monkeypatch)
    here = prepared()
    file = tmp_path / "sweep.yml"
    file.write_text(yaml.safe_dump({**FULL, "trial": {**FULL["trial"], "code": "azureml:c:1"}}))
    here.world.made(Address("code", "c", None, "1").id(SCOPE), {"properties": {"codeUri": "u"}})
    jobs = ours(here).backend.jobs
    jobs.create("tune", {"properties": of_ours(file)}, Workload(), DEFAULT_NAME)
    read = here.ml.jobs.get("tune")
    assert (read.type, read.limits.max_total_trials, read.early_termination.slack_factor) == (
        *("sweep", 4),
        0.1,
    )
    assert read.search_space["r"].upper == 5
    assert [each.name for each in jobs.children("tune")] == [f"tune_{n}" for n in range(4)]
