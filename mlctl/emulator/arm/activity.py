"""The activity log as Azure Monitor answers (Activity Logs - List, 2015-04-01)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import activity
from mlctl.simulator.control_plane.activity import ActivityEntry
from mlctl.simulator.control_plane.state import clock

# The service takes these patterns and no others.
_FILTER = re.compile(
    r"eventTimestamp ge '(?P<since>[^']+)'(?: and eventTimestamp le '(?P<until>[^']+)')?"
    r"(?: and (?P<key>resourceUri|resourceGroupName|resourceProvider|correlationId) eq"
    r" '?(?P<value>[^']+)'?)?",
    re.IGNORECASE,
)
_VERBS = {activity.WRITE: "PUT", activity.DELETE: "DELETE"}


def show(call: Call) -> Response:
    """GET of the events of a resource, a group or a subscription, newest first.

    Of a time span its length counts, back from now: the emulator's time is its own.
    """
    matched = _FILTER.fullmatch(call.request.query_value("$filter").strip())
    if matched is None:
        text = "The $filter argument is required, and must at least say eventTimestamp ge 'TIME'."
        raise Permanent("BadRequest", text, target="$filter")
    span = _length(matched["since"], matched["until"])
    home = call.home
    with home.store.read() as db:
        now = home.state(db).now
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


def _length(start: str, end: str | None) -> float | None:
    """The seconds of the span; None where it has no end, and so no length."""
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
    guid = call.home_guid(f"activity/{entry.number}")
    return {
        "authorization": {"action": operation, "scope": entry.resource},
        "caller": entry.caller,
        "channels": "Operation",
        "claims": {},
        "correlationId": guid,
        "description": "",
        "eventDataId": guid,
        "eventName": _localized("EndRequest"),
        "category": _localized("Administrative"),
        "httpRequest": {"clientRequestId": guid, "method": _VERBS[entry.verb]},
        "id": f"{entry.resource}/events/{guid}/ticks/{int(entry.at * 10**7)}",
        "level": "Informational",
        "resourceGroupName": parts[3],
        "resourceProviderName": _localized(PROVIDER),
        "resourceId": entry.resource,
        "operationId": guid,
        "operationName": _localized(operation),
        "properties": {"statusCode": "OK"},
        "status": _localized("Succeeded"),
        "subStatus": _localized("OK"),
        "eventTimestamp": moment,
        "submissionTimestamp": moment,
        "subscriptionId": parts[1],
    }


def _localized(text: str) -> dict[str, str]:
    return {"value": text, "localizedValue": text}


def _select_keys(event: dict[str, Data], keys: list[str]) -> dict[str, Data]:
    return {key: event[key] for key in keys if key in event} if keys else event
