"""`show` and `list` of assets in registries, from the shell."""

from __future__ import annotations

from pathlib import Path

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
        ("model", "show", "-n", "none", "--registry-name", "ours"),
        ("model", "show", "-n", "none", "-l", "latest", "--registry-name", "ours"),
        ("model", "list", "-n", "none", "--registry-name", "ours"),
    ],
)
def test_what_a_registry_does_not_list_is_not_found(mlctl: Run, line: tuple[str, ...]) -> None:
    done = mlctl(*line)
    assert (done.code, done.out) == (3, "")
    assert "There is no model/none in registry ours" in done.err


@pytest.mark.parametrize("kind", ["model", "component"])
@pytest.mark.parametrize("registry", ["azureml", "azureml-meta", "HuggingFace"])
def test_what_a_public_registry_does_not_list_is_supposed(
    mlctl: Run, kind: str, registry: str
) -> None:
    line = (kind, "show", "-n", "nobody-knows", "-l", "latest", "--registry-name", registry)
    shown = mlctl(*line).json
    assert (shown["name"], shown["tags"]) == ("nobody-knows", {"mlctl.supposed": "true"})


IN_OURS = ("--registry-name", "ours")
MODEL = ("model", "create", "-n", "m", "--path", "azureml://jobs/j/outputs/artifacts/paths/model/")
DEPLOYMENT = """
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineDeployment.schema.json
name: blue
endpoint_name: scoring
model: azureml://registries/ours/models/m/labels/latest
environment: azureml://registries/azureml/environments/sklearn-1.5/labels/latest
instance_type: Standard_DS3_v2
instance_count: 1
---
$schema: https://azuremlschemas.azureedge.net/latest/managedOnlineEndpoint.schema.json
name: scoring
"""


def test_a_registry_is_made_shown_and_listed(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "registry.yml").write_text("name: ours\nlocation: West US\ntags: {a: b}\n")
    made = mlctl("registry", "create", "-f", str(tmp_path / "registry.yml")).json
    assert (made["name"], made["location"]) == ("ours", "westus")
    assert mlctl("registry", "show", "-n", "OURS").json == made
    assert mlctl("registry", "list").json == [made]
    assert [row["name"] for row in mlctl("workspace", "list").json] == ["local"]
    assert mlctl("registry", "show", "-n", "theirs").code == 3
    assert mlctl("registry", "create", "-n", "far", "-l", "moon").code == 1
    assert mlctl("registry", "create", "-n", "nowhere").code == 2


def test_what_is_written_to_a_registry_is_read_there_and_not_in_the_workspace(mlctl: Run) -> None:
    made = mlctl(*MODEL, "-v", "3", *IN_OURS)
    assert made.json["id"] == "azureml://registries/ours/models/m/versions/3"
    assert "registry ours" in made.err
    assert mlctl("model", "show", "-n", "m", "-l", "latest", *IN_OURS).json == made.json
    assert mlctl("model", "list", *IN_OURS, "--query", "[].latest_version").json == ["3"]
    assert mlctl("model", "list", "-n", "m", *IN_OURS, "--query", "[].version").json == ["3"]
    assert mlctl("model", "show", "-n", "m", "-v", "4", *IN_OURS).code == 3
    assert mlctl("model", "list").json == []
    changed = mlctl("model", "update", "-n", "m", "-v", "3", *IN_OURS, "--set", "tags.a=b").json
    assert (changed["id"], changed["tags"]) == (made.json["id"], {"a": "b"})
    mlctl("model", "archive", "-n", "m", "-v", "3", *IN_OURS)
    assert mlctl("model", "list", *IN_OURS).json == []
    assert len(mlctl("model", "list", "--archived-only", *IN_OURS).json) == 1


def test_a_deployment_of_a_model_of_a_registry_has_no_changes_once_it_is_applied(
    mlctl: Run, tmp_path: Path
) -> None:
    mlctl(*MODEL, "-v", "3", *IN_OURS)
    (tmp_path / "blue.yml").write_text(DEPLOYMENT)
    assert mlctl("apply", "--yes", str(tmp_path)).code == 0
    shown = mlctl("online-deployment", "show", "-n", "blue", "-e", "scoring").json
    assert shown["model"] == "azureml://registries/ours/models/m/versions/3"
    assert "No changes" in mlctl("plan", str(tmp_path)).out


