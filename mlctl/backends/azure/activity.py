"""Who wrote a resource, from Azure's activity log (Activity Logs - List, 2015-04-01)."""

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
_KEPT = timedelta(days=89)  # the log reaches 90 days back, and refuses more
_SELECT = "caller,claims,operationName,status,eventTimestamp,resourceId"
_FEW = 8  # resources that are asked for one by one; of more the log of their group is read
_LONGEST = 10_000  # events of a group that are read; what these leave open is asked one by one


def of_resource(arm: ArmClient, scope: Scope, address: Address) -> list[Activity]:
    """The writes and deletes of a resource in the last 89 days, newest first."""
    uri = address.id(scope).replace("'", "''")
    events = _events(arm, scope, f"resourceUri eq '{uri}'")
    activities = {activity for event in events for activity in _activities_of(event)}
    return sorted(activities, key=lambda activity: activity.at, reverse=True)


def last_writes(
    arm: ArmClient, scope: Scope, addresses: Collection[Address]
) -> dict[Address, Activity]:
    """The last write or delete of each of these in the last 89 days."""
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
    """What the log of the resource group, newest first, says of some; and whether that is all."""
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
    """What an event says; those of reads, of failures and of what was only begun say nothing."""
    operation = str(get(event, ("operationName", "value"), "")).casefold()
    status = str(get(event, ("status", "value"), "")).casefold()
    verb = operation.rpartition("/")[2]
    if verb in ("write", "delete") and status in ("succeeded", "accepted"):
        caller = event.get("caller") or get(event, ("claims", "appid"), "")
        yield Activity(str(event.get("eventTimestamp", "")), verb, str(caller or ""))
