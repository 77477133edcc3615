"""Online endpoints and their deployments, as recorded in 2022, 2024 and 2026."""

from __future__ import annotations

from mlctl.emulator.shapes.batch_endpoint import SYSTEM_DATA
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    Place,
    Rule,
    Shape,
    held,
    if_set,
    null,
    once_created,
    otherwise,
    section,
    state,
)
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data


def _operation(place: Place) -> dict[str, Data]:
    """The property that tells the address of the operation that made it."""
    occasion = place.occasion
    address, call = occasion.address, occasion.call
    if address is None:
        return {}
    url = operation_url(call, address.kind, occasion.operation or 0)
    return {"AzureAsyncOperationUri": url}


def _own_properties(place: Place) -> Data:
    occasion = place.occasion
    address, scope = occasion.address, occasion.call.scope
    own = (
        f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
        f"/onlineendpoints/{address.name if address else ''}"
    )
    return {**(place.stored or {}), "azureml.onlineendpointid": own, **_operation(place)}


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
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": held,
    "kind": otherwise("Managed"),
    "identity": if_set,
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
    "sku": held,
}
