"""Read who wrote a resource from Azure's activity log (Activity Logs - List, 2015-04-01)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.reads import run_concurrently
from mlctl.backends.ports.activity import Activity
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get

VERSION = "2015-04-01"
_KEPT = timedelta(days=89)  # days of the log, which refuses more
_SELECT = "caller,claims,operationName,status,eventTimestamp,resourceId"
_FEW = 8  # resources that are queried one by one; for more, the log of their group is read
_LONGEST = 10_000  # events of a group that are read; the rest is queried one by one


def of_resource(arm: ArmClient, scope: Scope, address: Address) -> list[Activity]:
    """Return the writes and deletes of a resource in the last 89 days, newest first.

    Raises:
        ServiceError: the caller may not read the log (a Reader of the subscription may).
    """
    uri = address.id(scope).replace("'", "''")
    events = _events(arm, scope, f"resourceUri eq '{uri}'")
    activities = {activity for event in events for activity in _activities_of(event)}
    return sorted(activities, key=lambda activity: activity.at, reverse=True)


def last_writes(
    arm: ArmClient, scope: Scope, addresses: Collection[Address]
) -> dict[Address, Activity]:
    """Return the last write or delete of each resource in the last 89 days.

    Raises:
        ServiceError: the caller may not read the log.
    """
    newest: dict[Address, Activity] = {}
    remaining = set(addresses)
    if len(remaining) > _FEW:
        newest, ended = _in_group(arm, scope, remaining)
        remaining = set() if ended else remaining - newest.keys()
    queried = [*remaining]
    answers = (
        run_concurrently(partial(of_resource, arm, scope, address) for address in queried)
        if queried
        else []
    )
    return newest | {
        address: writes[0] for address, writes in zip(queried, answers, strict=True) if writes
    }


def _in_group(
    arm: ArmClient, scope: Scope, addresses: Collection[Address]
) -> tuple[dict[Address, Activity], bool]:
    """Read the resource group's log; also return whether it was read completely."""
    by_id = {address.id(scope).casefold(): address for address in addresses}
    newest: dict[Address, Activity] = {}
    group = scope.resource_group.replace("'", "''")
    for number, event in enumerate(_events(arm, scope, f"resourceGroupName eq '{group}'")):
        address = by_id.get(str(event.get("resourceId")).casefold())
        if address is not None:
            for activity in _activities_of(event):
                newest.setdefault(address, activity)
        if len(newest) == len(by_id):
            return newest, True
        if number >= _LONGEST:
            return newest, False
    return newest, True


def _events(arm: ArmClient, scope: Scope, condition: str) -> Iterator[dict[str, Data]]:
    now = datetime.now(UTC)
    begun, ended = (moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in (now - _KEPT, now))
    path = path_of(
        *("subscriptions", scope.subscription, "providers", "Microsoft.Insights"),
        "eventtypes",
        "management",
        "values",
    )
    query = {
        "$filter": f"eventTimestamp ge '{begun}' and eventTimestamp le '{ended}' and {condition}",
        "$select": _SELECT,
    }
    return arm.pages(path, VERSION, **query)


def _activities_of(event: Mapping[str, Data]) -> Iterator[Activity]:
    """Yield an event's activity; not for reads, failures and starts."""
    operation = str(get(event, ("operationName", "value"), "")).casefold()
    status = str(get(event, ("status", "value"), "")).casefold()
    verb = operation.rpartition("/")[2]
    if verb in ("write", "delete") and status in ("succeeded", "accepted"):
        caller = event.get("caller") or get(event, ("claims", "appid"), "")
        yield Activity(str(event.get("eventTimestamp", "")), verb, str(caller or ""))
