"""A small simulated workspace, and short words for what the tests ask of it."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address, Scope
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state import rows

SCOPE = Scope("sub", "rg", "ws")
CPU = Address("compute", "cpu-cluster")
OTHER = Address("compute", "another")
ENDPOINT = Address("batch-endpoint", "heart-batch")
BLUE = Address("batch-deployment", "blue", "heart-batch")
MODEL = Address("model", "heart", None, "1")
SUBNET = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}


def cluster(nodes: int = 2, tier: str = "Dedicated", least: int = 0, **more: Any) -> dict[str, Any]:
    """The body of a cluster of nodes with 4 cores."""
    scale = {"maxNodeCount": nodes, "minNodeCount": least}
    inner = {"vmPriority": tier, "scaleSettings": scale, "vmSize": "Standard_DS3_v2", **more}
    return {"properties": {"computeType": "AmlCompute", "properties": inner}}


def endpoint(**properties: Any) -> dict[str, Any]:
    return {"properties": properties}


def deployment(**properties: Any) -> dict[str, Any]:
    named = {"compute": CPU.id(SCOPE), "model": {"assetId": MODEL.id(SCOPE)}}
    return {"properties": {**named, **properties}}


def model(**properties: Any) -> dict[str, Any]:
    return {"properties": {"modelUri": "azureml://m", **properties}}


def stage(local: LocalBackend) -> None:
    """A cluster, a model, an endpoint and its deployment."""
    local.put(CPU, cluster()).wait()
    local.put(MODEL, model()).wait()
    local.put(ENDPOINT, endpoint()).wait()
    local.put(BLUE, deployment()).wait()


def live(local: LocalBackend, address: Address) -> Live:
    return local.read([address])[address]


def inner(local: LocalBackend, address: Address = CPU) -> dict[str, Any]:
    """The properties of a cluster."""
    properties: dict[str, Any] = live(local, address).body["properties"]["properties"]
    return properties


def state(local: LocalBackend, address: Address) -> str:
    return str(live(local, address).body["properties"]["provisioningState"])


def refused(call: Any, *arguments: Any) -> ServiceError:
    """The error that a call ends in."""
    with pytest.raises(ServiceError) as caught:
        call(*arguments)
    return caught.value


def finish_operations(local: LocalBackend) -> float:
    """Let time pass until nothing runs any more; the time after it, in seconds."""
    with local.handle.store.write() as db:
        last = max((each.due for each in operations.pending(db)), default=0.0)
        operations.advance(db, last)
        return rows.workspace_state(db, SCOPE, "eastus").now
