"""Workspaces, as recorded (api-versions 2023-04-01 and 2023-08-01-preview)."""

from __future__ import annotations

from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes.shape import (
    Place,
    Rule,
    Shape,
    always,
    held,
    if_set,
    null,
    otherwise,
    preview_since,
    section,
    since,
)
from mlctl.pointer import Data

_MORE = "2023-08"  # the first previews with search, safety and software bills


def _beside(provider: str) -> Rule:
    """The id of a resource of another provider that a workspace was made with."""

    def told(place: Place) -> Data:
        if place.stored is not None:
            return place.stored
        scope = place.occasion.call.scope
        group = f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        return f"{group}/providers/{provider}/{scope.workspace.lower()}"

    return told


def _named(place: Place) -> Data:
    return place.occasion.call.scope.workspace if place.stored is None else place.stored


def _notebooks(place: Place) -> Data:
    call = place.occasion.call
    name = call.guid("workspace")
    return {
        "resourceId": name.replace("-", ""),
        "fqdn": f"ml-{name}.{call.state.location}.notebooks.azure.net",
        "isPrivateLinkEnabled": False,
        "notebookPreparationError": None,
    }


def _not_started(*keys: str) -> Rule:
    body = {"provisioningState": "NotStarted", **dict.fromkeys(keys)}
    return preview_since(_MORE, always(body))


_ELSEWHERE = ("resourceId", "endpoint", "failureReason")
WORKSPACE: Shape = {
    "id": held,
    "name": held,
    "type": held,
    "location": held,
    "tags": otherwise({}),
    "etag": null,
    "properties": section(
        {
            "friendlyName": _named,
            "description": otherwise(""),
            "storageAccount": _beside("Microsoft.Storage/storageAccounts"),
            "keyVault": _beside("Microsoft.Keyvault/vaults"),
            "applicationInsights": _beside("Microsoft.insights/components"),
            "hbiWorkspace": otherwise(default=False),
            "tenantId": always(TENANT),
            "imageBuildCompute": held,
            "provisioningState": always("Succeeded"),
            "managedNetwork": otherwise(
                {"changeableIsolationModes": [], "isolationMode": "Disabled"}
            ),
            "v1LegacyMode": otherwise(default=False),
            "softDeleteEnabled": otherwise(default=False),
            "containerRegistry": if_set,
            "creationTime": held,
            "notebookInfo": _notebooks,
            "storageHnsEnabled": otherwise(default=False),
            "workspaceId": held,
            "linkedModelInventoryArmId": null,
            "privateLinkCount": always(0),
            "publicNetworkAccess": otherwise("Enabled"),
            "ipAllowlist": since(_MORE, otherwise([])),
            "discoveryUrl": held,
            "mlFlowTrackingUri": held,
            "serverlessComputeSettings": since(_MORE, held),
            "EnableSoftwareBillOfMaterials": preview_since(_MORE, always(value=False)),
            "sdkTelemetryAppInsightsKey": lambda place: place.occasion.call.guid("telemetry"),
            "sasGetterUri": preview_since(_MORE, always("")),
            "enableDataIsolation": otherwise(default=False),
            "azureOpenAI": preview_since(
                _MORE,
                always(
                    {
                        "provisioningState": "NotStarted",
                        **dict.fromkeys((*_ELSEWHERE, "proxyResourceId")),
                        "deployedModels": [],
                    }
                ),
            ),
            "azureCognitiveSearch": _not_started(*_ELSEWHERE),
            "azureAIContentSafety": _not_started(*_ELSEWHERE),
            "endpointResources": preview_since(_MORE, always({})),
        }
    ),
    "identity": held,
    "kind": otherwise("Default"),
    "sku": otherwise({"name": "Basic", "tier": "Basic"}),
    "systemData": held,
}
