"""Node-hours and costs of a workspace, by resource and by tier."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.dataclasses import dataclass
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import usage
from mlctl.simulator.engine.model import HOUR, Tier


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Node-hours of a cluster, pool or job; `cost` is None if the price is unknown.

    The usage of a job is part of its cluster's. `gone`: deleted, or ended.
    """

    kind: str
    name: str
    tier: str
    node_hours: float
    cost: float | None
    gone: bool


def summarize(workspace: WorkspaceHandle) -> list[UsageRow]:
    """Return the usage of clusters, pools and jobs, then totals of the first two by tier."""
    with workspace.store.read() as db:
        workspace_id = workspace.state(db).id
    with replay.current(workspace.store) as world:
        mine = command_log.engine_name(workspace_id, "")
        usages = [
            _usage_row(of_resource)
            for of_resource in usage.usage(world)
            if of_resource.name.startswith(mine)
        ]
    return [*usages, *_totals(usages)]


def _usage_row(of_resource: usage.NodeUsage) -> UsageRow:
    name, hours = command_log.resource_name(of_resource.name), of_resource.node_s / HOUR
    tier = of_resource.tier.value
    return UsageRow(of_resource.kind, name, tier, hours, of_resource.cost, of_resource.gone)


def _totals(usages: list[UsageRow]) -> Iterator[UsageRow]:
    for tier in Tier:
        of_tier = [row for row in usages if row.kind != usage.JOB and row.tier == tier.value]
        costs = [row.cost for row in of_tier if row.cost is not None]
        if of_tier:
            hours = sum(row.node_hours for row in of_tier)
            unknown = any(row.cost is None and row.node_hours for row in of_tier)
            yield UsageRow(
                "total", "", tier.value, hours, None if unknown else sum(costs), gone=False
            )
