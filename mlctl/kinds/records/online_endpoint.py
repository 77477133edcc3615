"""Managed online endpoints."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.catalog import limits
from mlctl.kinds import facts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

# As recorded: online-endpoint-put-create.
_OWN_PROPERTIES = ("AzureAsyncOperationUri", "azureml.onlineendpointid")


def _inferred(data: Mapping[str, Data]) -> bool:
    by_key = str(data.get("auth_mode", "")).replace("_", "").casefold() in ("key", "amltoken")
    routed = by_key or "traffic" in data
    return routed and not data.keys() & {"endpoint_name", "compute", "type"}


KIND = Kind(
    name="online-endpoint",
    schema_name="managedOnlineEndpoint",
    collection="onlineEndpoints",
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
    content=facts.ContentFacts(
        # The SDK gives an identity to an endpoint without one.
        complete=lambda body, **_: {"identity": {"type": "SystemAssigned"}, **body}
    ),
    plan=facts.PlanFacts(
        routes=(("traffic",), ("mirror_traffic",)),
        routing="traffic",
        loss="its deployments are deleted with it, and requests to it fail",
    ),
)
