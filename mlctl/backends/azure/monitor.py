"""Read Azure Monitor: who wrote a resource (Activity Logs - List), and metrics of clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial

from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.errors import decodes_answers
from mlctl.backends.azure.reads import run_concurrently, workspace_path
from mlctl.backends.ports.monitor import Activity, MetricInterval, Series
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent

_ACTIVITY_VERSION = "2015-04-01"
_METRICS_VERSION = "2018-01-01"
_AGGREGATIONS = "Total,Average,Minimum,Maximum"
_KEPT = timedelta(days=89)  # days of the log, which refuses more
_SELECT = "caller,claims,operationName,status,eventTimestamp,resourceId"
_FEW = 8  # resources that are queried one by one; for more, the log of their group is read
_LONGEST = 10_000  # events of a group that are read; the rest is queried one by one


@decodes_answers
class AzureMonitor:
    """What Azure Monitor knows of a workspace; each method does what its port says."""

    arm: ArmClient
    scope: Scope

    def activity(self, address: Address) -> list[Activity]:
        """Return the activity of the last 89 days, newest first."""
        uri = address.id(self.scope).replace("'", "''")
        events = self._events(f"resourceUri eq '{uri}'")
        activities = {activity for event in events for activity in _activities_of(event)}
        return sorted(activities, key=lambda activity: activity.at, reverse=True)

    def last_writes(self, addresses: Collection[Address]) -> Mapping[Address, Activity]:
        """Return the last writes of the last 89 days."""
        newest: dict[Address, Activity] = {}
        remaining = set(addresses)
        if len(remaining) > _FEW:
            newest, ended = self._in_group(remaining)
            remaining = set() if ended else remaining - newest.keys()
        queried = [*remaining]
        answers = run_concurrently(partial(self.activity, address) for address in queried)
        pairs = zip(queried, answers, strict=True)
        return newest | {address: writes[0] for address, writes in pairs if writes}

    def _in_group(self, addresses: Collection[Address]) -> tuple[dict[Address, Activity], bool]:
        """Read the resource group's log; also return whether it was read completely."""
        by_id = {address.id(self.scope).casefold(): address for address in addresses}
        newest: dict[Address, Activity] = {}
        group = self.scope.resource_group.replace("'", "''")
        for number, event in enumerate(self._events(f"resourceGroupName eq '{group}'")):
            address = by_id.get(str(event.get("resourceId")).casefold())
            if address is not None:
                for activity in _activities_of(event):
                    newest.setdefault(address, activity)
            if len(newest) == len(by_id):
                return newest, True
            if number >= _LONGEST:
                return newest, False
        return newest, True

    def _events(self, condition: str) -> Iterator[dict[str, Data]]:
        now = datetime.now(UTC)
        span = f"eventTimestamp ge '{_stamp(now - _KEPT)}' and eventTimestamp le '{_stamp(now)}'"
        path = path_of("subscriptions", self.scope.subscription, "providers", "Microsoft.Insights")
        path += path_of("eventtypes", "management", "values")
        query = {"$filter": f"{span} and {condition}", "$select": _SELECT}
        return self.arm.pages(path, _ACTIVITY_VERSION, **query)

    def metrics(
        self,
        cluster: Address,
        names: Sequence[str],
        *,
        interval: float | None = None,
        span: float | None = None,
    ) -> list[Series]:
        """Return metrics of the last hour, unless a span is given."""
        path = workspace_path(self.scope) + path_of("providers", "Microsoft.Insights", "metrics")
        name = cluster.name.replace("'", "''")
        query = {
            "metricnames": ",".join(names),
            "aggregation": _AGGREGATIONS,
            "$filter": f"ClusterName eq '{name}'",
            **({} if interval is None else {"interval": format_iso(interval)}),
            **({} if span is None else {"timespan": self._span(span)}),
        }
        data = self.arm.get(path, _METRICS_VERSION, **query)
        width = str(data.get("interval", "PT1M"))
        return [_series(metric, width) for metric in data.get("value", [])]

    def _span(self, length: float) -> str:
        """Return the time span of the last `length` seconds, by the service's clock."""
        service_time = self.arm.date(workspace_path(self.scope))
        now = parsedate_to_datetime(service_time) if service_time else datetime.now(UTC)
        return f"{_stamp(now - timedelta(seconds=length))}/{_stamp(now)}"


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _activities_of(event: Mapping[str, Data]) -> Iterator[Activity]:
    """Yield an event's activity; not for reads, failures and starts."""
    operation = str(get(event, ("operationName", "value"), "")).casefold()
    status = str(get(event, ("status", "value"), "")).casefold()
    verb = operation.rpartition("/")[2]
    if verb in ("write", "delete") and status in ("succeeded", "accepted"):
        caller = event.get("caller") or get(event, ("claims", "appid"), "")
        yield Activity(str(event.get("eventTimestamp", "")), verb, str(caller or ""))


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
