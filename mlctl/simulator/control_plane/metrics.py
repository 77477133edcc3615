"""Metrics of a cluster as Azure Monitor shows them, and what nodes cost, by the event log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import floor

from mlctl import catalog
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.nodes import find_cluster
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import metrics, usage
from mlctl.simulator.engine.metrics import Bucket, Metric
from mlctl.simulator.engine.model import HOUR, Tier

NAMES = tuple(f"{metric.value} {unit}" for metric in Metric for unit in ("Nodes", "Cores"))
# The intervals that Azure Monitor knows.
_INTERVALS_S = (60, 300, 900, 1800, 3600, 21_600, 43_200, 86_400)
_MOST_INTERVALS = 48  # intervals that fit on a screen


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """A metric aggregated by intervals of `interval` seconds."""

    name: str
    interval: float
    buckets: tuple[Bucket, ...]


def aggregate(
    workspace: WorkspaceHandle,
    cluster: Address,
    names: Sequence[str],
    *,
    interval: float | None = None,
    span: float | None = None,
) -> list[MetricSeries]:
    """Aggregate metrics of the last `span` seconds, or the cluster's lifetime, by `interval`.

    Raises:
        ServiceError: there is no such cluster (404) or metric, or the interval is not positive.
    """
    chosen = [_metric(name) for name in names]
    state, resource, name = find_cluster(workspace, cluster)
    points = list(metrics.node_counts(replay.events(workspace.store, detail=False), name))
    begun = points[0].at if points else state.now
    start = begun if span is None else max(state.now - span, 0.0)
    step = _default_interval(state.now - start) if interval is None else interval
    if not step > 0:
        raise bad(f"The interval must be longer than nothing, not {step:g} s.")
    size = catalog.size_of(resource.body["properties"]["properties"]["vmSize"])
    opens = floor(start / step) * step
    return [
        MetricSeries(
            full, step, tuple(bucket.in_cores(cores if is_cores else 1) for bucket in buckets)
        )
        for full, metric, is_cores in chosen
        for cores in [size.vcpus if size else 1]
        for buckets in [metrics.aggregate(points, metric, opens, state.now, step)]
    ]


def interval_start(bucket: Bucket) -> str:
    """Return the start of an interval, as ARM writes it."""
    return clock.iso(bucket.start)


def _metric(name: str) -> tuple[str, Metric, bool]:
    """Return a metric's full name from any spelling, what it counts, and whether in cores."""
    bare = re.sub(r"[\s_-]", "", name).casefold()
    for full in NAMES:
        if full.replace(" ", "").casefold() == bare:
            counted, unit = full.rsplit(" ", 1)
            return full, Metric(counted), unit == "Cores"
    raise bad(f"There is no metric `{name}`; there is: {', '.join(NAMES)}.", "InvalidMetric")


def _default_interval(seconds: float) -> float:
    """Return the shortest interval of Azure Monitor that gives at most `_ENOUGH` intervals."""
    return next(
        (float(interval) for interval in _INTERVALS_S if seconds / interval <= _MOST_INTERVALS),
        float(_INTERVALS_S[-1]),
    )


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


def summarize_usage(workspace: WorkspaceHandle) -> list[UsageRow]:
    """Return the usage of clusters, pools and jobs, then totals of the first two by tier."""
    mine = command_log.engine_name(workspace.current.id, "")
    with replay.current(workspace.store) as world:
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
