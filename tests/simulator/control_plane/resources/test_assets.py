"""Specs of components, as the service keeps them; a version does not change."""

from __future__ import annotations

import pytest

from mlctl.pointer import Data
from tests.builders.emulator import WS, world

ANONYMOUS = f"{WS}/components/azureml_anonymous/versions/abc"
WHERE = f"{WS}/components/c/versions/2"


def put(spec: Data, where: str = WHERE, *before: Data) -> Data:
    here = world()
    for each in before:
        assert here.put(where, {"properties": {"componentSpec": each}}).status == 201
    return here.put(where, {"properties": {"componentSpec": spec}}).data


def spec(given: Data, where: str = WHERE) -> Data:
    return put(given, where)["properties"]["componentSpec"]


def test_values_are_texts_and_name_and_version_those_of_the_address() -> None:
    sent = {"n": 1, "f": 0.5, "b": [True, {"c": False}], "type": "pipeline"}
    told = spec({"name": "x", "version": "9", **sent, "_source": "Y"})
    values = {"n": "1", "f": "0.5", "b": ["True", {"c": "False"}], "type": "pipeline"}
    assert told == {"name": "c", "version": "2", **values}


def test_a_command_has_resources_and_what_it_says_of_them_stays() -> None:
    assert spec({"type": "command"})["resources"] == {"instance_count": "1"}
    said = spec({"type": "command", "resources": {"instance_count": 3, "shm_size": "2g"}})
    assert said["resources"] == {"instance_count": "3", "shm_size": "2g"}
    assert "resources" not in spec({"type": "pipeline"})


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("azureml:mine:1", "azureml:mine:1"),
        ("azureml:A-x:4", "azureml://registries/azureml/environments/A-x/versions/4"),
        ("azureml://registries/r/environments/e", "azureml://registries/r/environments/e"),
    ],
)
def test_an_environment_that_is_not_here_is_one_of_the_registry(sent: str, told: str) -> None:
    here = world()
    here.made(f"{WS}/environments/mine/versions/1", {"properties": {"image": "busybox"}})
    answer = here.put(WHERE, {"properties": {"componentSpec": {"environment": sent}}})
    assert answer.data["properties"]["componentSpec"]["environment"] == told


def test_an_anonymous_one_keeps_the_name_and_version_of_its_spec() -> None:
    told = put({"name": "prepare", "version": "1"}, ANONYMOUS)
    spec = told["properties"]["componentSpec"]
    assert (spec["name"], spec["version"]) == ("prepare", "1")
    assert told["properties"]["isAnonymous"] is True


def test_an_anonymous_one_whose_spec_has_no_name_is_called_so() -> None:
    spec = put({"command": "true"}, ANONYMOUS)["properties"]["componentSpec"]
    assert spec["name"] == "azureml_anonymous"


def test_another_content_of_a_version_is_refused_by_its_field() -> None:
    error = put({"command": "b"}, WHERE, {"command": "a"})["error"]
    assert (error["code"], 'field "command" is immutable' in error["message"]) == (
        "UserError",
        True,
    )
    chain = error["additionalInfo"][-1]["info"]["value"]
    codes = []
    while chain:
        codes.append(chain["code"])
        chain = chain["innerError"]
    assert codes == ["BadArgument", "ArgumentInvalid", "UpdateComponentFailed"]


@pytest.mark.parametrize("key", ["display_name", "description", "tags"])
def test_what_is_said_about_a_version_may_change(key: str) -> None:
    assert put({key: "b"}, WHERE, {key: "a"})["properties"]["componentSpec"][key] == "b"
