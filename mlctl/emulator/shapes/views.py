"""The bodies of answers, by the shapes of `shapes.yml` and the functions that these name."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import computed  # noqa: F401 - what the shapes name
from mlctl.emulator.shapes.shape import Occasion, Phase, find, named, render
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.operations import OperationKind
from mlctl.simulator.control_plane.state.context import StoredResource

_WRITES = ("PUT", "PATCH")
_PHASES = {OperationKind.CREATE: Phase.CREATING, OperationKind.UPDATE: Phase.CHANGING}


def body(call: Call, stored: Mapping[str, Data], *names: str) -> dict[str, Data]:
    """The body of what is no resource of its own, by the first shape of these names."""
    return render(named(*names), stored, Occasion(call))


def resource_body(call: Call, resource: StoredResource) -> dict[str, Data]:
    """The body of a resource, as the service shows it; without a shape, as it is stored."""
    shape = find(resource.address.kind)
    if shape is None:
        resource.body["properties"]["provisioningState"] = resource.state
        return resource.body
    running = call.operation(resource.operation)
    phase = _PHASES.get(running.verb, Phase.DONE) if running else Phase.DONE
    occasion = Occasion(call, resource.address, resource.state, resource.last_operation, phase)
    sent = call.data if call.request.method in _WRITES else None
    return render(shape, resource.body, occasion, sent)
