"""The nodes of clusters, as the event engine has them: what ARM says of a cluster and its nodes."""

from __future__ import annotations

from collections.abc import Iterable

from mlctl.cloud import clock, journal, orders
from mlctl.cloud.ask import Found
from mlctl.cloud.sim import views
from mlctl.cloud.sim.views import Counts
from mlctl.cloud.store import Store
from mlctl.pointer import Data

_COUNTED = ("idle", "running", "preparing", "unusable", "leaving", "preempted")


def show(store: Store, workspace: int, found: Iterable[Found]) -> None:
    """Put into the bodies of clusters what their nodes are doing now."""
    with journal.look(store) as world:
        for each in found:
            name = orders.name_of(workspace, each.address.name)
            if each.address.kind == "compute" and name in world.clusters:
                inner = each.body["properties"]["properties"]
                inner |= _said(views.counts(world, name))


def _said(counts: Counts) -> dict[str, Data]:
    of = {
        "idle": counts.idle,
        "running": counts.running,
        "preparing": counts.preparing,
        "unusable": counts.unusable,
        "leaving": counts.leaving,
        "preempted": counts.preempted,
    }
    return {
        "allocationState": "Resizing" if counts.resizing else "Steady",
        "allocationStateTransitionTime": clock.iso(counts.since),
        "currentNodeCount": counts.current,
        "targetNodeCount": counts.target,
        "nodeStateCounts": {f"{state}NodeCount": count for state, count in of.items()},
    }
