"""The law that matters most: putting back what was read is accepted, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope

SCOPE = Scope("sub", "rg", "ws")
CPU = Address("compute", "cpu-cluster")
ENDPOINT = Address("batch-endpoint", "heart-batch")
BLUE = Address("batch-deployment", "blue", "heart-batch")
MODEL = Address("model", "heart", None, "1")
ENVIRONMENT = Address("environment", "sklearn", None, "3")
CODE = Address("code", "c0de", None, "1")
COMPONENT = Address("component", "train", None, "1")

texts = st.text("abcÄ ß'\"\\/:{}\n0", min_size=1, max_size=8)
maps = st.dictionaries(texts, texts, max_size=3)
free = st.dictionaries(texts, texts | st.integers() | st.booleans(), max_size=3)
durations = st.integers(1, 10**6).flatmap(
    lambda n: st.sampled_from([f"PT{n}S", f"PT{n}M", f"P1DT{n}H", f"P0Y0M0DT0H{n}M0S", f"P{n}D"])
)
identities = st.sampled_from(
    [
        {"type": "SystemAssigned"},
        {"type": "none"},
        {"type": "userassigned", "userAssignedIdentities": {"/Subscriptions/s/u1": {}}},
        {
            "type": "SystemAssigned, UserAssigned",
            "userAssignedIdentities": {"/subscriptions/s/resourcegroups/r/u2": {}, "/x/u1": {}},
        },
    ]
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of the fields, null now and then."""
    return st.fixed_dictionaries({}, optional={k: v | st.none() for k, v in fields.items()})


def nested(required: dict[str, Any], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({key: st.just(value) for key, value in required.items()}).flatmap(
        lambda base: inner.map(lambda extra: {**extra, **base})
    )


scale = st.integers(0, 5).flatmap(
    lambda least: some(nodeIdleTimeBeforeScaleDown=durations).map(
        lambda idle: {"minNodeCount": least, "maxNodeCount": least + 2, **idle}
    )
)
clusters = nested(
    {"computeType": "amlcompute"},
    some(
        description=texts,
        disableLocalAuth=st.booleans(),
        properties=some(
            vmSize=st.sampled_from(["Standard_DS1_v2", "standard_ds2_V2", "STANDARD_D8S_V5"]),
            vmPriority=st.sampled_from(["dedicated", "LowPriority", "Lowpriority"]),
            scaleSettings=scale,
            remoteLoginPortPublicAccess=st.sampled_from(["Enabled", "disabled", "NotSpecified"]),
            enableNodePublicIp=st.booleans(),
            subnet=st.sampled_from([{}, {"id": "/subscriptions/s/resourcegroups/r/v/subnets/d"}]),
            userAccountCredentials=st.just({"adminUserName": "u", "adminUserPassword": "p"}),
            isolatedNetwork=st.booleans(),
            unheardOf=free,
        ),
    ),
)
endpoints = some(
    authMode=st.sampled_from(["aadToken", "AADToken", "key"]),
    description=texts,
    properties=free,
    defaults=st.sampled_from([{}, {"deploymentName": None}, {"deploymentName": "BLUE"}]),
)
deployments = some(
    description=texts,
    compute=st.sampled_from([CPU.id(SCOPE), CPU.id(SCOPE).lower(), "azureml:cpu-cluster"]),
    model=st.sampled_from(
        [
            {"assetId": MODEL.id(SCOPE), "referenceType": "id"},
            {"assetId": "azureml://registries/r/models/m/versions/1", "referenceType": "Id"},
            {"path": "azureml://datastores/d/paths/p", "referenceType": "DataPath"},
        ]
    ),
    environmentId=st.just(ENVIRONMENT.id(SCOPE)),
    codeConfiguration=st.just({"codeId": CODE.id(SCOPE), "scoringScript": "score.py"}),
    outputAction=st.sampled_from(["AppendRow", "summaryonly"]),
    outputFileName=texts,
    errorThreshold=st.integers(-1, 9),
    loggingLevel=st.sampled_from(["info", "WARNING"]),
    miniBatchSize=st.integers(1, 99),
    maxConcurrencyPerInstance=st.integers(1, 9),
    retrySettings=some(maxRetries=st.integers(0, 9), timeout=durations),
    resources=some(instanceCount=st.integers(1, 9), instanceType=texts, properties=st.just({})),
    environmentVariables=free,
    properties=free,
    deploymentConfiguration=st.none()
    | st.just(
        {
            "deploymentConfigurationType": "pipelinecomponent",
            "componentId": {"assetId": COMPONENT.id(SCOPE), "referenceType": "Id"},
            "settings": {"default_compute": "cpu-cluster"},
        }
    ),
)
notes = {"description": texts, "tags": free, "properties": free, "isArchived": st.booleans()}
models = nested({"modelUri": "azureml://m"}, some(modelType=texts, flavors=st.just({}), **notes))
environments = nested({"image": "mcr/ubuntu:1"}, some(condaFile=texts, osType=texts, **notes))
codes = nested({"codeUri": "https://blob/c"}, some(**notes))
components = nested({"componentSpec": {"a": [1, None]}}, some(isAnonymous=st.booleans(), **notes))

KINDS = {
    MODEL: models,
    ENVIRONMENT: environments,
    CODE: codes,
    COMPONENT: components,
    CPU: clusters,
    ENDPOINT: endpoints.map(lambda properties: {**properties, "defaults": None}),
    BLUE: deployments.filter(lambda one: one.get("model") or one.get("deploymentConfiguration")),
}
tops = some(tags=maps, identity=identities, location=st.sampled_from(["East US", "eastus"]))
worlds = st.fixed_dictionaries({address: st.tuples(tops, one) for address, one in KINDS.items()})


@pytest.mark.slow
@settings(deadline=None)
@given(worlds, tops, endpoints)
def test_putting_back_what_was_read_changes_nothing(
    world: dict[Address, tuple[Any, Any]], top: Any, properties: Any
) -> None:
    backend = LocalBackend(":memory:", SCOPE)
    for address in KINDS:  # those that others name come first
        outer, inner = world[address]
        backend.put(address, {**outer, "properties": inner}).wait()
    inner = {**properties, "properties": None}
    backend.put(ENDPOINT, {**top, "properties": inner, "location": None}).wait()
    before = backend.read(world)
    for address, live in before.items():
        backend.put(address, live.body).wait()
    after = backend.read(world)
    for each in (before[CPU], after[CPU]):  # every write of a cluster is a change, but of nothing
        each.body["properties"].pop("modifiedOn")
    assert after == before
    assert set(before) == set(world)
    backend.close()
