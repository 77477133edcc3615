"""Online endpoints and their deployments: written over, patched, deleted; tokens and SKUs."""

from __future__ import annotations

import pytest

from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.clock import EPOCH
from tests.builders.emulator import MODEL, WS, World, world

LIVE = f"{WS}/onlineEndpoints/live"
BLUE = f"{LIVE}/deployments/blue"
ENDPOINT: dict[str, Data] = {
    "location": "eastus",
    "identity": {"type": "SystemAssigned"},
    "properties": {"authMode": "AADToken"},
}
DEPLOYMENT: dict[str, Data] = {
    "location": "eastus",
    "properties": {"model": f"{WS}/models/m/versions/1", "instanceType": "Standard_DS3_v2"},
    "sku": {"name": "Default", "capacity": 3},
}


def with_deployment() -> World:
    here = world()
    here.made(f"{WS}/models/m/versions/1", MODEL)
    here.made(LIVE, ENDPOINT)
    here.made(BLUE, DEPLOYMENT)
    return here


def test_a_patch_leads_to_its_status_and_has_no_body() -> None:
    here = with_deployment()
    began = here.ask("PATCH", LIVE, {"tags": {"a": "b"}})
    assert (began.status, began.response.body) == (202, b"")
    assert began.header("azure-asyncoperation") is None
    url = str(began.header("location"))
    assert "/mfeOperationResults/oeidp:" in url
    running, ended = here.get(url), here.get(url)
    assert (running.status, running.data) == (202, {})
    assert (ended.status, ended.data["status"], ended.data["id"] in url) == (200, "Succeeded", True)
    assert here.get(LIVE).data["tags"] == {"a": "b"}


def test_a_put_over_an_endpoint_is_answered_as_if_it_were_new() -> None:
    here = with_deployment()
    again = here.put(LIVE, ENDPOINT)
    assert (again.status, again.data["properties"]["provisioningState"]) == (201, "Creating")
    assert (again.data["systemData"], "identity" in again.data) == ({}, False)
    assert here.done(again).data["status"] == "Succeeded"
    assert here.get(LIVE).data["identity"]["type"] == "SystemAssigned"


def test_what_goes_on_ends_in_the_year_1() -> None:
    here = with_deployment()
    url = str(here.put(BLUE, DEPLOYMENT).header("azure-asyncoperation"))
    assert here.get(url).data["endTime"] == "0001-01-01T00:00:00+00:00"
    assert here.get(url).data["endTime"].startswith("2026")


@pytest.mark.parametrize("version", ["2022-02-01-preview", "2024-04-01"])
def test_a_new_deployment_has_no_probes_yet_with_early_api_versions(version: str) -> None:
    here = with_deployment()
    began = here.put(f"{LIVE}/deployments/green?api-version={version}", DEPLOYMENT)
    early = version < "2023"
    made = began.data["properties"]
    assert made["provisioningState"] == ("Updating" if early else "Creating")
    assert (made["livenessProbe"] is None) == early
    assert made["requestSettings"]["requestTimeout"] == ("PT0S" if early else "PT5S")
    assert made["requestSettings"]["maxQueueWait"] == "PT0S"
    here.done(began)
    done = here.get(f"{LIVE}/deployments/green?api-version={version}").data["properties"]
    assert (done["requestSettings"]["requestTimeout"], done["provisioningState"]) == (
        "PT5S",
        "Succeeded",
    )
    assert done["livenessProbe"]["period"] == "PT10S"


def test_an_endpoint_is_deleted_with_its_deployments() -> None:
    here = with_deployment()
    here.made(LIVE, {**ENDPOINT, "properties": {"traffic": {"blue": 100}}})
    began = here.ask("DELETE", LIVE)
    assert (began.status, here.done(began).data["status"]) == (202, "Succeeded")
    assert here.get(BLUE).status == here.get(LIVE).status == 404


def test_a_token_lasts_a_day() -> None:
    token = with_deployment().ask("POST", f"{LIVE}/token").data
    assert token["tokenType"] == "Bearer"
    assert token["expiryTimeUtc"] - token["refreshAfterTimeUtc"] == 12 * 3600
    assert 0 <= token["expiryTimeUtc"] - EPOCH.timestamp() - 24 * 3600 < 3600
    assert world().ask("POST", f"{LIVE}/token").status == 404


def test_the_skus_of_a_deployment_say_how_far_it_scales() -> None:
    (sku,) = with_deployment().get(f"{BLUE}/skus").data["value"]
    assert sku["capacity"] == {"minimum": 1, "maximum": 50, "default": 3, "scaleType": "Automatic"}
