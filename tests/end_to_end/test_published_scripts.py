"""Published scripts, run as they are through the shim on a new local workspace.

They are of Azure/azureml-examples (MIT), folder `cli/`, as it stood in November 2026, and lie
beside the checkout. Nothing in them is changed but the placeholders that readers are to fill in.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.paths import SHARED

SCRIPTS = SHARED / "corpus-kinds" / "scripts"
BATCH = "cli/endpoints/batch"
PREPROCESSING = f"{BATCH}/deploy-pipelines/batch-scoring-with-preprocessing/deploy-and-run.sh"
HEART = f"{BATCH}/deploy-models/heart-classifier-mlflow"
FILLED_IN = {
    "<subscription>": "00000000-0000-0000-0000-000000000001",
    "<resource-group>": "G",
    "<workspace>": "W",
    "<location>": "eastus",
}
pytestmark = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the published scripts are not here")


def run(folder: Path, script: str, mended: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run a script where it lies, in a copy of all; `mended` are faults of its own."""
    copy = folder / "scripts"
    if not copy.is_dir():
        shutil.copytree(SCRIPTS, copy, copy_function=shutil.copyfile)
        for each in (copy, *copy.rglob("*")):
            each.chmod(0o755)
    file = copy / script
    text = file.read_text(encoding="utf-8")
    for old, new in {**FILLED_IN, **(mended or {})}.items():
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    mlctl = shell.program(folder / "bin")
    known = shell.environment(folder) | {"PATH": f"{mlctl.parent}:/usr/bin:/bin"}
    line = f'eval "$(mlctl az-shim)" && cd {file.parent} && exec bash {file.name}'
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=known | {"MLCTL_LOCAL_POLLING": "1800"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def failures(err: str) -> list[str]:
    """The first lines of what went wrong on the way: without `set -e` a script goes on."""
    begins = ("ERROR", "error[", "az:")
    return [line for line in err.splitlines() if line.startswith(begins) or "not found" in line]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "cli/setup.sh",
        "cli/deploy-mlcompute-create_with-system-identity.sh",
        f"{BATCH}/deploy-pipelines/hello-batch/deploy-and-run.sh",
        PREPROCESSING,
    ],
)
def test_a_published_script_runs_to_its_end(tmp_path: Path, script: str) -> None:
    code, _, err = run(tmp_path, script)
    assert (code, failures(err)) == (0, [])


@pytest.mark.slow
def test_a_script_ends_where_it_is_broken_itself(tmp_path: Path) -> None:
    """Line 17 names a folder that the repository has not, line 57 has blanks around a `=`."""
    script = f"{HEART}/deploy-and-run.sh"
    code, _, err = run(tmp_path, script)
    assert (code, failures(err)) == (1, ["error[MLC204]: path: `model` does not exist"])
    folder = tmp_path / "scripts" / HEART
    shutil.copytree(folder / "deployment-custom" / "model", folder / "model")
    code, out, err = run(tmp_path, script, {"JOB_NAME = ": "JOB_NAME="})
    assert (code, failures(err)) == (0, [])
    assert out.count("Job completed") == 2
    assert (folder / "named-outputs" / "score" / "predictions.csv").is_file()


ROLLOUT = "cli/deploy-safe-rollout-online-endpoints.sh"
# The lines that send requests, or ask for keys and logs, do nothing.
NO_SCORING = {
    f"{before}{line}": f"{before}: {line}"
    for before, line in (
        ("\n", "az ml online-endpoint invoke"),
        ("\n", "az ml online-deployment get-logs"),
        ("\n", "curl"),
        ("$(", "az ml online-endpoint get-credentials"),
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("script", ["cli/deploy-managed-online-endpoint.sh", ROLLOUT])
def test_a_rollout_runs_to_its_end_where_nothing_is_scored(tmp_path: Path, script: str) -> None:
    code, out, err = run(tmp_path, script, NO_SCORING)
    assert (code, failures(err)) == (0, [])
    if script == ROLLOUT:
        assert '"traffic": {\n    "blue": 90,\n    "green": 10\n  }' in out
        assert '"mirror_traffic": {\n    "green": 10\n  }' in out


@pytest.mark.slow
def test_a_script_of_schedules_runs_to_its_end(tmp_path: Path) -> None:
    """It names a file by another name than it has, and a cluster that others have made."""
    cluster = "az ml compute create -n cpu-cluster --type amlcompute --size Standard_DS3_v2\n"
    mended = {"cron-schedule.yml": "cron-job-schedule.yml", "# <create_schedule>\n": cluster}
    code, out, err = run(tmp_path, "cli/schedules/schedule.sh", mended)
    assert (code, failures(err)) == (0, [])
    assert '"name": "simple_cron_job_schedule"' in out
