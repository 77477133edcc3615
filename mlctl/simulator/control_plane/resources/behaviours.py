"""The rules of each kind in the simulated service.

A kind without an entry follows its schema, as a versioned asset or as a plain resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sqlite3 import Connection
from typing import TypeAlias

from mlctl.catalog.prices import PriceList
from mlctl.dataclasses import dataclass
from mlctl.kinds import Kind
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import (
    arm_body,
    assets,
    batch,
    batch_pools,
    by_schema,
    compute,
    online,
)
from mlctl.simulator.control_plane.state.context import PutRequest

Body: TypeAlias = Mapping[str, Data]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The rules of a kind.

    - `accept`: the body to store for a PUT over an existing one; raises `ServiceError`.
    - `create_command`: the event engine's command for a resource, from its engine name and body,
      and what nodes cost.
    - `delete_command`: the name of the engine's command that deletes it; "" for none.
    - `provisioned`: updates bodies when an operation (its number) has succeeded.
    - `always_operates`: whether a PUT that changes nothing begins an operation, too.
    - `failed`: notes in a body why its operation failed (the error, and the time in ISO 8601).
    """

    accept: Callable[[PutRequest], dict[str, Data]]
    create_command: Callable[[str, Body, PriceList], Body] | None = None
    delete_command: str = ""
    always_operates: bool = False
    provisioned: Callable[[Connection, int], None] | None = None
    failed: Callable[[dict[str, Data], Body, str], None] | None = None


def _accept_datastore(request: PutRequest) -> dict[str, Data]:
    from mlctl.simulator.control_plane.resources import datastores  # noqa: PLC0415 - few declare any

    return datastores.accept(request)


def _accept_schedule(request: PutRequest) -> dict[str, Data]:
    """Return a schedule's body unchanged, enabled by default; its job is checked when it starts."""
    top, properties = arm_body.read_body(request, "provisioningState")
    properties.setdefault("isEnabled", True)
    return arm_body.stored_body(request, top)


BEHAVIOURS: Mapping[str, Behaviour] = {
    "compute": Behaviour(
        compute.accept,
        compute.create_command,
        "DeleteCluster",
        always_operates=True,
        failed=compute.note_failure,
    ),
    "batch-endpoint": Behaviour(batch.accept_endpoint),
    "batch-deployment": Behaviour(batch.accept_deployment, always_operates=True),
    "compute-instance": Behaviour(compute.accept_instance, always_operates=True),
    "online-endpoint": Behaviour(online.accept_endpoint, always_operates=True),
    "online-deployment": Behaviour(online.accept_deployment, always_operates=True),
    "datastore": Behaviour(_accept_datastore),
    "schedule": Behaviour(_accept_schedule, always_operates=True),
    "batch-pool": Behaviour(
        batch_pools.accept,
        batch_pools.create_command,
        "DeletePool",
        provisioned=batch_pools.provision,
    ),
}
_ASSET, _PLAIN = Behaviour(assets.accept), Behaviour(by_schema.accept)


def behaviour_of(kind: Kind) -> Behaviour:
    """Return the rules of a kind: its own, or those of assets or plain resources."""
    return BEHAVIOURS.get(kind.name, _ASSET if kind.versioned else _PLAIN)
