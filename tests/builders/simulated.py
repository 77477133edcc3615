"""A small simulated workspace, and short words for what the tests ask of it."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane.resources import operations
from mlctl.simulator.control_plane.state import rows
from tests.builders.bodies import CPU
from tests.builders.workspace import SCOPE


def live(local: LocalBackend, address: Address) -> Live:
    return local.read([address])[address]


def inner(local: LocalBackend, address: Address = CPU) -> dict[str, Any]:
    """The properties of a cluster."""
    properties: dict[str, Any] = live(local, address).body["properties"]["properties"]
    return properties


def state(local: LocalBackend, address: Address) -> str:
    return str(live(local, address).body["properties"]["provisioningState"])


def refused(call: Any, *arguments: Any) -> ServiceError:
    """The error that a call ends in, at once or with its operation."""
    with pytest.raises(ServiceError) as caught:
        _ended(call(*arguments))
    return caught.value


def _ended(operation: Any) -> None:
    if operation is not None:
        operation.wait()


def finish_operations(local: LocalBackend) -> float:
    """Let time pass until nothing runs any more; the time after it, in seconds."""
    with local.handle.store.write() as db:
        last = max((each.due for each in operations.pending(db)), default=0.0)
        operations.advance(db, last)
        return rows.workspace_state(db, SCOPE, "eastus").now
