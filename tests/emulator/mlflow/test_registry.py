"""MLflow's model registry is the models of the workspace, whose files are those of runs."""

from __future__ import annotations

import pytest

from mlctl.emulator.mlflow import registry
from mlctl.pointer import Data
from tests.builders.emulator import WS, Answer, World, world
from tests.emulator.mlflow.test_tracking import API, begun, got, made


@pytest.fixture
def here() -> World:
    """An emulator with the model `iris`, whose version 1 is of a run."""
    here = world()
    run = begun(here)
    made(here, "registered-models/create", name="iris")
    version(here, f"runs:/{run}/model", tags=[{"key": "a", "value": "b"}])
    return here


def version(here: World, source: str, **more: Data) -> dict[str, Data]:
    sent = made(here, "model-versions/create", name="iris", source=source, **more)
    return dict(sent["model_version"])


def versions(here: World, text: str) -> list[str]:
    listed = got(here, "model-versions/search", filter=text).data["model_versions"]
    return [each["version"] for each in listed]


def asked(here: World, method: str, what: str, **body: Data) -> Answer:
    return here.ask(method, f"{API}/mlflow/{what}", body)


def test_a_version_is_a_model_of_the_workspace(here: World) -> None:
    known = got(here, "model-versions/get", name="iris", version="1").data["model_version"]
    assert (known["status"], known["tags"]) == ("READY", [{"key": "a", "value": "b"}])
    model = here.get(f"{WS}/models/iris/versions/1").data["properties"]
    assert (model["modelType"], model["tags"]) == ("mlflow_model", {"a": "b"})
    assert model["modelUri"] == f"azureml://jobs/{known['run_id']}/outputs/artifacts/paths/model/"


def test_the_files_of_a_version_are_those_of_its_run(here: World) -> None:
    run = begun(here)
    sent = {"name": "kept", "source_run_id": run, "experiment_id": "0"}
    logged = made(here, "logged-models", **sent)["model"]["info"]["model_id"]
    sources = (f"models:/{logged}", f"runs:/{run}/kept", f"mlflow-artifacts:/{run}/artifacts/kept")
    for number, source in enumerate(sources, 2):
        assert version(here, source)["version"] == str(number)
        at = got(here, "model-versions/get-download-uri", name="iris", version=str(number)).data
        assert at == {"artifact_uri": f"mlflow-artifacts:/{run}/artifacts/kept"}
    latest = got(here, "registered-models/get", name="iris").data["registered_model"]
    assert [each["version"] for each in latest["latest_versions"]] == ["4"]
    assert versions(here, f"run_id = '{run}'") == ["2", "3", "4"]


def test_models_are_searched_by_name(here: World) -> None:
    prompts = "tag.`mlflow.prompt.is_prompt` != 'true'"  # what MLflow 3 asks for beside
    for text in ("", prompts, "name='iris'", f"name = 'iris' AND {prompts}"):
        listed = got(here, "registered-models/search", filter=text).data["registered_models"]
        assert [each["name"] for each in listed] == ["iris"]
    assert versions(here, "name = 'iri'") == []
    refused = got(here, "model-versions/search", filter="size > 3")
    assert (refused.status, refused.data["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_what_is_said_of_a_version_changes_and_versions_and_models_go(here: World) -> None:
    named: dict[str, Data] = {"name": "iris", "version": "1"}
    asked(here, "PATCH", "model-versions/update", **named, description="words")
    asked(here, "POST", "model-versions/set-tag", **named, key="c", value="d")
    asked(here, "DELETE", "model-versions/delete-tag", **named, key="a")
    known = got(here, "model-versions/get", name="iris", version="1").data["model_version"]
    assert (known["description"], known["tags"]) == ("words", [{"key": "c", "value": "d"}])
    assert asked(here, "DELETE", "model-versions/delete", **named).status == 200
    assert versions(here, "") == []
    assert got(here, "registered-models/get", name="iris").status == 200
    assert asked(here, "DELETE", "registered-models/delete", name="iris").status == 200
    assert got(here, "registered-models/get", name="iris").status == 404


def test_what_cannot_be_registered_is_refused(here: World) -> None:
    again = asked(here, "POST", "registered-models/create", name="iris")
    assert again.data["error_code"] == "RESOURCE_ALREADY_EXISTS"
    for source, status in {"file:///etc": 400, "runs:/none/model": 404, "models:/m-1": 400}.items():
        sent = asked(here, "POST", "model-versions/create", name="iris", source=source)
        assert sent.status == status, source
    none = asked(here, "POST", "model-versions/create", name="none", source="runs:/none/model")
    assert none.data["error_code"] == "RESOURCE_DOES_NOT_EXIST"


@pytest.mark.parametrize("value", ["", 1.5, True, [1], {}, None, "x" * 300, "a/b", [{"key": "k"}]])
def test_no_odd_value_is_an_error_of_the_server(here: World, value: Data) -> None:
    run = begun(here)
    sent: dict[str, Data] = {"name": "iris", "version": "1", "source": f"runs:/{run}/m", "key": "k"}
    for handler in registry.HANDLERS:
        method, path = handler.split(" ")
        for field in ("name", "version", "source", "key", "value", "tags", "description"):
            answer = asked(here, method, path, **{**sent, field: value})
            assert answer.status < 500, (handler, field, answer.data)


@pytest.mark.parametrize("value", [{"a": 1}, [1], 5, True])
def test_a_description_that_is_not_text_is_refused(here: World, value: Data) -> None:
    sent = {"name": "iris", "version": "1", "description": value}
    refused = asked(here, "PATCH", "model-versions/update", **sent)
    assert (refused.status, refused.data["message"]) == (400, "`description` must be text.")
    known = got(here, "model-versions/get", name="iris", version="1").data["model_version"]
    assert known["description"] == ""
