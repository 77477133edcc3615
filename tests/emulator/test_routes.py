"""Laws: whatever is asked, the answer is one, and says so in JSON."""

from __future__ import annotations

import json
import string
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.emulator import Request
from mlctl.emulator.routes import ROUTES
from mlctl.pointer import Data
from tests.builders.emulator import (
    BASE,
    CLUSTER,
    VERSION,
    WS,
    deployment,
    with_deployment,
    world,
)

METHODS = st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"])
NAMES = st.one_of(
    st.sampled_from(["cpu", "scoring", "blue", "m", "1", "sub", "rg", "ws"]),
    st.text(string.ascii_letters + "-_.~%:;é", min_size=1, max_size=8),
)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def paths(draw: st.DrawFn) -> str:
    pattern = draw(st.sampled_from([route.pattern for route in ROUTES]))
    parts = [draw(NAMES) if part[:1] == "{" else part for part in pattern.split("/")]
    return "/" + "/".join(quote(part) for part in parts if part)


@st.composite
def spoilt(draw: st.DrawFn, body: dict[str, Any]) -> Data:
    """A good body with any one of its values replaced by anything."""
    copy = json.loads(json.dumps(body))
    at: Any = copy
    while True:
        key = draw(st.sampled_from(sorted(at)))
        if not isinstance(at[key], dict) or not at[key] or draw(st.booleans()):
            at[key] = draw(VALUES)
            return copy
        at = at[key]


@pytest.mark.slow
@given(METHODS, paths(), st.one_of(VALUES.map(json.dumps), st.text()).map(str.encode))
@settings(max_examples=3 * settings().max_examples)
def test_any_request_gets_an_answer_and_never_a_bug(method: str, path: str, body: bytes) -> None:
    here = with_deployment()
    response = here.emulator(Request.to(method, f"{BASE}{path}?{VERSION}", {}, body))
    assert response.status < 500
    bodiless = "/computes/" in path  # as recorded (compute-get-404)
    assert response.status < 400 or bodiless or b"code" in response.body.lower()


FULL = {
    "location": "eastus",
    "tags": {"a": "b"},
    "identity": {"type": "UserAssigned", "userAssignedIdentities": {"/subscriptions/x": {}}},
    "properties": {
        "computeType": "AmlCompute",
        "description": "d",
        "disableLocalAuth": True,
        "properties": {
            "vmSize": "STANDARD_DS3_V2",
            "vmPriority": "LowPriority",
            "osType": "Linux",
            "scaleSettings": {
                "minNodeCount": 0,
                "maxNodeCount": 4,
                "nodeIdleTimeBeforeScaleDown": "PT2M",
            },
            "subnet": {"id": "/subscriptions/x"},
            "userAccountCredentials": {"adminUserName": "me", "adminUserPassword": "p"},
            "remoteLoginPortPublicAccess": "Enabled",
            "enableNodePublicIp": True,
        },
    },
}
ENDPOINT = {
    "location": "eastus",
    "tags": {"a": "b"},
    "properties": {
        "authMode": "aadToken",
        "defaults": {"deploymentName": "blue"},
        "properties": {"k": "v"},
    },
}
DEPLOYMENT = deployment(
    codeConfiguration={"codeId": f"{WS}/codes/c/versions/1", "scoringScript": "s.py"},
    environmentId=f"{WS}/environments/e/versions/1",
    deploymentConfiguration={
        "deploymentConfigurationType": "Model",
        "componentId": {"assetId": f"{WS}/components/c/versions/1"},
        "settings": {},
    },
    retrySettings={"maxRetries": 3, "timeout": "PT30S"},
    resources={"instanceCount": 1, "properties": {}},
    environmentVariables={"A": "1"},
    outputAction="AppendRow",
    outputFileName="o.csv",
    loggingLevel="Info",
    errorThreshold=-1,
    miniBatchSize=10,
    maxConcurrencyPerInstance=1,
    properties={},
)


@pytest.mark.slow
@given(spoilt(FULL))
@settings(max_examples=2 * settings().max_examples)
def test_a_cluster_of_any_values_is_taken_or_refused(body: Data) -> None:
    assert world().put(f"{WS}/computes/cpu", body).status < 500


@given(spoilt(ENDPOINT))
def test_an_endpoint_of_any_values_is_taken_or_refused(body: Data) -> None:
    assert with_deployment().put(f"{WS}/batchEndpoints/scoring", body).status < 500


@pytest.mark.slow
@given(spoilt(DEPLOYMENT))
@settings(max_examples=2 * settings().max_examples)
def test_a_deployment_of_any_values_is_taken_or_refused(body: Data) -> None:
    here = with_deployment()
    assert here.put(f"{WS}/batchEndpoints/scoring/deployments/blue", body).status < 500


@given(spoilt({"properties": {"modelUri": "u", "tags": {}, "properties": {}, "flavors": {}}}))
def test_a_model_of_any_values_is_taken_or_refused(body: Data) -> None:
    assert world().put(f"{WS}/models/m/versions/1", body).status < 500


def test_the_bodies_that_are_spoilt_are_good_ones() -> None:
    here = with_deployment()
    assert here.put(f"{WS}/computes/other", FULL).status == 201
    assert here.put(f"{WS}/batchEndpoints/scoring", ENDPOINT).status == 200
    assert here.put(f"{WS}/computes/plain", CLUSTER).status == 201
