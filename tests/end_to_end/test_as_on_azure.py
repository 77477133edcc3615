"""What the real service does and a simulated one did not: each would have failed or done harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlctl.applying.events import StepEvent, StepState
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data
from mlctl.render.cloud import resources
from mlctl.render.cloud.export import Placeholders, document
from mlctl.render.cloud.resources import printed
from tests.builders.as_on_azure import AsOnAzure, Recorder
from tests.builders.azure import SCOPE, Azure, Between, azure, emulated, no, says
from tests.builders.paths import ROOT
from tests.builders.plans import carried_out, fields, planned
from tests.builders.resources import compute, declared, environment, model, parsed

CATALOGUE = "azureml://registries/azureml/models/bert/labels/latest"
BLUE = Address("online-deployment", "blue", "risk")
RISK = Address("online-endpoint", "risk")


def endpoint(**values: Data) -> Resource:
    return declared("online-endpoint", {"name": "risk", "auth_mode": "key", **values})


def deployment(name: str = "blue", **values: Data) -> Resource:
    usual = {
        "model": "azureml:heart:1",
        "environment": "azureml:torch:1",
        "instance_type": "Standard_D4as_v4",
        "instance_count": 1,
    }
    return declared("online-deployment", {**usual, **values, "name": name, "endpoint_name": "risk"})


def scored(number: str, script: str) -> Resource:
    code = {"code": "azureml:code:1", "scoring_script": script}
    return deployment(model=f"azureml:heart:{number}", code_configuration=code)


CODE_ID = Address("code", "code", None, "1").id(SCOPE)
CODE = {"id": CODE_ID, "name": "1", "properties": {"codeUri": "https://x/y"}}
ASSETS = (model(), model(version="2"), environment())


def service(**settings: Any) -> tuple[Recorder, Azure]:
    """A client of a service as on Azure that has some code, and the proxy between them."""
    stub = AsOnAzure(bodies={CODE_ID.casefold(): CODE}, **settings)
    proxy = Recorder(stub)
    return proxy, azure(proxy)


def applied(client: Azure, *resources: Resource) -> list[StepEvent]:
    """What happened when the workspace was made as declared; nothing may fail."""
    made = planned(client.backend, *resources)
    assert [found.message for found in made.plan.rejections] == []
    events = carried_out(made.work, client.backend)
    assert [str(event.error) for event in events if event.state is StepState.FAILED] == []
    return events


def test_a_label_of_a_registry_is_any_version_of_the_asset() -> None:
    _, client = service()
    environments = "azureml://registries/azureml/environments/sklearn-1.5/labels/latest"
    blue = deployment(model=CATALOGUE, environment=environments)
    applied(client, endpoint(), blue)
    live = client.backend.read([BLUE])[BLUE].body["properties"]
    assert live["model"].endswith("/models/bert/versions/14")
    assert planned(client.backend, endpoint(), blue).plan.empty
    other = deployment(model=CATALOGUE.replace("bert", "gpt"), environment=environments)
    assert fields(planned(client.backend, endpoint(), other).plan) == {
        "online-deployment/risk/blue": ["model"]
    }


def test_an_update_keeps_the_version_that_a_label_stood_for_at_first() -> None:
    proxy, client = service()
    applied(client, *ASSETS, endpoint(), deployment(model=CATALOGUE))
    applied(client, *ASSETS, endpoint(), deployment(model=CATALOGUE, instance_count=2))
    first, second = (body["properties"]["model"] for body in proxy.bodies("deployments/blue"))
    assert first.endswith("/bert/labels/latest")  # nobody answers for the registry
    assert second.endswith("/bert/versions/14")


def test_a_label_is_resolved_where_the_registry_can_be_read() -> None:
    known = "azureml://registries/azureml/models/Phi-4/labels/latest"
    client = azure(emulated())
    made = planned(client.backend, *ASSETS, endpoint(), deployment(model=known))
    (change,) = [one for one in made.plan.pending if one.address == BLUE]
    (field,) = [one for one in change.fields if one.at == ("model",)]
    assert (field.after, field.note) == (known.replace("labels/latest", "versions/7"), "@latest")


def test_traffic_moves_to_a_deployment_whose_model_is_named_by_a_label() -> None:
    proxy, client = service()
    applied(client, endpoint(traffic={"blue": 100}), deployment(model=CATALOGUE), *ASSETS)
    assert proxy.bodies("onlineEndpoints/risk")[-1]["properties"]["traffic"] == {"blue": 100}


def test_variables_of_the_service_are_not_sent_back() -> None:
    proxy, client = service()
    applied(client, *ASSETS, endpoint(), scored("1", "score.py"))
    applied(client, *ASSETS, endpoint(), scored("2", "score2.py"))
    _, second = proxy.bodies("deployments/blue")
    assert not second["properties"].get("environmentVariables")
    live = client.backend.read([BLUE])[BLUE].body["properties"]["environmentVariables"]
    assert live["AZUREML_ENTRY_SCRIPT"] == "score2.py"
    assert live["AZUREML_MODEL_DIR"].endswith("/heart/2")


def test_a_variable_that_the_file_says_is_sent_although_the_service_knows_one() -> None:
    proxy, client = service()
    said = {"AZUREML_ENTRY_SCRIPT": "main.py", "MINE": "1"}
    blue = deployment(environment_variables=said)
    applied(client, *ASSETS, endpoint(), blue)
    (body,) = proxy.bodies("deployments/blue")
    assert body["properties"]["environmentVariables"] == said
    assert planned(client.backend, *ASSETS, endpoint(), blue).plan.empty


def test_a_startup_probe_that_no_file_can_say_is_kept_by_an_update() -> None:
    proxy, client = service()
    applied(client, *ASSETS, endpoint(), deployment())
    stub, probe = proxy.service, {"failureThreshold": 30, "period": "PT10S"}
    assert isinstance(stub, AsOnAzure)
    stub.bodies[BLUE.id(SCOPE).casefold()]["properties"]["startupProbe"] = probe
    applied(client, *ASSETS, endpoint(), deployment(instance_count=2))
    assert proxy.bodies("deployments/blue")[-1]["properties"]["startupProbe"] == probe
    asked = [each for each in proxy.exchanges if "/deployments" in each.path]
    assert {each.query["api-version"] for each in asked} == {"2024-10-01"}  # older ones hide it


@pytest.mark.parametrize("address", [BLUE, RISK], ids=str)
def test_what_the_service_writes_is_not_exported(address: Address) -> None:
    _, client = service()
    everything = (*ASSETS, endpoint(traffic={"blue": 100}), scored("1", "score.py"))
    applied(client, *everything)
    live = client.backend.read([address])[address]
    text = document(live, SCOPE, "eastus", Placeholders())
    assert "AzureAsyncOperationUri: " not in text
    assert "AZUREML_MODEL_DIR: " not in text
    applied(client, *everything[:-1], scored("2", "score.py"))  # somebody writes in between
    others = [one for one in everything if one.address != address]
    made = planned(client.backend, *others, *parsed(text))
    assert [found.message for found in made.plan.rejections] == []


def test_a_conflict_of_an_endpoint_passes() -> None:
    proxy, client = service(conflicts=2)
    applied(client, *ASSETS, endpoint(traffic={"blue": 100}), deployment())
    at_endpoint = [text for text in proxy.writes() if "onlineEndpoints" in text]
    assert at_endpoint[:3] == [
        "PUT onlineEndpoints/risk 409",
        "PUT onlineEndpoints/risk 409",
        "PUT onlineEndpoints/risk 201",
    ]
    assert client.backend.read([BLUE])


@pytest.mark.parametrize(
    "code", ["ResourceConflict", "ResourceNotReady", "EndpointNotReady", "BadRequest"]
)
def test_a_conflict_passes_under_every_name_that_azure_gives_it(code: str) -> None:
    text = (
        "Cannot create a deployment in endpoint risk because it is in Updating provisioning state"
    )
    refusal = says(409, {"error": {"code": code, "message": text}})
    stub = AsOnAzure()
    client = azure(Between(stub, [("PUT */deployments/blue", refusal)]))
    applied(client, *ASSETS, endpoint(), deployment())


def test_a_conflict_that_is_about_the_name_is_final() -> None:
    client = azure(Between(AsOnAzure(), [("PUT */onlineEndpoints/risk", no(409, "NameTaken"))]))
    made = planned(client.backend, endpoint())
    (last,) = [event for event in carried_out(made.work, client.backend) if event.error]
    assert (last.state, last.error.code if last.error else "") == (StepState.FAILED, "NameTaken")


def test_a_conflict_waits_until_neither_endpoint_nor_sibling_moves() -> None:
    proxy, client = service()
    applied(client, *ASSETS, endpoint(), deployment())
    path = BLUE.id(SCOPE).casefold()
    stub = proxy.service
    assert isinstance(stub, AsOnAzure)
    body = stub.bodies[path]
    moving = {**body, "properties": {**body["properties"], "provisioningState": "Updating"}}
    listed = says(200, {"value": [moving]})
    between = Between(
        stub,
        [
            ("PUT */deployments/green", no(409, "Conflict")),
            *[("GET */onlineEndpoints/risk/deployments", listed)] * 7,
        ],
    )
    proxy.service = between
    before = len(client.clock.slept)
    events = applied(client, *ASSETS, endpoint(), deployment(), deployment("green"))
    assert between.answers == []
    assert len(client.clock.slept) == before + 7  # six looks at green's siblings, and once more
    retries = [event for event in events if event.state is StepState.RETRYING]
    assert len(retries) == 1


def test_an_endpoint_that_moves_for_ever_is_waited_for_as_long_as_may_be() -> None:
    stub = AsOnAzure()
    client = azure(stub, limit=60.0)
    applied(client, *ASSETS, endpoint())
    body = stub.bodies[RISK.id(SCOPE).casefold()]
    moving = {**body, "properties": {**body["properties"], "provisioningState": "Updating"}}
    refusals = [("PUT */deployments/blue", no(409, "Conflict"))] * 9
    between = Between(stub, refusals)
    waiting = azure(between, limit=60.0)
    made = planned(waiting.backend, *ASSETS, endpoint(), deployment())
    between.answers += [("GET */onlineEndpoints/risk", says(200, moving))] * 99
    (last,) = [
        one for one in carried_out(made.work, waiting.backend) if one.state is StepState.FAILED
    ]
    assert last.error is not None
    assert last.error.code == "TimedOut"


def test_writes_under_one_endpoint_go_one_after_the_other() -> None:
    proxy, client = service()
    applied(client, *ASSETS, endpoint(), *(deployment(name) for name in ("blue", "green", "red")))
    assert not [text for text in proxy.writes() if text.endswith("409")]


def test_a_stale_read_after_a_write_is_read_again() -> None:
    proxy, client = service(stale=3)
    applied(client, *ASSETS, endpoint(), deployment())
    applied(client, *ASSETS, endpoint(), deployment(instance_count=2))
    assert proxy.bodies("deployments/blue")[-1]["sku"]["capacity"] == 2
    assert sum(client.clock.slept) < 60


@pytest.mark.parametrize("links", ["https://AZURE.test", "https://azure.test:443"])
def test_links_may_have_the_default_port_and_any_letter_case(links: str) -> None:
    _, client = service(links=links)
    applied(client, *ASSETS, endpoint(), deployment())


def test_apply_plan_update_and_destroy_go_through_at_a_service_as_on_azure() -> None:
    proxy, client = service(conflicts=2, stale=1, links="https://Azure.test:443")
    risk = endpoint(traffic={"blue": 100})
    code = {"code": "azureml:code:1", "scoring_script": "score.py"}
    catalogue = deployment(model=CATALOGUE, code_configuration=code)
    applied(client, *ASSETS, risk, catalogue)
    assert planned(client.backend, *ASSETS, risk, catalogue).plan.empty
    later = deployment(model=CATALOGUE, code_configuration={**code, "scoring_script": "s2.py"})
    applied(client, *ASSETS, risk, later)
    assert planned(client.backend, *ASSETS, risk, later).plan.empty
    last = proxy.bodies("deployments/blue")[-1]["properties"]
    assert "AZUREML_ENTRY_SCRIPT" not in str(last)
    assert "AzureAsyncOperationUri" not in str(last)
    made = planned(client.backend, risk, later, destroying=True)
    carried_out(made.work, client.backend)
    assert client.backend.read([RISK, BLUE]) == {}


def test_nodes_are_read_page_by_page() -> None:
    node = {"nodeId": "a", "nodeState": "idle"}
    first = says(200, {"nodes": [node], "nextLink": "https://azure.test/more"})
    second = says(200, {"nodes": [{**node, "nodeId": "b"}]})
    answers = [("POST */listNodes", first), ("GET /more", second)]
    client = azure(Between(AsOnAzure(), answers))
    assert [one.id for one in client.backend.nodes(Address("compute", "cpu"))] == ["a", "b"]


def test_the_limit_of_the_workspace_itself_counts_where_it_is_lower() -> None:
    name = {"value": "standardDSv2Family"}
    kind = "Microsoft.MachineLearningServices/vmFamily/dedicatedCores/usages"
    usages = {"value": [{"type": kind, "name": name, "currentValue": 2, "limit": 100}]}
    own, other = f"{SCOPE.id}/quotas/x", f"{SCOPE.id}2/quotas/x"
    rows = [{"id": at, "name": name, "limit": limit} for at, limit in ((own, 8), (other, 4))]
    answers = [
        ("GET */locations/eastus/usages", says(200, usages)),
        ("GET */locations/eastus/quotas", says(200, {"value": rows})),
    ]
    client = azure(Between(AsOnAzure(), answers))
    assert [(one.used, one.limit) for one in client.backend.usage("eastus")] == [(2, 8)]


@pytest.mark.parametrize(
    ("tier", "collections"),
    [("dedicated", ["quotas", "usages"]), ("low_priority", ["usages"])],
)
def test_an_all_new_plan_asks_for_nothing_twice_nor_without_need(
    tier: str, collections: list[str]
) -> None:
    proxy = Recorder(emulated())
    cluster = compute(tier=tier)
    planned(azure(proxy).backend, cluster, declared("batch-endpoint", {"name": "heart"}))
    asked = [each.path.rpartition("/")[2] for each in proxy.exchanges]
    of_region = [each.path for each in proxy.exchanges if "/locations/" in each.path]
    assert sorted(path.rpartition("/")[2] for path in of_region) == collections
    assert asked.count("workspaces") == 1  # a name of a cluster, and a name of an endpoint
    assert len(asked) == 4 + len(collections)


def test_what_nobody_says_of_clusters_and_environments_is_not_sent_back() -> None:
    proxy = Recorder(emulated())
    client = azure(proxy)
    applied(client, compute(), environment())
    applied(client, compute(tags={"a": "b"}), environment(description="new"))
    bodies = [*proxy.bodies("computes/cpu-cluster"), *proxy.bodies("versions/1")]
    names = ("propertyBag", "enableBatchPrivateLink", "isolatedNetwork", "environmentType")
    assert len(bodies) == 4
    assert [name for name in names if name in str(bodies)] == []
    assert "'condaFile': ''" not in str(bodies)


def test_a_model_whose_files_the_service_has_copied_is_the_same() -> None:
    path = "azureml://datastores/workspaceblobstore/paths/models/heart"
    copied = path.replace(
        "/paths/", "/paths/ServiceReplicated/00000000-0000-0000-0000-000000000034/"
    )
    proxy, client = service()
    applied(client, model(path=path))
    stub = proxy.service
    assert isinstance(stub, AsOnAzure)
    stub.bodies[model().address.id(SCOPE).casefold()]["properties"]["modelUri"] = copied
    assert planned(client.backend, model(path=path)).plan.empty


def test_a_table_of_recorded_deployments_has_their_type_and_mini_batch() -> None:
    file = ROOT / "conformance/recorded/batch-deployment-get.json"
    body = json.loads(file.read_text(encoding="utf-8"))["response"]["body"]
    row = printed(Live(Address("batch-deployment", "a", "b"), body), SCOPE)
    (shown,) = resources.rows(row, BATCH_DEPLOYMENT.az.columns)
    assert shown["Type"] == "model"
    assert shown["MiniBatch"] != ""


def test_the_doctor_says_that_a_hub_takes_neither_clusters_nor_online_endpoints() -> None:
    hub = {"id": SCOPE.id, "location": "eastus", "kind": "Hub", "properties": {}}
    client = azure(Between(AsOnAzure(), [("GET */workspaces/ws", says(200, hub))]))
    assert any("is a hub" in check.found for check in client.backend.check_health(0.0))
