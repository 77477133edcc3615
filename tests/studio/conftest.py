"""A studio of a simulated workspace in memory, asked without a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.emulator.http.messages import Request, Response
from mlctl.kinds.address import Address
from mlctl.studio.site import Site
from mlctl.studio.watch import Watch
from mlctl.workload import Workload

TOKEN = "a-token"
Ask = Callable[..., Response]


def with_cluster(backend: LocalBackend, name: str = "cpu", most: int = 4) -> None:
    """Make a low-priority cluster."""
    scale = {"minNodeCount": 0, "maxNodeCount": most}
    inner = {"vmSize": "STANDARD_DS3_V2", "vmPriority": "LowPriority", "scaleSettings": scale}
    body = {"location": "eastus", "properties": {"computeType": "AmlCompute", "properties": inner}}
    backend.put(Address("compute", name), body).wait()


def with_job(
    backend: LocalBackend, name: str, cluster: str = "cpu", steps: int = 60, nodes: int = 1
) -> None:
    """Submit a training job of steps of a minute."""
    properties = {
        "jobType": "Command",
        "displayName": name,
        "command": "python train.py",
        "computeId": Address("compute", cluster).id(backend.scope),
        "resources": {"instanceCount": nodes},
        "environmentId": "azureml://registries/azureml/environments/sklearn-1.5/labels/latest",
    }
    work = Workload(steps=steps, seconds_per_step=60.0)
    backend.jobs.create(name, {"properties": properties}, work, "default")


@pytest.fixture
def ask(local: LocalBackend) -> Ask:
    """Ask the studio of the workspace for a path beneath its token."""
    watch = Watch(local)
    site = Site(watch, TOKEN)

    def go(path: str, body: bytes | None = None, token: str = TOKEN, **query: str) -> Response:
        method = "GET" if body is None else "POST"
        return site(Request(method, f"/{token}/{path}", query, body=body or b""))

    go.watch = watch  # type: ignore[attr-defined]
    return go
