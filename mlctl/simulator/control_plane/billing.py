"""Node-hours and costs of a workspace, by resource and by tier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlctl.catalog import prices
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import bad
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


def of_workspace(
    workspace: WorkspaceHandle, ratio: float = prices.LOW_PRIORITY_RATIO
) -> list[UsageRow]:
    """The usage of clusters, pools and jobs, then the totals of clusters and pools by tier.

    `ratio` is the price of a low-priority node relative to a dedicated one.

    Raises:
        ServiceError: the ratio is not between 0 and 1.
    """
    if not 0 <= ratio <= 1:
        raise bad(f"The ratio must be between 0 and 1, not {ratio:g}.")
    with workspace.store.read() as db:
        workspace_id = rows.workspace_state(db, workspace.scope, workspace.location).id
    with replay.current(workspace.store) as now:
        mine = command_log.engine_name(workspace_id, "")
        found = [_used(each, ratio) for each in usage.usage(now) if each.name.startswith(mine)]
    return [*found, *_totals(found)]


def _used(each: usage.Usage, ratio: float) -> UsageRow:
    cost = each.cost
    if cost is not None and each.tier is Tier.LOW_PRIORITY:
        cost *= ratio / prices.LOW_PRIORITY_RATIO
    name, hours = command_log.resource_name(each.name), each.node_s / HOUR
    return UsageRow(each.kind, name, each.tier.value, hours, cost, each.gone)


def _totals(found: list[UsageRow]) -> Iterator[UsageRow]:
    for tier in Tier:
        own = [one for one in found if one.kind != usage.JOB and one.tier == tier.value]
        known = [one.cost for one in own if one.cost is not None]
        if own:
            hours = sum(one.node_hours for one in own)
            unknown = any(one.cost is None and one.node_hours for one in own)
            yield UsageRow(
                "total", "", tier.value, hours, None if unknown else sum(known), gone=False
            )
