"""mlctl as a process, and what a proxy sees of it, before a service that does as Azure does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.proxy import Proxied, proxied
from tests.builders.shell import Done

SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest"
MODEL = f"""\
{SCHEMA}/model.schema.json
name: heart
version: 1
path: azureml://jobs/j/outputs/artifacts/paths/m/
"""
ENDPOINT = f"""\
{SCHEMA}/managedOnlineEndpoint.schema.json
name: risk
auth_mode: key
traffic: {{blue: 100}}
"""
DEPLOYMENT = f"""\
{SCHEMA}/managedOnlineDeployment.schema.json
name: blue
endpoint_name: risk
model: azureml://registries/azureml/models/bert/labels/latest
environment: azureml://registries/azureml/environments/sklearn-1.5/labels/latest
code_configuration: {{code: "azureml:code:1", scoring_script: score.py}}
instance_type: Standard_D4as_v4
instance_count: 1
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxied]:
    """A stub that refuses twice and shows one stale read, and a proxy before it."""
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    with proxied(tmp_path / "proxy", "--conflicts", "2", "--stale", "1") as running:
        yield running


def test_apply_plan_update_and_destroy_by_the_command_line(proxy: Proxied, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    # No waiting for what passes by itself: the times are those of tests/backends/azure.
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep = lambda seconds: None\n")
    texts = {"model": MODEL, "endpoint": ENDPOINT, "deployment": DEPLOYMENT}
    for name, text in texts.items():
        (folder / f"{name}.yml").write_text(text)

    def mlctl(*words: str) -> Done:
        return shell.finish(shell.start(tmp_path, *words, env=proxy.environment()))

    def writes(since: int = 0) -> list[str]:
        changing = ("PUT", "PATCH", "DELETE")
        return [str(each) for each in proxy.exchanges[since:] if each.method in changing]

    done = mlctl("apply", "files", "--yes")
    assert (done.code, "3 added" in done.out) == (0, True), done.out + done.err
    refused = [text for text in writes() if text.endswith("409")]
    assert refused == ["PUT onlineEndpoints/risk 409"] * 2 + ["PUT deployments/blue 409"] * 2
    assert writes()[-1].startswith("PUT onlineEndpoints/risk ")  # the traffic
    seen = len(proxy.exchanges)
    done = mlctl("plan", "files", "--detailed-exitcode")
    assert (done.code, done.out[:11]) == (0, "No changes."), done.out + done.err
    assert writes(seen) == []

    (folder / "deployment.yml").write_text(DEPLOYMENT.replace("score.py", "score2.py"))
    done = mlctl("apply", "files", "--yes")
    assert (done.code, "1 changed" in done.out) == (0, True), done.out + done.err
    (body,) = (each.body for each in proxy.exchanges[seen:] if each.method == "PUT")
    assert body["properties"]["model"].endswith("/models/bert/versions/14")
    assert not body["properties"].get("environmentVariables")
    assert "AzureAsyncOperationUri" not in str(body)
    assert mlctl("plan", "files", "--detailed-exitcode").code == 0

    done = mlctl("destroy", "files", "--yes")
    assert (done.code, "3 destroyed" in done.out) == (0, True), done.out + done.err
    last = [text for text in writes(seen) if text.startswith("DELETE")]
    assert last, writes(seen)
    assert mlctl("plan", "files", "--detailed-exitcode").code == 2
