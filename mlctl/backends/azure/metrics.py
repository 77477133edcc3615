"""Read metrics of clusters from Azure Monitor (Metrics - List, 2018-01-01)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.reads import workspace_path
from mlctl.backends.ports.metrics import MetricInterval, Series
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent

VERSION = "2018-01-01"
_AGGREGATIONS = "Total,Average,Minimum,Maximum"


def of_cluster(
    arm: ArmClient,
    scope: Scope,
    cluster: Address,
    names: Sequence[str],
    *,
    interval: float | None,
    span: float | None,
) -> list[Series]:
    """Return metrics of the last `span` seconds; None means the last hour.

    Raises:
        NotFound: the workspace does not exist.
        ServiceError: the metric does not exist, or the service does not support the interval.
    """
    path = workspace_path(scope) + path_of("providers", "Microsoft.Insights", "metrics")
    name = cluster.name.replace("'", "''")
    query = {
        "metricnames": ",".join(names),
        "aggregation": _AGGREGATIONS,
        "$filter": f"ClusterName eq '{name}'",
        **({} if interval is None else {"interval": format_iso(interval)}),
        **({} if span is None else {"timespan": _span(arm, scope, span)}),
    }
    data = arm.get(path, VERSION, **query)
    return [_series(metric, str(data.get("interval", "PT1M"))) for metric in data.get("value", [])]


def _span(arm: ArmClient, scope: Scope, length: float) -> str:
    """Return the time span of the last `length` seconds, by the service's clock."""
    service_time = arm.date(workspace_path(scope))
    now = parsedate_to_datetime(service_time) if service_time else datetime.now(UTC)
    begun = now - timedelta(seconds=length)
    return "/".join(moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in (begun, now))


def _series(metric: Mapping[str, Data], interval: str) -> Series:
    if metric.get("errorCode", "Success") != "Success":
        text = str(metric.get("errorMessage") or "Azure Monitor has no such metric.")
        raise Permanent(str(metric["errorCode"]), text)
    name = str(get(metric, ("name", "localizedValue")) or get(metric, ("name", "value")))
    points = [
        point for timeseries in metric.get("timeseries", []) for point in timeseries.get("data", [])
    ]
    return Series(name, parse_iso(interval), tuple(_intervals(points)))


def _intervals(points: Sequence[Mapping[str, Data]]) -> Iterator[MetricInterval]:
    """Yield intervals; missing values count as 0."""
    for point in points:
        numbers = (float(point.get(key) or 0) for key in ("average", "minimum", "maximum", "total"))
        yield MetricInterval(str(point["timeStamp"]), *numbers)
