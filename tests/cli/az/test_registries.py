"""`show` and `list` of assets in registries, from the shell."""

from __future__ import annotations

import pytest

from tests.builders.shell import Run

# A line of the page on packages of models (MicrosoftDocs/azure-ai-docs), and others like it.
SHOWN = (
    ("model", "t5-base", "7"),
    ("model", "bart", "1"),
    ("environment", "sklearn-1.5", "28"),
)


@pytest.mark.parametrize(("kind", "name", "version"), SHOWN)
def test_an_asset_of_a_registry_is_shown_by_its_label(
    mlctl: Run, kind: str, name: str, version: str
) -> None:
    line = (kind, "show", "--name", name, "--label", "latest", "--registry-name", "azureml")
    done = mlctl(*line)
    assert (done.json["name"], done.json["version"]) == (name, version)
    where = f"azureml://registries/azureml/{kind}s/{name}/versions/{version}"
    assert done.json["id"] == where
    assert "resourceGroup" not in done.json
    assert done.err == "local backend, registry azureml\n"


def test_a_version_of_any_registry_is_there(mlctl: Run) -> None:
    line = ("data", "show", "-n", "mine", "-v", "3", "--registry-name", "ours")
    assert mlctl(*line).json["id"] == "azureml://registries/ours/data/mine/versions/3"


def test_a_registry_lists_its_assets_once_with_their_latest_versions(mlctl: Run) -> None:
    query = "[?contains(name, 'Phi')].{name:name, latest:latest_version, version:version}"
    found = mlctl("model", "list", "--registry-name", "AzureML", "--query", query).json
    assert found == [
        {"name": "Phi-3-mini-4k-instruct", "latest": "15", "version": None},
        {"name": "Phi-4", "latest": "7", "version": None},
    ]
    named = mlctl("model", "list", "--registry-name", "azureml", "-n", "t5-base").json
    assert [one["version"] for one in named] == ["7"]
    assert len(mlctl("environment", "list", "--registry-name", "azureml", "-r", "3").json) == 3
    assert mlctl("data", "list", "--registry-name", "ours").json == []


@pytest.mark.parametrize(
    "line",
    [
        ("model", "show", "-n", "none", "--registry-name", "azureml"),
        ("model", "show", "-n", "none", "-l", "latest", "--registry-name", "azureml"),
        ("model", "list", "-n", "none", "--registry-name", "azureml"),
    ],
)
def test_what_a_registry_does_not_list_is_not_found(mlctl: Run, line: tuple[str, ...]) -> None:
    done = mlctl(*line)
    assert (done.code, done.out) == (3, "")
    assert "There is no model/none in registry azureml" in done.err


@pytest.mark.parametrize(
    "line",
    [
        ("model", "create", "-n", "m", "--path", "x", "--registry-name", "ours"),
        ("environment", "archive", "-n", "e", "-v", "1", "--registry-name", "ours"),
        ("data", "update", "-n", "d", "-v", "1", "--registry-name", "ours", "--set", "tags.a=b"),
    ],
)
def test_nothing_is_written_to_a_registry_and_what_to_do_is_told(
    mlctl: Run, line: tuple[str, ...]
) -> None:
    done = mlctl(*line)
    assert done.code == 2
    assert "registries are read, not written: create it in the workspace, and share" in done.err


def test_a_registry_on_azure_needs_no_workspace(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    monkeypatch.setenv("ARM_CLOUD_METADATA_URL", "http://127.0.0.1:1/nowhere")
    done = mlctl("model", "list", "--registry-name", "azureml", "--backend", "azure")
    assert "no workspace is given" not in done.err
    assert "ARM_CLOUD_METADATA_URL" in done.err