def test_a_model_is_shared_under_another_name(mlctl: Run) -> None:
    mlctl(*MODEL, "-v", "1")
    there = ("--share-with-name", "shared", "--share-with-version", "7")
    shared = mlctl("model", "share", "-n", "m", "-v", "1", *IN_OURS, *there).json
    assert shared["id"] == "azureml://registries/ours/models/shared/versions/7"
    missing = mlctl("model", "share", "-n", "none", "-v", "1", *IN_OURS)
    assert (missing.code, missing.out) == (3, "")


def test_nothing_is_written_to_a_registry_of_microsoft(mlctl: Run) -> None:
    done = mlctl(*MODEL, "--registry-name", "azureml")
    assert done.code == 1
    assert "is Microsoft's: it is read, not written" in done.err


def test_a_registry_on_azure_needs_no_workspace(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    monkeypatch.setenv("ARM_CLOUD_METADATA_URL", "http://127.0.0.1:1/nowhere")
    done = mlctl("model", "list", "--registry-name", "azureml", "--backend", "azure")
    assert "no workspace is given" not in done.err
    assert "ARM_CLOUD_METADATA_URL" in done.err


@pytest.mark.parametrize("where", [(), ("--registry-name", "ours")], ids=["workspace", "registry"])
def test_a_model_is_downloaded_with_its_folder_or_its_file(
    mlctl: Run, tmp_path: Path, where: tuple[str, ...]
) -> None:
    files = {"trained/part/a.bin": "a", "one.pkl": "b"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, path in {"whole": "trained", "single": "one.pkl"}.items():
        model = ("-n", name, "-v", "1", *where)
        mlctl("model", "create", *model, "--path", path)
        assert mlctl("model", "download", *model, "-p", "there").code == 0
    there = tmp_path / "there"
    read = {str(path.relative_to(there)) for path in there.rglob("*.*")}
    assert read == {"whole/trained/part/a.bin", "single/one.pkl"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("-n none -v 1", "was not found"),
        ("-n elsewhere -v 1", "was not uploaded here"),
        ("-n gone -v 1", "they were at"),
        ("-n here -v 1 -p here.pkl", "Not a directory"),
    ],
)
def test_a_model_whose_files_are_not_to_be_had_is_refused_with_the_reason(
    mlctl: Run, tmp_path: Path, line: str, why: str
) -> None:
    uri = "azureml://datastores/workspaceblobstore/paths/x"
    for name, path in {"elsewhere": uri, "gone": "gone.pkl", "here": "here.pkl"}.items():
        (tmp_path / f"{name}.pkl").write_text(name)
        mlctl("model", "create", "-n", name, "-v", "1", "--path", path)
    (tmp_path / "gone.pkl").unlink()
    done = mlctl("model", "download", *line.split())
    assert (done.code != 0, why in done.err) == (True, True), done.err


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("azureml://jobs/fit/outputs/model", "m/model/output.txt"),
        ("azureml://jobs/fit/outputs/artifacts/paths/trained", "m/trained/output.txt"),
        ("runs:/fit/trained", "m/trained/output.txt"),
        ("azureml://jobs/fit/outputs/artifacts/paths/user_logs", "m/user_logs/std_log.txt"),
    ],
)
def test_a_model_of_a_simulated_job_is_downloaded_as_simulated(
    mlctl: Run, tmp_path: Path, path: str, file: str
) -> None:
    job = "command: echo 1\nenvironment: {image: x}\noutputs: {model: {type: uri_folder}}\n"
    (tmp_path / "job.yml").write_text(job)
    assert mlctl("job", "create", "-f", "job.yml", "-n", "fit", "--stream").code == 0
    mlctl("model", "create", "-n", "m", "-v", "1", "--path", path)
    assert mlctl("model", "download", "-n", "m", "-v", "1").code == 0
    assert (tmp_path / file).read_text()
    again = mlctl("model", "create", "-n", "copy", "--path", str(Path(file).parent))
    assert again.code == 0
