"""Online endpoints and their deployments, as recorded in 2022, 2024 and 2026."""

from __future__ import annotations

from mlctl.emulator.shapes.batch import SYSTEM_DATA
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Rule,
    Shape,
    if_set,
    null,
    omitted,
    once_created,
    otherwise,
    section,
    state,
    stored,
)
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data

_BRIEF = "2024-04-01"


def _operation(field: ResponseField) -> dict[str, Data]:
    """The property with the address of the operation that made it."""
    occasion = field.occasion
    address, call = occasion.address, occasion.call
    if address is None:
        return {}
    url = operation_url(call, address.kind, occasion.operation or 0)
    return {"AzureAsyncOperationUri": url}


def _is_brief(field: ResponseField) -> bool:
    """Whether less is shown: of a new endpoint, from the api-version of 2024 on."""
    new = field.occasion.phase is Phase.CREATING
    return new and field.occasion.api_version >= _BRIEF


def _unless_brief(rule: Rule) -> Rule:
    return lambda field: (omitted if _is_brief(field) else rule)(field)


def _system_data(field: ResponseField) -> Data:
    return {} if _is_brief(field) else section(SYSTEM_DATA)(field)


def _own_properties(field: ResponseField) -> Data:
    occasion = field.occasion
    address, scope = occasion.address, occasion.call.scope
    endpoint_id = (
        f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
        f"/onlineendpoints/{address.name if address else ''}"
    )
    id_property = {} if _is_brief(field) else {"azureml.onlineendpointid": endpoint_id}
    return {**(field.stored or {}), **id_property, **_operation(field)}


def _host_url(path: str) -> Rule:
    """A URL at the host that an endpoint has once it is there."""

    def value(field: ResponseField) -> Data:
        address = field.occasion.address
        region = field.occasion.call.state.location
        return f"https://{address.name if address else ''}.{region}.inference.ml.azure.com/{path}"

    return once_created(value, null)


ONLINE_ENDPOINT: Shape = {
    "id": stored,
    "name": stored,
    "type": stored,
    "properties": section(
        {
            "description": stored,
            "properties": _own_properties,
            "scoringUri": _host_url("score"),
            "swaggerUri": _host_url("swagger.json"),
            "authMode": otherwise("Key"),
            "provisioningState": state,
            "compute": stored,
            "traffic": otherwise({}),
            "mirrorTraffic": otherwise({}),
            "publicNetworkAccess": otherwise("Enabled"),
        }
    ),
    "systemData": _system_data,
    "tags": otherwise({}),
    "location": _unless_brief(stored),
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
    "id": stored,
    "name": stored,
    "type": stored,
    "properties": section(
        {
            "description": stored,
            "properties": lambda field: {**(field.stored or {}), **_operation(field)},
            "codeConfiguration": stored,
            "environmentId": stored,
            "environmentVariables": otherwise({}),
            "scaleSettings": otherwise({"scaleType": "Default"}),
            "requestSettings": otherwise(
                {
                    "maxQueueWait": "PT0S",
                    "requestTimeout": "PT5S",
                    "maxConcurrentRequestsPerInstance": 1,
                }
            ),
            "modelMountPath": stored,
            "appInsightsEnabled": otherwise(default=False),
            "livenessProbe": otherwise(_PROBE),
            "readinessProbe": otherwise(_PROBE),
            "provisioningState": state,
            "instanceType": stored,
            "model": stored,
            "egressPublicNetworkAccess": otherwise("Enabled"),
            "dataCollector": stored,
            "endpointComputeType": otherwise("Managed"),
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "kind": otherwise("Managed"),
    "sku": section(
        {"name": otherwise("Default"), "tier": otherwise("Standard"), "capacity": stored}
    ),
}
