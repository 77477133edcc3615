"""Models, environments, components, code: versions, containers, lists, hashes, registries."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.builders.emulator import BASE, CLUSTER, MODEL, WS, World, world

KINDS: dict[str, Any] = {
    "models": MODEL,
    "environments": {"properties": {"image": "busybox"}},
    "components": {"properties": {"componentSpec": {"type": "pipeline"}}},
    "codes": {"properties": {"codeUri": "https://storage/code"}},
    "data": {"properties": {"dataType": "uri_file", "dataUri": "https://host/a.csv"}},
}


def with_versions(*versions: str, **settings: Any) -> World:
    here = world(**settings)
    for version in versions:
        here.made(f"{WS}/models/m/versions/{version}", MODEL)
    return here


@pytest.mark.parametrize("collection", KINDS)
def test_a_version_is_made_shown_listed_and_deleted(collection: str) -> None:
    here = world()
    where = f"{WS}/{collection}/a/versions/1"
    assert here.put(where, KINDS[collection]).status == 201
    assert here.get(where).data["id"] == where
    assert here.get(f"{WS}/{collection}/a/versions").names == ["1"]
    assert here.ask("DELETE", where).status == 200
    assert here.get(where).status == 404


def test_a_container_of_data_says_the_type_of_all_versions() -> None:
    here = world()
    here.made(f"{WS}/data/a/versions/1", KINDS["data"])
    assert here.get(f"{WS}/data/a").data["properties"]["dataType"] == "uri_file"
    assert "dataType" not in with_versions("1").get(f"{WS}/models/m").data["properties"]


def test_data_without_a_type_is_a_folder() -> None:
    here = world()
    here.made(f"{WS}/data/a/versions/1", {"properties": {"dataUri": "https://host/a/"}})
    assert here.get(f"{WS}/data/a/versions/1").data["properties"]["dataType"] == "uri_folder"
    assert here.put(f"{WS}/data/a/versions/2", {"properties": {}}).status == 400


def test_a_version_written_again_is_200() -> None:
    assert with_versions("1").put(f"{WS}/models/m/versions/1", MODEL).status == 200


def test_a_version_with_another_content_is_a_conflict() -> None:
    body = {"properties": {"modelUri": "azureml://jobs/other/outputs/artifacts/paths/m/"}}
    assert with_versions("1").put(f"{WS}/models/m/versions/1", body).status == 409


def test_the_newest_version_is_the_one_created_last() -> None:
    here = with_versions("2", "10", "1")
    newest = here.get(f"{WS}/models/m/versions?$orderBy=createdtime desc&$top=1")
    assert (newest.names, "nextLink" in newest.data) == (["1"], True)
    assert here.get(f"{WS}/models/m/labels/latest").data["name"] == "1"
    assert here.get(f"{WS}/models/m/labels/oldest").status == 404


def test_versions_are_paged_in_both_orders() -> None:
    here = with_versions("1", "2", "3", page=2)
    for query, wanted in {
        "": ["3", "2", "1"],
        "?$orderBy=createdtime asc": ["1", "2", "3"],
        "?$orderBy=createdtime desc": ["3", "2", "1"],
    }.items():
        first = here.get(f"{WS}/models/m/versions{query}")
        assert first.names + here.get(first.data["nextLink"]).names == wanted


def test_a_container_knows_its_newest_and_its_next_version() -> None:
    properties = with_versions("1", "12", "3").get(f"{WS}/models/M").data["properties"]
    assert (properties["latestVersion"], properties["nextVersion"]) == ("3", "13")


def test_a_container_is_as_old_as_its_newest_version() -> None:
    here = with_versions("1")
    here.made(f"{WS}/computes/cpu", CLUSTER)  # which takes time
    here.made(f"{WS}/models/m/versions/2", MODEL)
    assert here.get(f"{WS}/models/m").data["systemData"]["createdAt"] > "2026-01-01T00:00:01"


def test_versions_that_are_no_numbers_are_followed_by_one() -> None:
    properties = with_versions("a", "b").get(f"{WS}/models/m").data["properties"]
    assert (properties["latestVersion"], properties["nextVersion"]) == ("b", "1")


@pytest.mark.parametrize("collection", KINDS)
def test_a_container_can_be_there_before_its_first_version(collection: str) -> None:
    here, where = world(), f"{WS}/{collection}/m"
    assert here.get(where).status == 404
    made = here.put(where, {"properties": {"description": "mine"}})
    assert (made.status, made.data["properties"]["latestVersion"]) == (201, None)
    assert str(made.header("location")).startswith(f"{BASE}{where}?")
    assert here.get(f"{WS}/{collection}").names == ["m"]
    assert here.get(f"{where}/versions").names == []
    again = here.put(where, {"properties": {"description": "mine"}})
    assert again.status == (201 if collection == "environments" else 200)
    here.made(f"{where}/versions/1", KINDS[collection])
    assert here.get(where).data["properties"]["latestVersion"] == "1"


def test_versions_of_a_model_that_is_not_there_are_not_found() -> None:
    answer = world().get(f"{WS}/models/m/versions")
    assert (answer.status, answer.data["error"]["details"][0]["code"]) == (404, "ModelNotFound")
    assert world().get(f"{WS}/codes/c/versions").names == []


@pytest.mark.parametrize(
    ("collection", "names"),
    [("models", ["a", "C", "b"]), ("environments", ["a", "C", "b"]), ("data", ["a", "b", "C"])],
)
def test_containers_are_listed_newest_first_but_data_by_name(
    collection: str, names: list[str]
) -> None:
    here = world(page=2)
    for name in ("b", "C", "a"):
        here.made(f"{WS}/{collection}/{name}/versions/1", KINDS[collection])
    first = here.get(f"{WS}/{collection}")
    assert first.names + here.get(first.data["nextLink"]).names == names


def test_the_next_version_of_data_is_a_time_in_lists_alone() -> None:
    here = world()
    here.made(f"{WS}/data/d/versions/1", KINDS["data"])
    (listed,) = here.get(f"{WS}/data").data["value"]
    assert re.fullmatch(r"\d{4}(-\d\d){5}-\d{7}", listed["properties"]["nextVersion"])
    assert here.get(f"{WS}/data/d").data["properties"]["nextVersion"] == "2"


def test_an_anonymous_environment_is_no_version_of_its_container() -> None:
    here = world()
    anonymous = {"properties": {**KINDS["environments"]["properties"], "isAnonymous": True}}
    here.made(f"{WS}/environments/e/versions/0a1b", anonymous)
    assert here.get(f"{WS}/environments/e").data["properties"]["latestVersion"] == "0"


@pytest.mark.parametrize(
    ("view", "names"), [("ActiveOnly", ["b"]), ("ArchivedOnly", ["a"]), ("All", ["b", "a"])]
)
def test_an_archived_container_is_listed_on_demand(view: str, names: list[str]) -> None:
    here = world()
    for name in ("a", "b"):
        here.made(f"{WS}/models/{name}/versions/1", MODEL)
    here.put(f"{WS}/models/a", {"properties": {"isArchived": True, "description": "old"}})
    assert here.get(f"{WS}/models?listViewType={view}").names == names
    assert here.get(f"{WS}/models/a").data["properties"]["description"] == "old"


@pytest.mark.parametrize(
    ("view", "names"), [("ActiveOnly", ["2"]), ("ArchivedOnly", ["1"]), ("All", ["2", "1"])]
)
def test_an_archived_version_is_listed_on_demand(view: str, names: list[str]) -> None:
    here = with_versions("1", "2")
    archived = {"properties": {**MODEL["properties"], "isArchived": True}}
    assert here.put(f"{WS}/models/m/versions/1", archived).status == 200
    assert here.get(f"{WS}/models/m/versions?listViewType={view}").names == names


def test_a_component_keeps_no_type_of_instances_and_the_version_that_a_label_means() -> None:
    here, where = world(), f"{WS}/components/step/versions/1"
    spec = {
        "type": "command",
        "environment": "azureml:AzureML-acpt-pytorch@latest",
        "resources": {"instance_type": "Standard_D3_v2"},
    }
    shown = here.made(where, {"properties": {"componentSpec": spec}}).data["properties"]
    kept = shown["componentSpec"]
    assert kept["resources"] == {"instance_count": "1"}
    assert re.fullmatch(
        r"azureml://registries/azureml/environments/AzureML-acpt-pytorch/versions/\d+",
        kept["environment"],
    )


def test_a_container_is_deleted_with_its_versions() -> None:
    here = with_versions("1", "2")
    here.put(f"{WS}/models/m", {"properties": {"description": "mine"}})
    assert [here.ask("DELETE", f"{WS}/models/m").status for _ in range(2)] == [200, 204]
    assert here.get(f"{WS}/models/m").status == here.get(f"{WS}/models/m/versions/1").status == 404


def test_code_is_found_by_its_hash_whatever_it_is_called() -> None:
    here = world()
    hashed = {"codeUri": "https://storage/c", "properties": {"hash_sha256": "abc"}}
    here.made(f"{WS}/codes/first/versions/1", {"properties": hashed})
    found = here.get(f"{WS}/codes/other/versions?hash=abc&hashVersion=202208")
    assert [each["id"] for each in found.data["value"]] == [f"{WS}/codes/first/versions/1"]
    assert here.get(f"{WS}/codes/first/versions?hash=xyz").data == {"value": []}


def model_of(registry: str, here: World) -> str:
    """The URL of a model of a registry."""
    discovery = f"registrymanagement/v1.0/registries/{registry}/discovery?api-version=v1.0"
    told = here.get(f"{BASE}/{discovery}").data
    base = f"{told['primaryRegionResourceProviderUri']}mferp/managementfrontend"
    group = f"/subscriptions/{told['subscriptionId']}/resourceGroups/{told['resourceGroup']}"
    provider = "providers/Microsoft.MachineLearningServices"
    return f"{base}{group}/{provider}/registries/{registry}/models/m"


def test_a_registry_is_looked_up_and_has_every_asset() -> None:
    here = world()
    model = model_of("azureml-meta", here)
    assert here.get(f"{model}/versions/3").data["properties"]["modelUri"] == (
        "azureml://registries/azureml-meta/models/m/versions/3"
    )
    assert here.get(f"{model}/versions").names == ["1"]


def test_of_a_registry_that_is_not_public_every_version_is_free_until_it_is_written() -> None:
    here = world()
    model = model_of("ours", here)
    assert here.get(f"{model}/versions/3").status == 404
    properties = {"modelUri": "azureml://jobs/j/outputs/artifacts/paths/m/"}
    here.put(f"{model}/versions/3", {"properties": properties})
    assert here.get(f"{model}/versions/3").status == 200
