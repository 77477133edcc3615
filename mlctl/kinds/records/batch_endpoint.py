"""Batch endpoints."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

# As recorded: all three in batch-endpoint-get-2023, the last two in batch-endpoint-get.
_OWN_PROPERTIES = (
    "AzureAsyncOperationUri",
    "BatchEndpointCreationApiVersion",
    "azureml.onlineendpointid",
)


def _inferred(data: Mapping[str, Data]) -> bool:
    if "endpoint_name" in data:
        return False  # if so, it is a deployment
    defaults = data.get("defaults")
    by_token = str(data.get("auth_mode", "")).replace("_", "").casefold() == "aadtoken"
    return by_token or (isinstance(defaults, dict) and "deployment_name" in defaults)


KIND = Kind(
    name="batch-endpoint",
    schema_name="batchEndpoint",
    collection="batchEndpoints",
    inferred=_inferred,
    arm=facts.ArmFacts(
        tracked=True,
        unique_in_region=True,
        patchable=(("tags",), ("identity",)),
        service_fields=tuple(("properties", "properties", key) for key in _OWN_PROPERTIES),
        delay="endpoint",
    ),
    quota=facts.QuotaFacts(
        claims=lambda _value, region: {(region, limits.ENDPOINTS_QUOTA): facts.Claim()}
    ),
    plan=facts.PlanFacts(
        routes=(("defaults", "deployment_name"),),
        routing="default deployment",
        named_in_jobs=("endpointName",),
        loss="its deployments are deleted with it",
    ),
)
