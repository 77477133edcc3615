"""The bodies of resources in answers."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.assets import ASSETS
from mlctl.emulator.shapes.batch_deployment import BATCH_DEPLOYMENT
from mlctl.emulator.shapes.batch_endpoint import BATCH_ENDPOINT
from mlctl.emulator.shapes.compute import COMPUTE
from mlctl.emulator.shapes.compute_instance import COMPUTE_INSTANCE
from mlctl.emulator.shapes.online import ONLINE_DEPLOYMENT, ONLINE_ENDPOINT
from mlctl.emulator.shapes.schedule import SCHEDULE
from mlctl.emulator.shapes.shape import Occasion, Phase, Shape, tell
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.resources.operations import OperationKind
from mlctl.simulator.control_plane.state.context import StoredResource

# Kinds without a shape are told as they are stored.
SHAPES: Mapping[str, Shape] = {
    "compute": COMPUTE,
    "compute-instance": COMPUTE_INSTANCE,
    "batch-endpoint": BATCH_ENDPOINT,
    "batch-deployment": BATCH_DEPLOYMENT,
    "online-endpoint": ONLINE_ENDPOINT,
    "online-deployment": ONLINE_DEPLOYMENT,
    "schedule": SCHEDULE,
    **ASSETS,
}
_WRITES = ("PUT", "PATCH")
_PHASES = {OperationKind.CREATE: Phase.CREATING, OperationKind.UPDATE: Phase.CHANGING}


def resource_body(call: Call, found: StoredResource) -> dict[str, Data]:
    """The body of a resource, as the service tells it."""
    shape = SHAPES.get(found.address.kind)
    if shape is None:
        found.body["properties"]["provisioningState"] = found.state
        return found.body
    phase = _phase(call, found)
    occasion = Occasion(call, found.address, found.state, found.operation, phase)
    sent = call.data if call.request.method in _WRITES else None
    return tell(shape, found.body, occasion, sent)


def _phase(call: Call, found: StoredResource) -> Phase:
    if found.operation is None:
        return Phase.DONE
    with call.store.read() as db:
        running = operations.find(db, found.operation)
    return _PHASES.get(running.verb, Phase.DONE) if running else Phase.DONE
