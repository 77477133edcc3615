"""What stands before every resource: locks and permissions, and the metrics beside it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from mlctl.cloud import clock
from mlctl.emulator.call import Call
from mlctl.emulator.http import ArmError, Response, missing, reply
from mlctl.emulator.shelf import Item, Sort
from mlctl.pointer import Data

_LOCKS = "/providers/Microsoft.Authorization/locks/"
_METRICS = "/providers/Microsoft.Insights/metrics/"
_NAMESPACE = "Microsoft.MachineLearningServices/workspaces"


class Level(Enum):
    """What a lock forbids: deleting, or every write."""

    CAN_NOT_DELETE = "CanNotDelete"
    READ_ONLY = "ReadOnly"


def refuse(call: Call, path: str) -> None:
    """Hold a write to the locks on what it writes, and above that.

    Origin: "The scope '...' cannot perform delete operation because following scope(s) are locked".

    Raises:
        ArmError: 409, there is such a lock.
    """
    method = call.request.method
    if method not in ("PUT", "PATCH", "POST", "DELETE") or _LOCKS.casefold() in path.casefold():
        return
    held = [each for each in _above(call, path) if _forbids(each, method)]
    if held:
        scopes = ", ".join(sorted({f"'{each.note['scope']}'" for each in held}))
        verb = "delete" if method == "DELETE" else "write"
        text = (
            f"The scope '{path}' cannot perform {verb} operation because following scope(s) are "
            f"locked: {scopes}. Please remove the lock and try again."
        )
        raise ArmError(409, "ScopeLocked", text)


def put_lock(call: Call) -> Response:
    """PUT of a lock on a subscription, a resource group or a resource.

    Raises:
        ArmError: 400, its level is none.
    """
    given = (call.data.get("properties") or {}).get("level")
    levels = {each.value.casefold(): each for each in Level}
    level = levels.get(str(given).casefold())
    if level is None:
        text = f"`{given}` is no level of a lock: it is CanNotDelete or ReadOnly."
        raise ArmError(400, "InvalidLockLevel", text, target="properties.level")
    name = _lock(call)
    old = call.shelf.find(Sort.LOCK, name)
    notes = str((call.data.get("properties") or {}).get("notes") or "")
    note = {"scope": _scope(call), "level": level.value, "notes": notes}
    call.shelf.put(Sort.LOCK, name, note)
    return reply(_shown(Item(old.name if old else name, note)), 200 if old else 201)


def show_lock(call: Call) -> Response:
    """GET of a lock."""
    item = call.shelf.find(Sort.LOCK, _lock(call))
    if item is None:
        raise missing(f"Microsoft.Authorization/locks/{call.names['name']}", _scope(call) or "/")
    return reply(_shown(item))


def show_locks(call: Call) -> Response:
    """GET of the locks on a scope: those above it, its own, and those beneath."""
    scope = _scope(call)
    beneath = call.shelf.list(Sort.LOCK, scope + "/")
    found = {each.name: each for each in (*_above(call, scope), *beneath)}
    return reply({"value": [_shown(found[name]) for name in sorted(found)]})


def drop_lock(call: Call) -> Response:
    """DELETE of a lock."""
    return Response(200 if call.shelf.drop(Sort.LOCK, _lock(call)) else 204)


def permissions(_: Call) -> Response:
    """GET of what the caller may do: everything."""
    everything = {"actions": ["*"], "notActions": [], "dataActions": ["*"], "notDataActions": []}
    return reply({"value": [everything]})


def metrics(call: Call) -> Response:
    """GET of Azure Monitor's metrics of a workspace: the names asked for, each without a series."""
    scope = _scope(call) if "scope" in call.names else call.scope.id
    asked = call.request.asked("metricnames", "Preempted Nodes,Preempted Cores")
    now = clock.iso(call.world.now) if "workspace" in call.names else clock.iso(0.0)
    value = [
        {
            "id": f"{scope}{_METRICS}{name.strip()}",
            "type": "Microsoft.Insights/metrics",
            "name": {"value": name.strip(), "localizedValue": name.strip()},
            "unit": "Count",
            "timeseries": [],
            "errorCode": "Success",
        }
        for name in asked.split(",")
        if name.strip()
    ]
    return reply(
        {
            "cost": 0,
            "timespan": call.request.asked("timespan", f"{now}/{now}"),
            "interval": call.request.asked("interval", "PT1M"),
            "value": value,
            "namespace": call.request.asked("metricnamespace", _NAMESPACE),
        }
    )


def _scope(call: Call) -> str:
    return "/" + call.names["scope"] if call.names["scope"] else ""


def _lock(call: Call) -> str:
    return f"{_scope(call)}{_LOCKS}{call.names['name']}"


def _above(call: Call, path: str) -> Iterator[Item]:
    """The locks on a scope and on what holds it."""
    within = path.casefold().rstrip("/") + "/"
    for item in call.shelf.list(Sort.LOCK):
        if within.startswith(item.note["scope"].casefold() + "/"):
            yield item


def _forbids(lock: Item, method: str) -> bool:
    return method == "DELETE" or lock.note["level"] == Level.READ_ONLY.value


def _shown(lock: Item) -> Data:
    return {
        "id": lock.name,
        "name": lock.name.rsplit("/", 1)[-1],
        "type": "Microsoft.Authorization/locks",
        "properties": {"level": lock.note["level"], "notes": lock.note["notes"]},
    }
