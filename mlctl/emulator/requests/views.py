"""The bodies of resources in answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlctl.emulator.requests.call import Call
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.context import StoredResource


def resource_body(call: Call, found: StoredResource) -> dict[str, Data]:
    """The body of a resource, with what the SDK relies on; URLs of endpoints are the emulator's."""
    properties = found.body["properties"]
    properties["provisioningState"] = found.state
    adapt = ADAPTED.get(found.address.kind)
    if adapt is not None:
        adapt(call, found, properties)
    return found.body


def _endpoint(call: Call, found: StoredResource, properties: dict[str, Data]) -> None:
    # The SDK takes what stands before "/subscriptions/" for the service's base URL.
    here = call.request.base + found.address.id(call.scope)
    properties |= {"scoringUri": f"{here}/jobs", "swaggerUri": f"{here}/swagger.json"}


def _deployment(_call: Call, _found: StoredResource, properties: dict[str, Data]) -> None:
    configured = properties.get("deploymentConfiguration")
    if configured:
        configured.setdefault("settings", {})  # the SDK breaks without (KeyError)


# What the SDK needs of the bodies of some kinds; of most, nothing.
ADAPTED: Mapping[str, Callable[[Call, StoredResource, dict[str, Data]], None]] = {
    "batch-endpoint": _endpoint,
    "batch-deployment": _deployment,
}
