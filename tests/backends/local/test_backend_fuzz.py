"""Whatever arrives, the local backend answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, ServiceError
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, stage
from tests.builders.simulated import refused
from tests.builders.workspace import SCOPE

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
KEYS = [
    "location",
    "tags",
    "identity",
    "type",
    "userAssignedIdentities",
    "properties",
    "computeType",
    "vmSize",
    "vmPriority",
    "scaleSettings",
    "maxNodeCount",
    "minNodeCount",
    "nodeIdleTimeBeforeScaleDown",
    "subnet",
    "id",
    "osType",
    "userAccountCredentials",
    "adminUserName",
    "authMode",
    "defaults",
    "deploymentName",
    "model",
    "assetId",
    "referenceType",
    "compute",
    "environmentId",
    "codeConfiguration",
    "codeId",
    "retrySettings",
    "timeout",
    "resources",
    "instanceCount",
    "errorThreshold",
    "outputAction",
    "loggingLevel",
    "environmentVariables",
    "deploymentConfiguration",
    "componentId",
    "modelUri",
    "image",
    "componentSpec",
    "codeUri",
    "isArchived",
]
junk = st.recursive(
    json_values | st.sampled_from(["AmlCompute", "Standard_DS3_v2", "UserAssigned", "azureml:m:1"]),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), junk, max_size=5), st.integers(0, 6))
def test_any_body_is_taken_or_refused_and_never_a_crash(body: dict[str, Any], which: int) -> None:
    local = LocalBackend(":memory:", SCOPE)
    stage(local)
    versioned = [Address(kind, "x", None, "1") for kind in ("code", "component", "environment")]
    address = [CPU, ENDPOINT, BLUE, MODEL, *versioned][which]
    if which == 0:
        body = {**body, "properties": {"computeType": "amlcompute", "properties": body}}
    try:
        local.put(address, body).wait()
    except ServiceError:
        assert not isinstance(refused(local.put, address, body), NotFound) or which == 2
    local.close()
