"""Workspaces, as recorded (api-versions 2023-04-01 and 2023-08-01-preview)."""

from __future__ import annotations

from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes.shape import (
    ResponseField,
    Rule,
    Shape,
    always,
    if_set,
    null,
    otherwise,
    preview_since,
    section,
    since,
    stored,
)
from mlctl.pointer import Data

_MORE = "2023-08"  # the first previews with search, safety and software bills


def _companion_id(provider: str) -> Rule:
    """The id of a resource of another provider that a workspace was made with."""

    def value(field: ResponseField) -> Data:
        if field.stored is not None:
            return field.stored
        scope = field.occasion.call.scope
        group = f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        return f"{group}/providers/{provider}/{scope.workspace.lower()}"

    return value


def _friendly_name(field: ResponseField) -> Data:
    return field.occasion.call.scope.workspace if field.stored is None else field.stored


def _notebooks(field: ResponseField) -> Data:
    call = field.occasion.call
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
    "id": stored,
    "name": stored,
    "type": stored,
    "location": stored,
    "tags": otherwise({}),
    "etag": null,
    "properties": section(
        {
            "friendlyName": _friendly_name,
            "description": otherwise(""),
            "storageAccount": _companion_id("Microsoft.Storage/storageAccounts"),
            "keyVault": _companion_id("Microsoft.Keyvault/vaults"),
            "applicationInsights": _companion_id("Microsoft.insights/components"),
            "hbiWorkspace": otherwise(default=False),
            "tenantId": always(TENANT),
            "imageBuildCompute": stored,
            "provisioningState": always("Succeeded"),
            "managedNetwork": otherwise(
                {"changeableIsolationModes": [], "isolationMode": "Disabled"}
            ),
            "v1LegacyMode": otherwise(default=False),
            "softDeleteEnabled": otherwise(default=False),
            "containerRegistry": if_set,
            "creationTime": stored,
            "notebookInfo": _notebooks,
            "storageHnsEnabled": otherwise(default=False),
            "workspaceId": stored,
            "linkedModelInventoryArmId": null,
            "privateLinkCount": always(0),
            "publicNetworkAccess": otherwise("Enabled"),
            "ipAllowlist": since(_MORE, otherwise([])),
            "discoveryUrl": stored,
            "mlFlowTrackingUri": stored,
            "serverlessComputeSettings": since(_MORE, stored),
            "EnableSoftwareBillOfMaterials": preview_since(_MORE, always(value=False)),
            "sdkTelemetryAppInsightsKey": lambda field: field.occasion.call.guid("telemetry"),
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
    "identity": stored,
    "kind": otherwise("Default"),
    "sku": otherwise({"name": "Basic", "tier": "Basic"}),
    "systemData": stored,
}
