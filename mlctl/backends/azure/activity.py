"""Who wrote a resource, from Azure's activity log (Activity Logs - List, 2015-04-01)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.ports.activity import Activity
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get

VERSION = "2015-04-01"
_KEPT = timedelta(days=89)  # the log reaches 90 days back, and refuses more
_SELECT = "caller,claims,operationName,status,eventTimestamp"


def of_resource(arm: ArmClient, scope: Scope, address: Address) -> list[Activity]:
    """The writes and deletes of a resource in the last 89 days, newest first.

    Raises:
        ServiceError: the caller may not read the log (Reader of the subscription may).
    """
    now = datetime.now(UTC)
    begun, ended = (each.strftime("%Y-%m-%dT%H:%M:%SZ") for each in (now - _KEPT, now))
    path = path_of(
        *("subscriptions", scope.subscription, "providers", "Microsoft.Insights"),
        *("eventtypes", "management", "values"),
    )
    uri = address.id(scope).replace("'", "''")
    query = {
        "$filter": f"eventTimestamp ge '{begun}' and eventTimestamp le '{ended}'"
        f" and resourceUri eq '{uri}'",
        "$select": _SELECT,
    }
    found = {one for event in arm.pages(path, VERSION, **query) for one in _told(event)}
    return sorted(found, key=lambda one: one.at, reverse=True)


def _told(event: Mapping[str, Data]) -> Iterator[Activity]:
    """What an event says; those of reads, of failures and of what was only begun say nothing."""
    operation = str(get(event, ("operationName", "value"), "")).casefold()
    status = str(get(event, ("status", "value"), "")).casefold()
    verb = operation.rpartition("/")[2]
    if verb in ("write", "delete") and status in ("succeeded", "accepted"):
        who = event.get("caller") or get(event, ("claims", "appid"), "")
        yield Activity(str(event.get("eventTimestamp", "")), verb, str(who or ""))
