"""Builders: bodies on the wire, and the addresses that they are put at."""

from __future__ import annotations

from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.kinds.address import Address, Scope
from tests.builders.workspace import SCOPE

CPU = Address("compute", "cpu-cluster")
OTHER = Address("compute", "another")
ENDPOINT = Address("batch-endpoint", "heart-batch")
BLUE = Address("batch-deployment", "blue", "heart-batch")
MODEL = Address("model", "heart", None, "1")
SUBNET = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}
_OUTER = ("tags", "location", "identity")


def cluster(
    nodes: int = 2, tier: str | None = None, least: int = 0, **values: Any
) -> dict[str, Any]:
    """A cluster of nodes with 4 cores; `values` are tags, location, identity or properties."""
    outer = {name: values.pop(name) for name in _OUTER if name in values}
    scale = {
        "minNodeCount": least,
        "maxNodeCount": nodes,
        "nodeIdleTimeBeforeScaleDown": "PT2M",
    }
    inner = {"vmSize": "Standard_DS3_v2", "scaleSettings": scale, **values}
    if tier is not None:
        inner["vmPriority"] = tier
    return {**outer, "properties": {"computeType": "AmlCompute", "properties": inner}}


def model(**properties: Any) -> dict[str, Any]:
    uri = "azureml://jobs/train/outputs/artifacts/paths/model/"
    return {"properties": {"modelType": "mlflow_model", "modelUri": uri, **properties}}


def endpoint(default: str | None = None, **properties: Any) -> dict[str, Any]:
    defaults = {"defaults": {"deploymentName": default}} if default else {}
    return {"properties": {"authMode": "aadToken", **defaults, **properties}}


def deployment(scope: Scope = SCOPE, **properties: Any) -> dict[str, Any]:
    """A deployment of the model on the cluster."""
    asset = {"assetId": MODEL.id(scope), "referenceType": "Id"}
    return {"properties": {"model": asset, "compute": CPU.id(scope), **properties}}


def put(backend: Backend, address: Address, body: dict[str, Any]) -> dict[str, Any]:
    """Put, wait, and read back."""
    backend.put(address, body).wait()
    return dict(backend.read([address])[address].body)


def stage(backend: Backend) -> None:
    """A cluster, a model, an endpoint and its deployment."""
    put(backend, CPU, cluster())
    put(backend, MODEL, model())
    put(backend, ENDPOINT, endpoint())
    put(backend, BLUE, deployment(backend.scope))
