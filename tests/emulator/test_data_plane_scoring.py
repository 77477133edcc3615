"""Requests to the scoring URIs of the emulator, at its paths and at the hosts of endpoints."""

from __future__ import annotations

import pytest

from tests.builders.emulator import WS, World, with_deployment, world

ENDPOINT = f"{WS}/onlineEndpoints/risks"
SCORED = "/online/sub/rg/ws/risks/score"
BLUE = {"location": "eastus", "properties": {"instanceType": "Standard_F4s_v2"}}


def deployed(mode: str = "Key") -> World:
    here = world()
    here.made(ENDPOINT, {"location": "eastus", "properties": {"authMode": mode}})
    here.made(f"{ENDPOINT}/deployments/blue", BLUE)
    return here


def secret(here: World, action: str, name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {here.ask('POST', f'{ENDPOINT}/{action}').data[name]}"}


@pytest.mark.parametrize("where", [SCORED, "/inference/risks/score"])
def test_a_request_with_the_key_is_answered_by_the_deployment_that_it_names(where: str) -> None:
    here = deployed()
    headers = secret(here, "listKeys", "primaryKey")
    named = {**headers, "azureml-model-deployment": "blue"}
    answer = here.ask("POST", where, {"data": [1]}, headers=named)
    assert (answer.status, answer.header("azureml-model-deployment")) == (200, "blue")
    assert answer.data["request"] == {"data": [1]}
    assert here.ask("POST", where, {"data": [1]}, headers=headers).status == 404  # no traffic


def test_what_a_model_takes_need_not_be_json() -> None:
    here = deployed()
    headers = secret(here, "listKeys", "secondaryKey") | {"azureml-model-deployment": "blue"}
    answer = here.ask("POST", SCORED, b"a,b\n1,2\n", headers=headers)
    assert answer.data["request"] == "a,b\n1,2\n"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer other"}])
def test_without_the_key_there_is_no_answer(headers: dict[str, str]) -> None:
    answer = deployed().ask("POST", SCORED, {"data": 1}, headers=headers)
    assert (answer.status, answer.code) == (401, "Unauthorized")


def test_an_endpoint_that_takes_tokens_takes_its_own() -> None:
    here = deployed("AMLToken")
    named = {"azureml-model-deployment": "blue"}
    token = secret(here, "token", "accessToken")
    assert here.ask("POST", SCORED, {}, headers=token | named).status == 200


def test_the_host_of_a_batch_endpoint_takes_jobs() -> None:
    here = with_deployment()
    body = {
        "properties": {"InputData": {"a": {"jobInputType": "uri_folder", "uri": "azureml://a"}}}
    }
    headers = {"azureml-model-deployment": "blue"}
    assert here.ask("POST", "/inference/scoring/jobs", body, headers=headers).status == 201
    assert here.ask("POST", "/inference/nobody/jobs", body, headers=headers).status == 404
