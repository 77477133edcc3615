"""Start and stop compute instances."""

from __future__ import annotations

import json

from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.resources.compute import INSTANCE_RUNNING as RUNNING
from mlctl.simulator.control_plane.resources.compute import INSTANCE_STOPPED as STOPPED
from mlctl.simulator.control_plane.state.errors import bad, missing
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

__all__ = ["RUNNING", "STOPPED", "switch"]


def switch(handle: WorkspaceHandle, address: Address, state: str) -> int | None:
    """Begin to start or stop a compute instance; return the number of the operation.

    Raises:
        ServiceError: 404, there is none; 400, it is a cluster, which scales by itself.
    """
    resource = service.read(handle, [address]).get(address)
    if resource is None:
        raise missing(address)
    body = json.loads(json.dumps(resource.body))
    inner = body["properties"]["properties"]
    if "state" not in inner:
        raise bad("A cluster is neither started nor stopped: it scales.")
    inner["state"] = state
    return service.put(handle, resource.address, body).operation
