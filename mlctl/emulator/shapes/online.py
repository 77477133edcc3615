"""Online endpoints and their deployments, as recorded in 2022, 2024 and 2026."""

from __future__ import annotations

from mlctl.emulator.shapes.batch_endpoint import SYSTEM_DATA
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    Phase,
    Place,
    Rule,
    Shape,
    held,
    if_set,
    null,
    omitted,
    once_created,
    otherwise,
    section,
    state,
)
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data

_BRIEF = "2024-04-01"


def _operation(place: Place) -> dict[str, Data]:
    """The property that tells the address of the operation that made it."""
    occasion = place.occasion
    address, call = occasion.address, occasion.call
    if address is None:
        return {}
    url = operation_url(call, address.kind, occasion.operation or 0)
    return {"AzureAsyncOperationUri": url}


def _is_brief(place: Place) -> bool:
    """Whether less is told: of a new endpoint, to who asks with the api-version of 2024."""
    new = place.occasion.phase is Phase.CREATING
    return new and place.occasion.api_version >= _BRIEF


def _unless_brief(rule: Rule) -> Rule:
    return lambda place: (omitted if _is_brief(place) else rule)(place)


def _system_data(place: Place) -> Data:
    return {} if _is_brief(place) else section(SYSTEM_DATA)(place)


def _own_properties(place: Place) -> Data:
    occasion = place.occasion
    address, scope = occasion.address, occasion.call.scope
    endpoint_id = (
        f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
        f"/onlineendpoints/{address.name if address else ''}"
    )
    id_property = {} if _is_brief(place) else {"azureml.onlineendpointid": endpoint_id}
    return {**(place.stored or {}), **id_property, **_operation(place)}


def _at_host(path: str) -> Rule:
    """A URL at the host that an endpoint has once it is there."""

    def told(place: Place) -> Data:
        address = place.occasion.address
        region = place.occasion.call.state.location
        return f"https://{address.name if address else ''}.{region}.inference.ml.azure.com/{path}"

    return once_created(told, null)


ONLINE_ENDPOINT: Shape = {
    "id": held,
    "name": held,
    "type": held,
    "properties": section(
        {
            "description": held,
            "properties": _own_properties,
            "scoringUri": _at_host("score"),
            "swaggerUri": _at_host("swagger.json"),
            "authMode": otherwise("Key"),
            "provisioningState": state,
            "compute": held,
            "traffic": otherwise({}),
            "mirrorTraffic": otherwise({}),
            "publicNetworkAccess": otherwise("Enabled"),
        }
    ),
    "systemData": _system_data,
    "tags": otherwise({}),
    "location": _unless_brief(held),
    "kind": otherwise("Managed"),
    "identity": _unless_brief(if_set),
}
_PROBE = {
    "failureThreshold": 30,
    "successThreshold": 1,
    "timeout": "PT2S",
    "period": "PT10S",
    "initialDelay": "PT10S",
}
ONLINE_DEPLOYMENT: Shape = {
    "id": held,
    "name": held,
    "type": held,
    "properties": section(
        {
            "description": held,
            "properties": lambda place: {**(place.stored or {}), **_operation(place)},
            "codeConfiguration": held,
            "environmentId": held,
            "environmentVariables": otherwise({}),
            "scaleSettings": otherwise({"scaleType": "Default"}),
            "requestSettings": otherwise(
                {
                    "maxQueueWait": "PT0S",
                    "requestTimeout": "PT5S",
                    "maxConcurrentRequestsPerInstance": 1,
                }
            ),
            "modelMountPath": held,
            "appInsightsEnabled": otherwise(default=False),
            "livenessProbe": otherwise(_PROBE),
            "readinessProbe": otherwise(_PROBE),
            "provisioningState": state,
            "instanceType": held,
            "model": held,
            "egressPublicNetworkAccess": otherwise("Enabled"),
            "dataCollector": held,
            "endpointComputeType": otherwise("Managed"),
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": held,
    "kind": otherwise("Managed"),
    "sku": section({"name": otherwise("Default"), "tier": otherwise("Standard"), "capacity": held}),
}
