"""What the service computes in answers about clusters and compute instances."""

from __future__ import annotations

from mlctl.emulator.shapes.shape import Phase, ResponseField, computed, dotnet_time
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state import clock


@computed
def _batch_cluster(field: ResponseField) -> Data:
    """The underlying cluster of Azure Batch, shown only while a cluster is being changed."""
    address = field.occasion.address
    if address is None or field.occasion.phase is not Phase.CHANGING:
        return None
    scope = field.occasion.call.scope
    return (
        f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        f"/providers/Microsoft.BatchAI/workspaces/{scope.workspace}/clusters/{address.name}"
    )


@computed
def _port(field: ResponseField) -> Data:
    """What was sent, until the service has settled what `NotSpecified` means."""
    if field.occasion.phase is Phase.DONE:
        return field.stored
    return field.sent or "NotSpecified"


@computed
def _compute_state(field: ResponseField) -> Data:
    """A PUT over a cluster is shown as `Creating`, too; a PATCH is not."""
    overwritten = field.occasion.call.request.method == "PUT"
    is_put = overwritten and field.occasion.phase is Phase.CHANGING
    return "Creating" if is_put else field.occasion.state


@computed
def _creator(field: ResponseField) -> Data:
    call = field.occasion.call
    return {"userOrgId": call.guid("tenant"), "userId": call.guid("user")}


@computed
def _applications(field: ResponseField) -> Data:
    address, region = field.occasion.address, field.occasion.call.state.location
    host = f"https://{address.name if address else ''}.{region}.instances.azureml.ms"
    return [
        {"displayName": "Jupyter", "endpointUri": f"{host}/tree/"},
        {"displayName": "Jupyter Lab", "endpointUri": f"{host}/lab"},
    ]


@computed
def _creation(field: ResponseField) -> Data:
    return {
        "operationName": "Create",
        "operationTime": dotnet_time(clock.iso(control.now(field.occasion.call.handle))),
        "operationStatus": "Succeeded",
        "operationTrigger": "User",
    }
