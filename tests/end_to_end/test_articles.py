"""The Python of Microsoft's articles, word for word, as programs that know no emulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.paths import SHARED
from tests.builders.served import COMMAND, QUIET, Served
from tests.builders.shell import environment

ARTICLES = Path(__file__).parent / "articles"
SEEDS = SHARED / "seeds"
IMPORTS = """
from azure.ai.ml.constants import BatchDeploymentOutputAction
from azure.ai.ml.entities import BatchEndpoint, BatchRetrySettings, Model
from azure.ai.ml.entities import ModelBatchDeployment, ModelBatchDeploymentSettings
"""
ASSETS = """
endpoint = BatchEndpoint(name="heart-classifier-batch")
ml_client.batch_endpoints.begin_create_or_update(endpoint).result()
path = "azureml://jobs/j/outputs/artifacts/paths/model/"
model = ml_client.models.create_or_update(Model(name="heart-classifier", path=path))
"""


def article(name: str) -> str:
    return (ARTICLES / f"{name}.txt").read_text()


def attached(served: Served) -> str:
    """The program that connects to the workspace, with its three blanks filled in."""
    text = article("attach")
    for blank, key in {
        "<SUBSCRIPTION_ID>": "subscription",
        "<RESOURCE_GROUP>": "resource_group",
        "<AML_WORKSPACE_NAME>": "workspace",
    }.items():
        text = text.replace(blank, str(served.told[key]))
    return text


def printed(served: Served, *parts: str) -> str:
    """What a program prints that was started after `eval "$(mlctl emulator env)"`."""
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    program = "\n".join([attached(served), *parts])
    env = " ".join(f"'{word}'" for word in [*COMMAND, "env"])
    ended = subprocess.run(
        ["bash", "-ec", f'eval "$({env})"; exec "$1" -W ignore -c "$0"', program, sys.executable],
        cwd=served.folder,
        env=environment(served.folder, **QUIET),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_cluster_is_made_and_deleted(served: Served) -> None:
    shown = printed(
        served,
        article("basic"),
        "print(ml_client.compute.get('basic-example').location)",
        article("delete"),
        "print('basic-example' in [each.name for each in ml_client.compute.list()])",
    )
    assert shown.split("\n") == ["westus", "False"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_low_priority_cluster_is_made(served: Served) -> None:
    show = "print(ml_client.compute.get('low-pri-example').tier)"
    assert printed(served, article("low-priority"), show) == "low_priority"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_batch_deployment_on_a_low_priority_cluster_is_made(served: Served) -> None:
    show = """
import time
while (d := ml_client.batch_deployments.get("classifier-xgboost", endpoint.name)
        ).provisioning_state not in ("Succeeded", "Failed"):
    time.sleep(0.01)
print(d.provisioning_state.value, d.mini_batch_size, d.retry_settings.timeout)
"""
    shown = printed(served, IMPORTS, ASSETS, article("cluster"), article("deployment"), show)
    assert shown.split("\n")[-1] == "Succeeded 2 300"


@pytest.mark.parametrize("file", sorted(ARTICLES.glob("*.txt")), ids=lambda file: file.stem)
def test_the_published_python_is_kept_word_for_word(file: Path) -> None:
    if not SEEDS.is_dir():
        pytest.skip(f"the articles' texts are not beside the checkout ({SEEDS.name}/)")
    assert any(file.read_text() in text.read_text() for text in SEEDS.glob("*.txt"))
