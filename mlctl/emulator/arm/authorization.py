"""Locks and permissions."""

from __future__ import annotations

from urllib.parse import unquote

from mlctl.emulator.http.messages import Response, json_response, not_found
from mlctl.emulator.requests.call import Call
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import locks
from mlctl.simulator.control_plane.locks import Lock, LockedAction, LockLevel

_LOCKS = locks.PROVIDER + "/"


def check_locks(call: Call, path: str) -> None:
    """Refuse a write if a lock on its scope or above forbids it."""
    method = call.request.method
    if method not in ("PUT", "PATCH", "POST", "DELETE"):
        return
    scope = "".join("/" + unquote(part) for part in path.split("/") if part)
    if _LOCKS.casefold() not in scope.casefold():
        with call.store.read() as db:
            locks.check(
                db, scope, LockedAction.DELETE if method == "DELETE" else LockedAction.WRITE
            )


def put_lock(call: Call) -> Response:
    """PUT of a lock on a subscription, a resource group or a resource."""
    properties = call.data.get("properties") or {}
    levels = {lock_level.value.casefold(): lock_level for lock_level in LockLevel}
    level = levels.get(str(properties.get("level")).casefold())
    if level is None:
        text = f"`{properties.get('level')}` is no level of a lock: it is CanNotDelete or ReadOnly."
        raise Permanent("InvalidLockLevel", text, target="properties.level")
    with call.store.write() as db:
        old = locks.find(db, _scope(call), call.names["name"])
        notes = str(properties.get("notes") or "")
        new = locks.put(db, Lock(_scope(call), call.names["name"], level, notes))
    return json_response(_body(new), 200 if old else 201)


def show_lock(call: Call) -> Response:
    """GET of a lock."""
    lock = _find(call)
    if lock is None:
        raise not_found(f"Microsoft.Authorization/locks/{call.names['name']}", _scope(call) or "/")
    return json_response(_body(lock))


def show_locks(call: Call) -> Response:
    """GET of the locks on a scope: those above it, its own, and those below."""
    scope = _scope(call)
    with call.store.read() as db:
        covering = [
            lock
            for lock in locks.list_locks(db)
            if lock.holds(scope) or Lock(scope, "").holds(lock.scope)
        ]
    return json_response({"value": [_body(found_lock) for found_lock in covering]})


def delete_lock(call: Call) -> Response:
    """DELETE of a lock."""
    lock = _find(call)
    if lock is None:
        return Response(204)
    with call.store.write() as db:
        locks.drop(db, lock)
    return Response(200)


def permissions(_: Call) -> Response:
    """GET of what the caller may do: everything."""
    everything = {"actions": ["*"], "notActions": [], "dataActions": ["*"], "notDataActions": []}
    return json_response({"value": [everything]})


def _scope(call: Call) -> str:
    return "/" + call.names["scope"] if call.names["scope"] else ""


def _find(call: Call) -> Lock | None:
    with call.store.read() as db:
        return locks.find(db, _scope(call), call.names["name"])


def _body(lock: Lock) -> Data:
    return {
        "id": lock.id,
        "name": lock.name,
        "type": "Microsoft.Authorization/locks",
        "properties": {"level": lock.level.value, "notes": lock.notes},
    }
