"""Rules for compute instances: they are stored, shown, started and stopped, and nothing runs."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.resources import plain
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.context import RequestContext, StoredResource

RUNNING, STOPPED = "Running", "Stopped"


def accept(
    context: RequestContext, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """The body to store for a PUT of `body` over `old`.

    Raises:
        ServiceError: the request is not valid.
    """
    stored = plain.accept(context, address, body, old)
    properties, now = stored["properties"], clock.iso(context.now)
    part.enum_value(properties.get("computeType"), ("ComputeInstance",), "computeType")
    inner = part.section(properties, "properties")
    inner["vmSize"] = str(inner.get("vmSize", "STANDARD_DS3_V2")).upper()
    inner.setdefault("state", RUNNING)
    properties |= {
        "computeType": "ComputeInstance",
        "createdOn": old.body["properties"]["createdOn"] if old else now,
        "modifiedOn": now,
        "computeLocation": stored["location"],
        "properties": inner,
    }
    return stored
