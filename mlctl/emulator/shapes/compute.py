"""Clusters and compute instances, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from collections.abc import Callable

from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Rule,
    Shape,
    always,
    as_sent,
    dotnet_time,
    if_any,
    if_set,
    keys,
    null,
    omitted,
    once_created,
    or_null,
    otherwise,
    section,
    since,
    state,
    stored,
    time,
    versions,
    when_done,
)
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state import clock


def batch_cluster(field: ResponseField) -> Data:
    """The underlying cluster of Azure Batch, shown only while a cluster is being changed."""
    address = field.occasion.address
    if address is None or field.occasion.phase is not Phase.CHANGING:
        return None
    scope = field.occasion.call.scope
    return (
        f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        f"/providers/Microsoft.BatchAI/workspaces/{scope.workspace}/clusters/{address.name}"
    )


def _port(field: ResponseField) -> Data:
    """What was sent, until the service has settled what `NotSpecified` means."""
    if field.occasion.phase is Phase.DONE:
        return field.stored
    return field.sent or "NotSpecified"


def compute_state(field: ResponseField) -> Data:
    """A PUT over a cluster is shown as `Creating`, too; a PATCH is not."""
    overwritten = field.occasion.call.request.method == "PUT"
    return "Creating" if overwritten and field.occasion.phase is Phase.CHANGING else state(field)


_LATER = "2022"  # the first api-versions with warnings, property bags and links of Batch
_COUNTS = ("preparing", "running", "idle", "unusable", "leaving", "preempted")
_ACCOUNT: Shape = {
    "adminUserName": stored,
    "adminUserPassword": null,
    "adminUserSshPublicKey": stored,
}
_NODES: Shape = {
    "vmSize": stored,
    "vmPriority": once_created(stored, as_sent(stored)),
    "scaleSettings": section(
        {
            "maxNodeCount": stored,
            "minNodeCount": stored,
            "nodeIdleTimeBeforeScaleDown": as_sent(stored),
        }
    ),
    "userAccountCredentials": when_done(if_any(_ACCOUNT, omitted), omitted),
    "subnet": stored,
    "currentNodeCount": when_done(stored),
    "targetNodeCount": when_done(stored),
    "nodeStateCounts": when_done(section({f"{name}NodeCount": stored for name in _COUNTS})),
    "allocationState": when_done(stored),
    "allocationStateTransitionTime": when_done(time, omitted),
    "errors": null,
    "remoteLoginPortPublicAccess": _port,
    **keys(stored, "osType", "virtualMachineImage", "isolatedNetwork", "enableNodePublicIp"),
    "enableBatchPrivateLink": since(_LATER, always(value=False)),
    "propertyBag": since(_LATER, when_done(otherwise({}), omitted)),
}
_PROPERTIES: Shape = {
    "createdOn": time,
    "modifiedOn": time,
    "disableLocalAuth": stored,
    "description": stored,
    "resourceId": batch_cluster,
    "computeType": stored,
    "computeLocation": once_created(stored, omitted),
    "provisioningState": compute_state,
    "provisioningErrors": or_null,
    "provisioningWarnings": since(_LATER, once_created(always({}))),
    "isAttachedCompute": stored,
    "properties": section(_NODES),
}
COMPUTE: Shape = {
    **keys(stored, "id", "name", "type", "location"),
    "tags": once_created(otherwise({}), as_sent(stored)),
    "identity": if_set,
    "systemData": omitted,
    "properties": section(_PROPERTIES),
}


def _own(computed: Callable[[ResponseField], Data]) -> Rule:
    """What is stored, or else computed; null while an operation runs."""
    return when_done(lambda field: computed(field) if field.stored is None else field.stored)


def _creator(field: ResponseField) -> Data:
    call = field.occasion.call
    return {"userOrgId": call.guid("tenant"), "userId": call.guid("user")}


def _applications(field: ResponseField) -> Data:
    address, region = field.occasion.address, field.occasion.call.state.location
    host = f"https://{address.name if address else ''}.{region}.instances.azureml.ms"
    return [
        {"displayName": "Jupyter", "endpointUri": f"{host}/tree/"},
        {"displayName": "Jupyter Lab", "endpointUri": f"{host}/lab"},
    ]


def _creation(field: ResponseField) -> Data:
    return {
        "operationName": "Create",
        "operationTime": dotnet_time(clock.iso(control.now(field.occasion.call.handle))),
        "operationStatus": "Succeeded",
        "operationTrigger": "User",
    }


_ADDRESSES = {"publicIpAddress": "20.0.0.4", "privateIpAddress": "10.0.0.4"}
_SSH = {
    "sshPublicAccess": "Disabled",
    "adminUserName": "azureuser",
    "sshPort": 50000,
    "adminPublicKey": None,
}
_IMAGE: Shape = {
    "currentImageVersion": otherwise("24.06.10"),
    "latestImageVersion": otherwise("24.06.10"),
    "isLatestOsImageVersion": otherwise(default=True),
    "osPatchingStatus": stored,
}
_MACHINE: Shape = {
    "vmSize": stored,
    "imageVersion": stored,
    "imageSku": versions(null, preview="2023-08-01"),
    "subnet": stored,
    "sshSettings": when_done(section({key: otherwise(value) for key, value in _SSH.items()})),
    "autologgerSettings": stored,
    "errors": when_done(always([])),
    "connectivityEndpoints": when_done(otherwise(_ADDRESSES)),
    "applications": _own(_applications),
    "state": when_done(stored),
    "lastOperation": _own(_creation),
    "createdBy": lambda field: field.stored or _creator(field),
    "applicationSharingPolicy": when_done(otherwise("Shared")),
    **keys(stored, "computeInstanceAuthorizationType", "personalComputeInstanceSettings"),
    **keys(stored, "setupScripts"),
    "schedules": when_done(otherwise({"computeStartStop": []}), omitted),
    "enableNodePublicIp": otherwise(default=True),
    "enableBatchPrivateLink": always(value=False),
    "enableOSPatching": otherwise(default=False),
    "releaseQuotaOnStop": otherwise(default=False),
    "enableSSO": otherwise(default=True),
    **keys(stored, "dataMounts", "dataDisks", "containers"),
    "updateStatus": null,
    "versions": when_done(otherwise({"runtime": "3.0.02755.0006"})),
    "customServices": when_done(otherwise([])),
    "osImageMetadata": when_done(section(_IMAGE)),
}
COMPUTE_INSTANCE: Shape = {
    **COMPUTE,
    "properties": section(
        {
            **_PROPERTIES,
            "disableLocalAuth": otherwise(default=False),
            "provisioningErrors": null,
            "provisioningWarnings": once_created(always({})),
            "isAttachedCompute": always(value=False),
            "properties": section(_MACHINE),
        }
    ),
}
