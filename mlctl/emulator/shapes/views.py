"""The bodies of resources in answers."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.assets import ASSETS
from mlctl.emulator.shapes.compute import COMPUTE, COMPUTE_INSTANCE
from mlctl.emulator.shapes.endpoints import (
    BATCH_DEPLOYMENT,
    BATCH_ENDPOINT,
    ONLINE_DEPLOYMENT,
    ONLINE_ENDPOINT,
)
from mlctl.emulator.shapes.job import SCHEDULE
from mlctl.emulator.shapes.shape import Occasion, Phase, Shape, render
from mlctl.emulator.shapes.workspace import DATASTORE
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.resources.operations import OperationKind
from mlctl.simulator.control_plane.state.context import StoredResource

# Kinds without a shape are shown as they are stored.
SHAPES: Mapping[str, Shape] = {
    "compute": COMPUTE,
    "compute-instance": COMPUTE_INSTANCE,
    "batch-endpoint": BATCH_ENDPOINT,
    "batch-deployment": BATCH_DEPLOYMENT,
    "online-endpoint": ONLINE_ENDPOINT,
    "online-deployment": ONLINE_DEPLOYMENT,
    "datastore": DATASTORE,
    "schedule": SCHEDULE,
    **ASSETS,
}
_WRITES = ("PUT", "PATCH")
_PHASES = {OperationKind.CREATE: Phase.CREATING, OperationKind.UPDATE: Phase.CHANGING}


def resource_body(call: Call, resource: StoredResource) -> dict[str, Data]:
    """The body of a resource, as the service shows it."""
    shape = SHAPES.get(resource.address.kind)
    if shape is None:
        resource.body["properties"]["provisioningState"] = resource.state
        return resource.body
    phase = _phase(call, resource)
    occasion = Occasion(call, resource.address, resource.state, resource.last_operation, phase)
    sent = call.data if call.request.method in _WRITES else None
    return render(shape, resource.body, occasion, sent)


def _phase(call: Call, resource: StoredResource) -> Phase:
    if resource.operation is None:
        return Phase.DONE
    with call.store.read() as db:
        running = operations.find(db, resource.operation)
    return _PHASES.get(running.verb, Phase.DONE) if running else Phase.DONE
