"""Clusters, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.shape import (
    Phase,
    Place,
    Shape,
    always,
    as_sent,
    held,
    if_any,
    if_set,
    null,
    omitted,
    once_created,
    or_null,
    otherwise,
    section,
    state,
    time,
    when_done,
)
from mlctl.pointer import Data


def batch_cluster(place: Place) -> Data:
    """The cluster of Azure Batch beneath, which is told only while a cluster is being changed."""
    address = place.occasion.address
    if address is None or place.occasion.phase is not Phase.CHANGING:
        return None
    scope = place.occasion.call.scope
    return (
        f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        f"/providers/Microsoft.BatchAI/workspaces/{scope.workspace}/clusters/{address.name}"
    )


def _port(place: Place) -> Data:
    """What was sent, until the service has settled what `NotSpecified` means."""
    if place.occasion.phase is Phase.DONE:
        return place.stored
    return place.sent or "NotSpecified"


def compute_state(place: Place) -> Data:
    """A PUT over a cluster is told as `Creating`, too; a PATCH is not."""
    overwritten = place.occasion.call.request.method == "PUT"
    return "Creating" if overwritten and place.occasion.phase is Phase.CHANGING else state(place)


_COUNTS = ("preparing", "running", "idle", "unusable", "leaving", "preempted")
_ACCOUNT: Shape = {"adminUserName": held, "adminUserPassword": null, "adminUserSshPublicKey": held}
_NODES: Shape = {
    "vmSize": held,
    "vmPriority": once_created(held, as_sent(held)),
    "scaleSettings": section(
        {
            "maxNodeCount": held,
            "minNodeCount": held,
            "nodeIdleTimeBeforeScaleDown": as_sent(held),
        }
    ),
    "userAccountCredentials": when_done(if_any(_ACCOUNT, omitted), omitted),
    "subnet": held,
    "currentNodeCount": when_done(held),
    "targetNodeCount": when_done(held),
    "nodeStateCounts": when_done(section({f"{name}NodeCount": held for name in _COUNTS})),
    "allocationState": when_done(held),
    "allocationStateTransitionTime": when_done(time, omitted),
    "errors": null,
    "remoteLoginPortPublicAccess": _port,
    "osType": held,
    "virtualMachineImage": held,
    "isolatedNetwork": held,
    "enableNodePublicIp": held,
    "enableBatchPrivateLink": always(value=False),
    "propertyBag": when_done(otherwise({}), omitted),
}
COMPUTE: Shape = {
    "id": held,
    "name": held,
    "type": held,
    "location": held,
    "tags": once_created(otherwise({}), as_sent(held)),
    "identity": if_set,
    "systemData": omitted,
    "properties": section(
        {
            "createdOn": time,
            "modifiedOn": time,
            "disableLocalAuth": held,
            "description": held,
            "resourceId": batch_cluster,
            "computeType": held,
            "computeLocation": once_created(held, omitted),
            "provisioningState": compute_state,
            "provisioningErrors": or_null,
            "provisioningWarnings": once_created(always({})),
            "isAttachedCompute": held,
            "properties": section(_NODES),
        }
    ),
}
