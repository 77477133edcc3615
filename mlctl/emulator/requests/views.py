"""The bodies of resources in answers."""

from __future__ import annotations

from mlctl.emulator.requests.call import Call
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.context import StoredResource


def resource_body(call: Call, found: StoredResource) -> dict[str, Data]:
    """The body of a resource, with what the SDK relies on; URLs of endpoints are the emulator's."""
    properties = found.body["properties"]
    properties["provisioningState"] = found.state
    if found.address.kind == "batch-endpoint":
        # The SDK takes what stands before "/subscriptions/" for the service's base URL.
        here = call.request.base + found.address.id(call.scope)
        properties |= {"scoringUri": f"{here}/jobs", "swaggerUri": f"{here}/swagger.json"}
    configured = properties.get("deploymentConfiguration")
    if configured:
        configured.setdefault("settings", {})  # the SDK breaks without (KeyError)
    return found.body
