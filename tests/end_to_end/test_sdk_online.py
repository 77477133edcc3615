"""The unmodified azure-ai-ml on the emulator: online endpoints, deployments and their traffic."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address, Scope
from tests.builders.azure import azure
from tests.builders.paths import SAMPLES
from tests.builders.plans import actions, planned
from tests.builders.sdk import GROUP, SUBSCRIPTION, WORKSPACE, Sdk, lead_here, sdk
from tests.end_to_end.test_sdk import environment, model

TODAY = date(2026, 6, 18)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)


def endpoint(**fields: Any) -> Any:
    from azure.ai.ml.entities import ManagedOnlineEndpoint

    return ManagedOnlineEndpoint(**{"name": "heart-risk", "auth_mode": "key", **fields})


def deployment(name: str = "blue", **fields: Any) -> Any:
    from azure.ai.ml.entities import ManagedOnlineDeployment

    given = {
        "endpoint_name": "heart-risk",
        "model": "azureml:heart:1",
        "environment": "azureml:env:1",
        "instance_type": "Standard_D4as_v4",
        "instance_count": 2,
    }
    return ManagedOnlineDeployment(name=name, **{**given, **fields})


def with_deployments(*names: str) -> Sdk:
    here = sdk()
    here.ml.models.create_or_update(model(version="1"))
    here.ml.environments.create_or_update(environment(version="1"))
    here.ml.online_endpoints.begin_create_or_update(endpoint()).result()
    for name in names:
        here.ml.online_deployments.begin_create_or_update(deployment(name)).result()
    return here


def test_an_endpoint_comes_back_as_it_was_sent() -> None:
    ml = sdk().ml
    made = ml.online_endpoints.begin_create_or_update(
        endpoint(description="tells risks", tags={"team": "ds"}, public_network_access="disabled")
    ).result()
    assert made.provisioning_state == "Succeeded"
    got = ml.online_endpoints.get("HEART-RISK")
    assert (got.auth_mode, got.kind, got.traffic) == ("key", "Managed", {})
    assert (got.description, got.tags) == ("tells risks", {"team": "ds"})
    assert got.public_network_access.lower() == "disabled"
    assert got.identity.type == "system_assigned"
    assert got.scoring_uri.endswith("/heart-risk/score")  # at the emulator
    assert [one.name for one in ml.online_endpoints.list()] == ["heart-risk"]


def test_a_deployment_comes_back_as_it_was_sent() -> None:
    from azure.ai.ml.entities import OnlineRequestSettings, ProbeSettings

    ml = with_deployments().ml
    sent = deployment(
        request_settings=OnlineRequestSettings(
            request_timeout_ms=90_000, max_concurrent_requests_per_instance=4
        ),
        liveness_probe=ProbeSettings(initial_delay=180, failure_threshold=49),
        environment_variables={"WORKERS": "4"},
        app_insights_enabled=True,
    )
    ml.online_deployments.begin_create_or_update(sent).result()
    got = ml.online_deployments.get("blue", "heart-risk")
    assert (got.instance_type, got.instance_count) == ("Standard_D4as_v4", 2)
    assert got.request_settings.request_timeout_ms == 90_000
    assert (got.liveness_probe.initial_delay, got.liveness_probe.failure_threshold) == (180, 49)
    assert got.environment_variables["WORKERS"] == "4"
    assert got.app_insights_enabled
    assert got.scale_settings.type == "default"
    assert got.model.endswith("/models/heart/versions/1")
    assert [one.name for one in ml.online_deployments.list("heart-risk")] == ["blue"]


def test_traffic_moves_from_one_deployment_to_another() -> None:
    ml = with_deployments("blue", "green").ml
    for traffic in ({"blue": 100}, {"blue": 90, "green": 10}, {"green": 100}):
        got = ml.online_endpoints.get("heart-risk")
        got.traffic = traffic
        ml.online_endpoints.begin_create_or_update(got).result()
        told = ml.online_endpoints.get("heart-risk").traffic
        assert {name: share for name, share in told.items() if share} == traffic
    got = ml.online_endpoints.get("heart-risk")
    got.mirror_traffic = {"blue": 20}
    ml.online_endpoints.begin_create_or_update(got).result()
    assert ml.online_endpoints.get("heart-risk").mirror_traffic == {"blue": 20}


@pytest.mark.parametrize(
    ("traffic", "says"),
    [
        ({"red": 100}, "DeploymentNotFound"),
        ({"blue": 60}, "must sum to 0 or 100"),
    ],
)
def test_traffic_that_goes_nowhere_is_refused(traffic: dict[str, int], says: str) -> None:
    from azure.core.exceptions import HttpResponseError

    ml = with_deployments("blue").ml
    with pytest.raises(HttpResponseError, match=says):
        ml.online_endpoints.begin_create_or_update(endpoint(traffic=traffic)).result()


def test_a_deployment_with_traffic_is_not_deleted() -> None:
    from azure.core.exceptions import HttpResponseError

    ml = with_deployments("blue").ml
    ml.online_endpoints.begin_create_or_update(endpoint(traffic={"blue": 100})).result()
    with pytest.raises(HttpResponseError, match="in the traffic of endpoint"):
        ml.online_deployments.begin_delete("blue", "heart-risk").result()
    ml.online_endpoints.begin_create_or_update(endpoint(traffic={"blue": 0})).result()
    ml.online_deployments.begin_delete("blue", "heart-risk").result()
    assert list(ml.online_deployments.list("heart-risk")) == []


def test_a_deployment_is_scaled_and_its_size_stays() -> None:
    from azure.core.exceptions import HttpResponseError

    ml = with_deployments("blue").ml
    got = ml.online_deployments.get("blue", "heart-risk")
    got.instance_count = 5
    ml.online_deployments.begin_create_or_update(got).result()
    assert ml.online_deployments.get("blue", "heart-risk").instance_count == 5
    got.instance_type = "Standard_E4s_v3"
    with pytest.raises(HttpResponseError, match="instanceType"):
        ml.online_deployments.begin_create_or_update(got).result()


def test_an_endpoint_goes_with_its_deployments() -> None:
    from azure.core.exceptions import ResourceNotFoundError

    ml = with_deployments("blue").ml
    ml.online_endpoints.begin_create_or_update(endpoint(traffic={"blue": 100})).result()
    ml.online_endpoints.begin_delete("heart-risk").result()
    with pytest.raises(ResourceNotFoundError):
        ml.online_deployments.get("blue", "heart-risk")


def test_what_is_collected_is_registered_as_data(tmp_path: Path) -> None:
    from azure.ai.ml.entities import DataCollector, DeploymentCollection

    ml = with_deployments().ml
    kept = DataCollector(
        collections={"model_inputs": DeploymentCollection(enabled="true")}, sampling_rate=0.5
    )
    ml.online_deployments.begin_create_or_update(deployment(data_collector=kept)).result()
    got = ml.online_deployments.get("blue", "heart-risk").data_collector
    assert got.collections["model_inputs"].enabled == "true"
    assert got.sampling_rate == 0.5
    assert ml.data.get("heart-risk-blue-model_inputs", "1").path.endswith("/model_inputs")


def test_what_the_sdk_makes_of_a_file_is_what_mlctl_plans() -> None:
    from azure.ai.ml import load_environment, load_model, load_online_deployment
    from azure.ai.ml import load_online_endpoint as load_endpoint

    here, folder = sdk(), SAMPLES / "online-blue-green"
    for one in ("model-1", "model-2"):
        here.ml.models.create_or_update(load_model(folder / f"{one}.yml"))
    here.ml.environments.create_or_update(load_environment(folder / "environment.yml"))
    made = load_endpoint(folder / "endpoint.yml")
    traffic, made.traffic = made.traffic, {}
    here.ml.online_endpoints.begin_create_or_update(made).result()
    for name in ("blue", "green"):
        loaded = load_online_deployment(folder / f"{name}.yml")
        here.ml.online_deployments.begin_create_or_update(loaded).result()
    made.traffic = traffic
    here.ml.online_endpoints.begin_create_or_update(made).result()
    backend = azure(here.world.emulator, Scope(SUBSCRIPTION, GROUP, WORKSPACE)).backend
    loader = Loader(Report(), TODAY, scope=backend.scope, planning=True)
    declared = loader.load([str(folder)]).graph.resources.values()
    assert actions(planned(backend, *declared).plan) == {}


@pytest.mark.slow
def test_a_request_is_answered_by_the_deployment_that_is_named_or_gets_traffic(
    tmp_path: Path,
) -> None:
    ml = with_deployments("blue", "green").ml
    made = ml.online_endpoints.get("heart-risk")
    made.traffic = {"blue": 100}
    ml.online_endpoints.begin_create_or_update(made).result()
    request = tmp_path / "request.json"
    request.write_text('{"data": [[1, 2]]}')
    answers = [
        json.loads(ml.online_endpoints.invoke("heart-risk", request_file=str(request), **named))
        for named in ({}, {"deployment_name": "green"})
    ]
    assert [answer["deployment"] for answer in answers] == ["blue", "green"]
    assert answers[0]["request"] == {"data": [[1, 2]]}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["key", "aml_token", "aad_token"])
def test_mlctl_asks_an_endpoint_of_azure_in_the_mode_that_it_takes(mode: str) -> None:
    here = sdk()
    here.ml.models.create_or_update(model(version="1"))
    here.ml.environments.create_or_update(environment(version="1"))
    here.ml.online_endpoints.begin_create_or_update(endpoint(auth_mode=mode)).result()
    here.ml.online_deployments.begin_create_or_update(deployment("blue")).result()
    backend = azure(here.world.emulator, Scope(SUBSCRIPTION, GROUP, WORKSPACE)).backend
    answer = backend.score(Address("online-endpoint", "heart-risk"), "blue", {"data": [1]})
    assert (answer["deployment"], answer["request"]) == ("blue", {"data": [1]})
