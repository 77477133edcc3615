"""Azure Monitor: metrics (Metrics - List, 2018-01-01), activity log (2015-04-01)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from mlctl.durations import format_iso, parse_iso
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.kinds.address import PROVIDER, Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import activity, metrics
from mlctl.simulator.control_plane.activity import ActivityEntry
from mlctl.simulator.control_plane.metrics import MetricSeries
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.engine.metrics import Bucket

_CLUSTER = re.compile(r"\s*ClusterName\s+eq\s+'((?:[^']|'')+)'\s*", re.IGNORECASE)
_NAMESPACE = "Microsoft.MachineLearningServices/workspaces"
_AGGREGATIONS = ("total", "average", "minimum", "maximum")


def show_metrics(call: Call) -> Response:
    """GET of metrics of one cluster; of the workspace as a whole there are none.

    Of a time span its length counts, back from now: the emulator's time is its own. Without one it
    is the last hour, as the service has it.
    """
    parameter = call.request.query_value
    if not parameter("$filter"):
        return show_no_metrics(call)
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
            "namespace": _NAMESPACE,
            "resourceregion": call.state.location,
            "value": [_of_cluster(call, metric, aggregations, cluster) for metric in series],
        }
    )


def show_no_metrics(call: Call) -> Response:
    """GET of metrics of a workspace or another scope: the requested ones, without a series."""
    scope = f"/{call.names['scope']}".rstrip("/") if "scope" in call.names else call.scope.id
    parameter = call.request.query_value
    names = parameter("metricnames", "Preempted Nodes,Preempted Cores").split(",")
    now = clock.iso(call.state.now) if "workspace" in call.names else clock.iso(0.0)
    return json_response(
        {
            "cost": 0,
            "timespan": parameter("timespan", f"{now}/{now}"),
            "interval": parameter("interval", "PT1M"),
            "value": [_metric(scope, name.strip(), []) for name in names if name.strip()],
            "namespace": parameter("metricnamespace", _NAMESPACE),
        }
    )


def _of_cluster(
    call: Call, metric: MetricSeries, aggregations: list[str], cluster: Address
) -> Data:
    points = [_point(bucket, aggregations) for bucket in metric.buckets]
    dimension = {"name": _localized("clustername"), "value": cluster.name}
    series = {"metadatavalues": [dimension], "data": points}
    return _metric(call.scope.id, metric.name, [series])


def _metric(scope: str, name: str, series: list[Data]) -> Data:
    return {
        "id": f"{scope}/providers/Microsoft.Insights/metrics/{name}",
        "type": "Microsoft.Insights/metrics",
        "name": _localized(name),
        "unit": "Count",
        "errorCode": "Success",
        "timeseries": series,
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
    """Return the seconds of `START/END`; an hour by default."""
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


# The service takes these patterns and no others.
_FILTER = re.compile(
    r"eventTimestamp ge '(?P<since>[^']+)'(?: and eventTimestamp le '(?P<until>[^']+)')?"
    r"(?: and (?P<key>resourceUri|resourceGroupName|resourceProvider|correlationId) eq"
    r" '?(?P<value>[^']+)'?)?",
    re.IGNORECASE,
)
_VERBS = {activity.WRITE: "PUT", activity.DELETE: "DELETE"}


def show_activity(call: Call) -> Response:
    """GET of the events of a resource, a group or a subscription, newest first.

    Of a time span its length counts, back from now: the emulator's time is its own.
    """
    matched = _FILTER.fullmatch(call.request.query_value("$filter").strip())
    if matched is None:
        text = "The $filter argument is required, and must at least say eventTimestamp ge 'TIME'."
        raise Permanent("BadRequest", text, target="$filter")
    span = _seconds_of(matched["since"], matched["until"])
    now = call.home.current.now
    entries = (entry for entry in _entries(call, matched) if span is None or entry.at >= now - span)
    keys = [key for key in call.request.query_value("$select").split(",") if key]
    return json_response({"value": [_select_keys(_event(call, item), keys) for item in entries]})


def _entries(call: Call, matched: re.Match[str]) -> Iterable[ActivityEntry]:
    subscription = f"/subscriptions/{call.names['subscription']}"
    key, value = (matched["key"] or "").casefold(), matched["value"] or ""
    match key:
        case "resourceuri":
            return activity.list_of_resource(call.home, value)
        case "resourcegroupname":
            return activity.list_beneath(call.home, f"{subscription}/resourceGroups/{value}")
        case "correlationid":
            return ()
        case "resourceprovider" if value.casefold() != PROVIDER.casefold():
            return ()
        case _:
            return activity.list_beneath(call.home, subscription)


def _seconds_of(start: str, end: str | None) -> float | None:
    """Return the seconds of the span; None if it has no end."""
    try:
        begun = datetime.fromisoformat(start)
        return (datetime.fromisoformat(end) - begun).total_seconds() if end else None
    except (ValueError, TypeError):
        raise Permanent("BadRequest", "A time of $filter is none.", target="$filter") from None


def _event(call: Call, entry: ActivityEntry) -> dict[str, Data]:
    parts = entry.resource.strip("/").split("/")
    types = parts[6::2]  # the names of collections, after the provider
    operation = f"{PROVIDER}/{'/'.join(types)}/{entry.verb}"
    moment = clock.iso(entry.at)
    guid = call.at_home().guid(f"activity/{entry.number}")
    stored = {
        **dict.fromkeys(("correlationId", "eventDataId", "operationId"), guid),
        **dict.fromkeys(("eventTimestamp", "submissionTimestamp"), moment),
        "authorization": {"action": operation, "scope": entry.resource},
        "caller": entry.caller,
        "httpRequest": {"clientRequestId": guid, "method": _VERBS[entry.verb]},
        "id": f"{entry.resource}/events/{guid}/ticks/{int(entry.at * 10**7)}",
        "resourceGroupName": parts[3],
        "resourceProviderName": _localized(PROVIDER),
        "resourceId": entry.resource,
        "operationName": _localized(operation),
        "subscriptionId": parts[1],
    }
    return views.body(call, stored, "event")


def _localized(text: str) -> dict[str, str]:
    return {"value": text, "localizedValue": text}


def _select_keys(event: dict[str, Data], keys: list[str]) -> dict[str, Data]:
    return {key: event[key] for key in keys if key in event} if keys else event
