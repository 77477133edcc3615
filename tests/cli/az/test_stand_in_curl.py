"""The `curl` of the shim: Azure's hosts lead to the emulator, all else is curl's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mlctl.cli.az import stand_in
from tests.builders import shell
from tests.builders.paths import ROOT

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("argument", "led"),
    [
        ("https://risks.eastus.inference.ml.azure.com/score", f"{URL}/inference/risks/score"),
        ("--url=https://b.westus.inference.ml.azure.com/jobs", f"--url={URL}/inference/b/jobs"),
        (
            "https://management.azure.com/subscriptions/s?api-version=1",
            f"{URL}/subscriptions/s?api-version=1",
        ),
        ("https://management.azure.com:443/x", f"{URL}/x"),
        ("https://login.microsoftonline.com/t/oauth2/token", f"{URL}/t/oauth2/token"),
        ("https://eastus.api.azureml.ms/history/v1.0", f"{URL}/history/v1.0"),
        (
            "https://example.com/management.azure.com/x",
            "https://example.com/management.azure.com/x",
        ),
        ("https://data.blob.core.windows.net/a", "https://data.blob.core.windows.net/a"),
        ('{"uri": "https://management.azure.com/x"}', '{"uri": "https://management.azure.com/x"}'),
        ("https://management.azure.com.evil.net/x", "https://management.azure.com.evil.net/x"),
    ],
)
def test_urls_of_azure_lead_to_the_emulator(argument: str, led: str) -> None:
    assert stand_in.redirect(argument, URL) == led


@pytest.fixture
def script(tmp_path: Path) -> shell.Run:
    """A shell whose `az` and `curl` are those of the shim."""
    if not shutil.which("curl"):
        pytest.skip("there is no curl")
    mlctl = shell.program(tmp_path / "bin")
    environment = shell.environment(tmp_path) | {
        "PATH": os.pathsep.join([str(mlctl.parent), os.environ["PATH"]])
    }

    def run(text: str) -> shell.Done:
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f'eval "$(mlctl az-shim)"\n{text}'],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return shell.Done(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.mark.slow
def test_a_script_goes_on_by_curl_where_no_emulator_runs(script: shell.Run) -> None:
    folder = ROOT / "samples" / "online-blue-green"
    done = script(f"""
        cp -r '{folder}' sample
        mlctl apply sample --yes > applied.txt
        NAME=$(az ml online-endpoint list --query '[0].name' -o tsv)
        URI=$(az ml online-endpoint show -n $NAME --query scoring_uri -o tsv)
        KEY=$(az ml online-endpoint get-credentials -n $NAME --query primaryKey -o tsv)
        curl -s --fail "$URI" -H "Authorization: Bearer $KEY" --data '{{"data": [1]}}'
        TOKEN=$(az account get-access-token --query accessToken -o tsv)
        ID=$(az ml online-endpoint show -n $NAME --query id -o tsv)
        HOST=https://management.azure.com
        curl -s "$HOST$ID?api-version=2024-04-01" -H "Authorization: Bearer $TOKEN"
    """)
    assert done.code == 0, done.err
    assert '"request":{"data":[1]}' in done.out.replace(" ", "")
    assert '"provisioningState":"Succeeded"' in done.out.replace(" ", "")
