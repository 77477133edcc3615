"""The metrics of a cluster as Azure Monitor has them, from the event log told again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from mlctl import catalog
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.errors import bad, missing
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import metrics
from mlctl.simulator.engine.metrics import Bucket, Metric

NAMES = tuple(f"{metric.value} {what}" for metric in Metric for what in ("Nodes", "Cores"))
# The intervals that Azure Monitor knows.
_GRAINS = (60, 300, 900, 1800, 3600, 21_600, 43_200, 86_400)
_ENOUGH = 48  # intervals that a screen shows


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One metric by intervals."""

    name: str
    interval: float
    buckets: tuple[Bucket, ...]


def of_cluster(
    place: WorkspaceHandle,
    cluster: Address,
    names: Sequence[str],
    *,
    interval: float | None = None,
    span: float | None = None,
) -> list[MetricSeries]:
    """Metrics of the last `span` seconds, or since the cluster was made, in steps of `interval`.

    Raises:
        ServiceError: there is no such cluster (404) or metric, or the steps make no sense.
    """
    wanted = [_metric(name) for name in names]
    with place.store.look() as db:
        world = rows.workspace_state(db, place.scope, place.location)
        found = rows.find(db, world.workspace, cluster)
    if found is None:
        raise missing(cluster)
    name = command_log.engine_name(world.workspace, found.address.name)
    points = list(metrics.node_counts(replay.events(place.store, detail=False), name))
    begun = points[0].at if points else world.now
    start = begun if span is None else max(world.now - span, 0.0)
    step = _step(world.now - start) if interval is None else interval
    if not step > 0:
        raise bad(f"The interval must be longer than nothing, not {step:g} s.")
    size = catalog.size_of(found.body["properties"]["properties"]["vmSize"])
    opens = floor(start / step) * step
    return [
        MetricSeries(full, step, tuple(each.in_cores(cores if is_cores else 1) for each in buckets))
        for full, metric, is_cores in wanted
        for cores in [size.vcpus if size else 1]
        for buckets in [metrics.aggregate(points, metric, opens, world.now, step)]
    ]


def interval_start(bucket: Bucket) -> str:
    """When an interval begins, as ARM writes it."""
    return clock.iso(bucket.start)


def _metric(name: str) -> tuple[str, Metric, bool]:
    """The full name of a metric that is asked for in any spelling, what it counts, and of what."""
    bare = re.sub(r"[\s_-]", "", name).casefold()
    for full in NAMES:
        if full.replace(" ", "").casefold() == bare:
            what, unit = full.rsplit(" ", 1)
            return full, Metric(what), unit == "Cores"
    raise bad(f"There is no metric `{name}`; there is: {', '.join(NAMES)}.", "InvalidMetric")


def _step(seconds: float) -> float:
    """The shortest interval that a screen shows enough of."""
    return next((float(one) for one in _GRAINS if seconds / one <= _ENOUGH), float(_GRAINS[-1]))
