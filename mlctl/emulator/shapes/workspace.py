"""Workspaces, as recorded in 2025 and 2026 (api-versions 2023-04-01 and 2023-08-01-preview).

And their connections and datastores, as recorded with api-version 2024-04-01.
"""

from __future__ import annotations

import re

from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import (
    ResponseField,
    Rule,
    Shape,
    always,
    if_set,
    keys,
    null,
    otherwise,
    preview_since,
    section,
    since,
    stored,
    until,
    versions,
)
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.datastores import OWN
from mlctl.simulator.control_plane.workspaces import companions

_MORE = "2023-08"  # the first previews with rules of networks and software bills


def _companion_id(key: str) -> Rule:
    """The id of a resource of another provider that a workspace was made with."""

    def value(field: ResponseField) -> Data:
        whole = companions(field.occasion.call.scope)
        return whole[key] if field.stored is None else field.stored

    return value


def _friendly_name(field: ResponseField) -> Data:
    return field.occasion.call.scope.workspace if field.stored is None else field.stored


def _notebooks(field: ResponseField) -> Data:
    call = field.occasion.call
    guid, region = call.guid("workspace"), call.state.location
    name = re.sub(r"[^a-z0-9]", "", call.scope.workspace.casefold())
    return {
        "resourceId": guid.replace("-", ""),
        "fqdn": f"ml-{name}-{region}-{guid}.{region}.notebooks.azure.net",
        "isPrivateLinkEnabled": False,
        "notebookPreparationError": None,
    }


_NETWORK = {
    "changeableIsolationModes": ["AllowInternetOutbound", "AllowOnlyApprovedOutbound"],
    "isolationMode": "Disabled",
    "enableNetworkMonitor": False,
    "enableFirewallLog": False,
}
_NETWORK_RULES = {
    "defaultAction": "Allow",
    "bypass": "",
    "ipRules": [],
    "resourceAccessRules": [],
}
WORKSPACE: Shape = {
    **keys(stored, "id", "name", "type", "location"),
    "tags": otherwise({}),
    "etag": null,
    "properties": section(
        {
            "friendlyName": _friendly_name,
            "description": otherwise(""),
            "storageAccount": _companion_id("storageAccount"),
            "keyVault": _companion_id("keyVault"),
            "applicationInsights": _companion_id("applicationInsights"),
            "hbiWorkspace": otherwise(default=False),
            "tenantId": always(TENANT),
            "imageBuildCompute": stored,
            "provisioningState": always("Succeeded"),
            "managedNetwork": otherwise(_NETWORK),
            "allowRoleAssignmentOnRG": otherwise(default=True),
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
            "networkAcls": preview_since(_MORE, otherwise(_NETWORK_RULES)),
            "discoveryUrl": stored,
            "mlFlowTrackingUri": stored,
            "serverlessComputeSettings": since(_MORE, stored),
            "EnableSoftwareBillOfMaterials": preview_since(_MORE, always(value=False)),
            "sdkTelemetryAppInsightsKey": lambda field: field.occasion.call.guid("telemetry"),
            "enableDataIsolation": otherwise(default=False),
            "systemDatastoresAuthMode": preview_since(_MORE, otherwise("accesskey")),
            "enableServiceSideCMKEncryption": preview_since(_MORE, otherwise(default=False)),
        }
    ),
    "identity": stored,
    "kind": otherwise("Default"),
    "sku": otherwise({"name": "Basic", "tier": "Basic"}),
    "systemData": stored,
}


_CONNECTED = "2023"  # before it a connection had four properties


def _later(rule: Rule) -> Rule:
    return since(_CONNECTED, rule)


def _either(before: Rule, rule: Rule) -> Rule:
    return lambda field: (rule if field.occasion.api_version >= _CONNECTED else before)(field)


CONNECTION: Shape = {
    "tags": stored,
    "location": null,
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "authType": stored,
            "group": _later(otherwise("Azure")),
            "category": stored,
            "expiryTime": _later(stored),
            "target": stored,
            "createdByWorkspaceArmId": _later(lambda field: field.occasion.call.scope.id),
            "useWorkspaceManagedIdentity": _later(otherwise(default=False)),
            "isSharedToAll": _later(otherwise(default=False)),
            "sharedUserList": _later(otherwise([])),
            "peRequirement": _later(otherwise("NotRequired")),
            "peStatus": _later(otherwise("NotApplicable")),
            "error": _later(null),
            "metadata": _either(stored, otherwise({})),
        }
    ),
    "systemData": _either(null, section(dict.fromkeys(SYSTEM_DATA, stored))),
}


def _of_service(rule: Rule) -> Rule:
    """Of what an application made, later versions do not say who did."""
    dated = until("2023", rule)

    def value(field: ResponseField) -> Data:
        address = field.occasion.address
        return dated(field) if address and address.name in OWN else rule(field)

    return value


def _account(field: ResponseField) -> Data:
    """The SDK makes `https://{accountName}.blob.core.windows.net` of it: an account name that is a
    host and a path leads the unmodified SDK to our own blobs, as Azurite's path-style URLs do."""
    address, call = field.occasion.address, field.occasion.call
    if address is None or address.name not in OWN:
        return if_set(field)
    return f"{call.request.base.partition('://')[2]}/blob/{field.stored}"


DATASTORE: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            **keys(stored, "description", "tags", "properties"),
            "isDefault": otherwise(default=False),
            "credentials": otherwise({"credentialsType": "None"}),
            "subscriptionId": versions(stored, stable="2023-10-01", preview="2022-10-01"),
            "resourceGroup": versions(stored, stable="2023-10-01", preview="2022-10-01"),
            "datastoreType": stored,
            "filesystem": if_set,
            "accountName": _account,
            **keys(if_set, "containerName", "fileShareName", "endpoint", "protocol"),
            "serviceDataAccessAuthIdentity": otherwise("None"),
        }
    ),
    "systemData": section(
        {
            **SYSTEM_DATA,
            "createdBy": _of_service(stored),
            "createdByType": _of_service(stored),
        }
    ),
}
