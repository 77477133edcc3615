"""The metrics of clusters as Azure Monitor answers (Metrics - List, 2018-01-01)."""

from __future__ import annotations

import re
from datetime import datetime

from mlctl.durations import format_iso, parse_iso
from mlctl.emulator.arm import authorization
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import metrics
from mlctl.simulator.control_plane.metrics import MetricSeries
from mlctl.simulator.engine.metrics import Bucket

_CLUSTER = re.compile(r"\s*ClusterName\s+eq\s+'((?:[^']|'')+)'\s*", re.IGNORECASE)
_AGGREGATIONS = ("total", "average", "minimum", "maximum")


def show(call: Call) -> Response:
    """GET of metrics of one cluster; of the workspace as a whole there are none.

    Of a time span its length counts, back from now: the emulator's time is its own. Without one it
    is the last hour, as the service has it.
    """
    parameter = call.request.query_value
    if not parameter("$filter"):
        return authorization.metrics(call)
    cluster_filter = _CLUSTER.fullmatch(parameter("$filter"))
    if cluster_filter is None:
        text = "The emulator knows one filter: ClusterName eq 'NAME'."
        raise Permanent("BadRequest", text, target="$filter")
    cluster = Address("compute", cluster_filter[1].replace("''", "'"))
    names = [name for name in parameter("metricnames", "Preempted Nodes").split(",") if name]
    interval = _length(parameter("interval", "PT1M"), "interval")
    span = _span(parameter("timespan"))
    series = metrics.aggregate(call.handle, cluster, names, interval=interval, span=span)
    requested = {word.strip().casefold() for word in parameter("aggregation", "Total").split(",")}
    aggregations = [word for word in _AGGREGATIONS if word in requested]
    return json_response(
        {
            "cost": 0,
            "timespan": parameter("timespan"),
            "interval": format_iso(interval),
            "namespace": "Microsoft.MachineLearningServices/workspaces",
            "resourceregion": call.state.location,
            "value": [_metric(call, metric, aggregations, cluster) for metric in series],
        }
    )


def _metric(call: Call, metric: MetricSeries, aggregations: list[str], cluster: Address) -> Data:
    name = {"value": "clustername", "localizedValue": "clustername"}
    return {
        "id": f"{call.scope.id}/providers/Microsoft.Insights/metrics/{metric.name}",
        "type": "Microsoft.Insights/metrics",
        "name": {"value": metric.name, "localizedValue": metric.name},
        "unit": "Count",
        "errorCode": "Success",
        "timeseries": [
            {
                "metadatavalues": [{"name": name, "value": cluster.name}],
                "data": [_point(bucket, aggregations) for bucket in metric.buckets],
            }
        ],
    }


def _point(bucket: Bucket, aggregations: list[str]) -> Data:
    numbers = {
        "total": bucket.total,
        "average": bucket.average,
        "minimum": bucket.minimum,
        "maximum": bucket.maximum,
    }
    return {
        "timeStamp": metrics.interval_start(bucket),
        **{name: numbers[name] for name in aggregations},
    }


def _span(text: str) -> float:
    """The seconds of `START/END`; an hour where nothing is said."""
    if not text:
        return 3600.0
    begun, _, ended = text.partition("/")
    try:
        length = datetime.fromisoformat(ended) - datetime.fromisoformat(begun)
    except ValueError:
        raise Permanent("BadRequest", f"`{text}` is no time span.", target="timespan") from None
    return max(length.total_seconds(), 0.0)


def _length(text: str, target: str) -> float:
    try:
        return parse_iso(text)
    except ValueError as error:
        raise Permanent("BadRequest", f"{error}.", target=target) from None
