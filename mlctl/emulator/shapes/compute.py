"""Clusters, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Shape,
    always,
    as_sent,
    if_any,
    if_set,
    null,
    omitted,
    once_created,
    or_null,
    otherwise,
    section,
    state,
    stored,
    time,
    when_done,
)
from mlctl.pointer import Data


def batch_cluster(field: ResponseField) -> Data:
    """The cluster of Azure Batch beneath, which is shown only while a cluster is being changed."""
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
    "osType": stored,
    "virtualMachineImage": stored,
    "isolatedNetwork": stored,
    "enableNodePublicIp": stored,
    "enableBatchPrivateLink": always(value=False),
    "propertyBag": when_done(otherwise({}), omitted),
}
COMPUTE: Shape = {
    "id": stored,
    "name": stored,
    "type": stored,
    "location": stored,
    "tags": once_created(otherwise({}), as_sent(stored)),
    "identity": if_set,
    "systemData": omitted,
    "properties": section(
        {
            "createdOn": time,
            "modifiedOn": time,
            "disableLocalAuth": stored,
            "description": stored,
            "resourceId": batch_cluster,
            "computeType": stored,
            "computeLocation": once_created(stored, omitted),
            "provisioningState": compute_state,
            "provisioningErrors": or_null,
            "provisioningWarnings": once_created(always({})),
            "isAttachedCompute": stored,
            "properties": section(_NODES),
        }
    ),
}
