"""What every backend does: the three verbs, and the manners of the service behind them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mlctl.backends.ports.backend import (
    Backend,
    SupportsCode,
    SupportsNames,
    SupportsRegistries,
    SupportsUsage,
)
from mlctl.kinds.address import Address
from mlctl.kinds.facts import QuotaRefusal
from mlctl.service_errors import NotFound, Permanent, ServiceError
from tests.builders.bodies import (
    BLUE,
    CPU,
    ENDPOINT,
    MODEL,
    cluster,
    deployment,
    endpoint,
    model,
    put,
    stage,
)


def test_what_was_put_is_read_back_and_has_succeeded(backend: Backend) -> None:
    body = put(backend, CPU, cluster(tags={"team": "heart"}))
    assert body["tags"] == {"team": "heart"}
    assert body["properties"]["provisioningState"] == "Succeeded"


def test_what_is_not_there_is_absent_from_what_is_read(backend: Backend) -> None:
    backend.put(CPU, cluster()).wait()
    assert set(backend.read([CPU, ENDPOINT, BLUE, MODEL])) == {CPU}


def test_reading_nothing_gives_nothing(backend: Backend) -> None:
    assert backend.read([]) == {}


def test_names_are_found_without_case_and_keep_their_first_spelling(backend: Backend) -> None:
    backend.put(CPU, cluster()).wait()
    shouted = Address("compute", "CPU-CLUSTER")
    assert str(backend.read([shouted])[shouted].address) == "compute/cpu-cluster"
    assert put(backend, shouted, cluster())["name"] == "cpu-cluster"


def test_an_address_without_a_version_reads_the_version_created_last(backend: Backend) -> None:
    for version in ("9", "1", "10", "5"):
        put(backend, MODEL.at(version), model())
    put(backend, MODEL, model(description="changed later"))
    newest = Address("model", "heart")
    assert backend.read([newest])[newest].address.version == "5"


def test_a_list_is_by_name_and_has_all_versions_oldest_first(backend: Backend) -> None:
    for name, version in (("b", "1"), ("a", "2"), ("b", "3"), ("a", "1"), ("b", "2")):
        put(backend, Address("model", name, None, version), model())
    listed = [str(live.address) for live in backend.list("model")]
    assert listed == ["model/a:2", "model/a:1", "model/b:1", "model/b:3", "model/b:2"]


def test_a_list_of_deployments_has_those_of_one_endpoint(backend: Backend) -> None:
    stage(backend)
    put(backend, Address("batch-endpoint", "other"), endpoint())
    assert [live.address for live in backend.list("batch-deployment", "HEART-batch")] == [BLUE]
    assert backend.list("batch-deployment", "other") == []


def test_a_list_without_a_parent_has_the_deployments_of_all(backend: Backend) -> None:
    stage(backend)
    put(backend, Address("batch-endpoint", "another"), endpoint())
    put(backend, Address("batch-endpoint", "empty"), endpoint())
    red = Address("batch-deployment", "red", "another")
    put(backend, red, deployment(backend.scope))
    assert [live.address for live in backend.list("batch-deployment")] == [red, BLUE]


def test_the_deployments_of_a_missing_endpoint_cannot_be_listed(backend: Backend) -> None:
    with pytest.raises(NotFound):
        backend.list("batch-deployment", "nobody")


@pytest.mark.parametrize("address", [CPU, ENDPOINT, MODEL, BLUE], ids=str)
def test_what_is_not_there_cannot_be_deleted(backend: Backend, address: Address) -> None:
    with pytest.raises(NotFound):
        backend.delete(address)


@pytest.mark.parametrize("address", [BLUE, MODEL, CPU, ENDPOINT], ids=str)
def test_what_was_deleted_is_gone(backend: Backend, address: Address) -> None:
    stage(backend)
    if address in (MODEL, CPU):
        backend.delete(BLUE).wait()
    backend.delete(address).wait()
    assert backend.read([address]) == {}
    assert address not in [live.address for live in backend.list(address.kind, address.parent)]


def test_an_endpoint_takes_its_deployments_with_it(backend: Backend) -> None:
    stage(backend)
    put(backend, ENDPOINT, endpoint("blue"))
    backend.delete(ENDPOINT).wait()
    assert backend.read([ENDPOINT, BLUE]) == {}
    put(backend, ENDPOINT, endpoint())
    assert backend.list("batch-deployment", ENDPOINT.name) == []


def test_a_name_is_free_again_once_its_owner_is_gone(backend: Backend) -> None:
    put(backend, CPU, cluster(vmPriority="LowPriority"))
    backend.delete(CPU).wait()
    again = put(backend, CPU, cluster(vmPriority="Dedicated"))
    assert again["properties"]["properties"]["vmPriority"] == "Dedicated"


def test_a_put_overwrites_what_may_change(backend: Backend) -> None:
    put(backend, CPU, cluster(tags={"a": "1"}))
    scale = {"maxNodeCount": 3, "minNodeCount": 1, "nodeIdleTimeBeforeScaleDown": "PT10M"}
    body = put(backend, CPU, cluster(scaleSettings=scale))
    settings = body["properties"]["properties"]["scaleSettings"]
    assert (body["tags"], settings["maxNodeCount"], settings["minNodeCount"]) == ({}, 3, 1)


IMMUTABLE = [
    {"vmSize": "Standard_DS2_v2"},
    {"vmPriority": "LowPriority"},
    {"enableNodePublicIp": False},
    {"remoteLoginPortPublicAccess": "Disabled"},
    {"subnet": {"id": "/subscriptions/s/resourceGroups/r/providers/x/virtualNetworks/v/subnets/d"}},
]


@pytest.mark.parametrize("change", IMMUTABLE, ids=lambda change: next(iter(change)))
def test_what_is_fixed_at_creation_never_changes(backend: Backend, change: dict[str, Any]) -> None:
    before = put(backend, CPU, cluster())
    with pytest.raises(Permanent):
        put(backend, CPU, cluster(**change))
    assert backend.read([CPU])[CPU].body == before


def test_a_version_keeps_its_content_and_may_change_its_description(backend: Backend) -> None:
    put(backend, MODEL, model())
    with pytest.raises(Permanent):
        backend.put(MODEL, model(modelUri="azureml://elsewhere"))
    assert put(backend, MODEL, model(description="new"))["properties"]["description"] == "new"


def test_a_version_can_be_archived_and_restored(backend: Backend) -> None:
    put(backend, MODEL, model())
    assert put(backend, MODEL, model(isArchived=True))["properties"]["isArchived"] is True
    assert put(backend, MODEL, model(isArchived=False))["properties"]["isArchived"] is False


def test_a_deployment_needs_its_endpoint(backend: Backend) -> None:
    put(backend, CPU, cluster())
    put(backend, MODEL, model())
    with pytest.raises(NotFound):
        backend.put(BLUE, deployment(backend.scope))


@pytest.mark.parametrize("missing", [CPU, MODEL], ids=str)
def test_a_deployment_needs_all_that_it_names(backend: Backend, missing: Address) -> None:
    put(backend, ENDPOINT, endpoint())
    for address, body in ((CPU, cluster()), (MODEL, model())):
        if address != missing:
            put(backend, address, body)
    with pytest.raises(NotFound, match=missing.name):
        backend.put(BLUE, deployment(backend.scope))


def test_a_registry_asset_is_taken_at_its_word(backend: Backend) -> None:
    stage(backend)
    uri = "azureml://registries/azureml/models/heart/versions/3"
    body = deployment(backend.scope, model={"assetId": uri, "referenceType": "Id"})
    assert put(backend, BLUE, body)["properties"]["model"]["assetId"] == uri


def test_a_registry_is_read_by_name_version_and_newest(backend: Backend) -> None:
    assert isinstance(backend, SupportsRegistries)
    registry = backend.registry("azureml")
    newest = registry.read(Address("model", "t5-base"))
    where = "azureml://registries/azureml/models/t5-base/versions/"
    assert (str(newest.address), newest.body["id"]) == ("model/t5-base:7", f"{where}7")
    assert registry.read(Address("model", "t5-base", None, "3")).body["id"] == f"{where}3"
    assert [str(one.address) for one in registry.list("model", "t5-base")] == ["model/t5-base:7"]
    every = {one.address.name: one.body["properties"] for one in registry.list("environment")}
    assert every["sklearn-1.5"]["latestVersion"] == "28"
    with pytest.raises(NotFound):
        registry.read(Address("environment", "none"))


def test_the_default_deployment_must_exist(backend: Backend) -> None:
    stage(backend)
    with pytest.raises(ServiceError, match="green"):
        backend.put(ENDPOINT, endpoint("green"))
    named = put(backend, ENDPOINT, endpoint("blue"))
    assert named["properties"]["defaults"]["deploymentName"] == "blue"


def test_the_default_deployment_cannot_be_deleted(backend: Backend) -> None:
    stage(backend)
    put(backend, ENDPOINT, endpoint("blue"))
    with pytest.raises(Permanent):
        backend.delete(BLUE).wait()
    put(backend, ENDPOINT, endpoint())
    backend.delete(BLUE).wait()
    assert backend.read([BLUE]) == {}


def test_secrets_never_come_back(backend: Backend) -> None:
    account = {
        "adminUserName": "azureuser",
        "adminUserPassword": "s3cr3t-1",
        "adminUserSshPublicKey": "ssh-rsa AAAA",
    }
    body = put(backend, CPU, cluster(userAccountCredentials=account))
    assert "s3cr3t" not in str(body)
    account = body["properties"]["properties"]["userAccountCredentials"]
    assert (account["adminUserName"], account["adminUserSshPublicKey"]) == (
        "azureuser",
        "ssh-rsa AAAA",
    )


def test_sizes_regions_and_enums_come_back_respelt(backend: Backend) -> None:
    body = put(backend, CPU, cluster(location="East US 2", vmPriority="lowpriority"))
    inner = body["properties"]["properties"]
    spelt = (body["location"], inner["vmSize"], inner["vmPriority"])
    assert spelt == ("eastus2", "STANDARD_DS3_V2", "LowPriority")


def test_defaults_are_filled_in(backend: Backend) -> None:
    stage(backend)
    properties = backend.read([BLUE])[BLUE].body["properties"]
    assert properties["miniBatchSize"] == 10
    assert properties["errorThreshold"] == -1
    assert properties["outputFileName"] == "predictions.csv"
    assert properties["retrySettings"]["maxRetries"] == 3


def test_a_summary_has_no_output_file(backend: Backend) -> None:
    stage(backend)
    body = deployment(backend.scope, outputAction="summaryonly", outputFileName="predictions.csv")
    assert put(backend, BLUE, body)["properties"].get("outputFileName") is None


def test_ids_are_spelt_in_the_one_way_that_clients_can_read(backend: Backend) -> None:
    stage(backend)
    shouted = deployment(backend.scope, compute=CPU.id(backend.scope).upper())
    body = put(backend, BLUE, shouted)
    assert body["id"] == BLUE.id(backend.scope)
    assert body["properties"]["compute"] == CPU.id(backend.scope)


def test_endpoints_gain_properties_of_the_service(backend: Backend) -> None:
    body = put(backend, ENDPOINT, endpoint(properties={"mine": "1"}))
    properties = body["properties"]["properties"]
    assert properties["mine"] == "1"
    assert len(properties) > 1
    assert body["properties"]["scoringUri"].startswith("https://")


def test_a_wrong_size_and_a_wrong_region_are_refused(backend: Backend) -> None:
    with pytest.raises(Permanent, match=r"(?i)standard_ds3_v9"):
        backend.put(CPU, cluster(vmSize="Standard_DS3_v9")).wait()
    with pytest.raises(Permanent, match="eastus9"):
        backend.put(CPU, cluster(location="eastus9")).wait()
    assert backend.read([CPU]) == {}


def test_more_first_nodes_than_the_quota_are_refused_and_more_later_ones_are_not(
    backend: Backend,
) -> None:
    assert isinstance(backend, SupportsUsage)
    assert backend.quota_refuses() is QuotaRefusal.MIN
    family = next(one for one in backend.usage("eastus") if one.family == "standardDSv2Family")
    assert family.limit is not None
    fit = family.limit // 4
    scale = {"maxNodeCount": 2 * fit, "minNodeCount": fit}
    backend.put(CPU, cluster(scaleSettings=scale)).wait()
    more = {"maxNodeCount": 2 * fit, "minNodeCount": fit + 1}
    with pytest.raises(Permanent) as refused:
        backend.put(Address("compute", "one-more"), cluster(scaleSettings=more)).wait()
    assert refused.value.code == "ClusterMinNodesExceedCoreQuota"


def test_usage_counts_the_nodes_that_a_cluster_may_have(backend: Backend) -> None:
    assert isinstance(backend, SupportsUsage)
    put(backend, CPU, cluster(location="westus"))
    used = {one.family: one.used for one in backend.usage("westus")}
    assert (used["standardDSv2Family"], used["total"], used["computes"]) == (8, 8, 1)


def test_nobody_else_has_a_name_of_this_workspace(backend: Backend) -> None:
    assert isinstance(backend, SupportsNames)
    put(backend, CPU, cluster())
    assert backend.taken({CPU: backend.location}) == {}


def test_code_is_found_by_its_hash(backend: Backend) -> None:
    assert isinstance(backend, SupportsCode)
    code = Address("code", "c0de", None, "1")
    hashed = {"hash_sha256": "abc", "hash_version": "202208"}
    put(backend, code, {"properties": {"codeUri": "https://blob/c", "properties": hashed}})
    assert backend.find_code("abc") == code
    assert backend.find_code("def") is None


@pytest.mark.slow
def test_ten_threads_put_a_hundred_clusters_and_nothing_is_lost(backend: Backend) -> None:
    addresses = [Address("compute", f"cluster-{chr(97 + n // 10)}{n % 10}x") for n in range(100)]
    none = {"maxNodeCount": 0, "minNodeCount": 0}
    with ThreadPoolExecutor(10) as pool:
        bodies = pool.map(lambda one: put(backend, one, cluster(scaleSettings=none)), addresses)
        states = {body["properties"]["provisioningState"] for body in bodies}
    assert states == {"Succeeded"}
    assert set(backend.read(addresses)) == set(addresses)
