"""Connections of a workspace: stored as they are sent, without their credentials."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.blob_store import ItemKind, StoredItem
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.connection import CONNECTION
from mlctl.emulator.shapes.shape import Occasion, tell
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state import clock

_NO_CONTENT = 204
_MADE, _CHANGED = "createdAt", "lastModifiedAt"  # in a note


def show(call: Call) -> Response:
    """GET of one."""
    found = _find(call)
    if found is None:
        text = f"The connection `{call.names['name']}` was not found."
        raise NotFound("ResourceNotFound", text)
    return json_response(_body(call, found))


def show_all(call: Call) -> Response:
    """GET of all."""
    page = listing.paginate(call, _every(call), lambda item: item.name.casefold())
    return listing.page_response(call, page, (_body(call, each) for each in page.items))


def write(call: Call) -> Response:
    """PUT: create or overwrite, done at once and 200 (recorded: connection-put)."""
    old, now = _find(call), clock.iso(call.state.now)
    given = call.data.get("properties")
    properties = dict(given) if isinstance(given, dict) else {}
    properties.pop("credentials", None)
    note = {"properties": properties, _CHANGED: now, _MADE: old.note[_MADE] if old else now}
    where = old.name if old else _id(call, call.names["name"])
    call.blob_store.put(ItemKind.CONNECTION, where, note)
    return json_response(_body(call, StoredItem(where, note)))


def delete(call: Call) -> Response:
    """DELETE; 204 where there is none."""
    gone = call.blob_store.delete(ItemKind.CONNECTION, _id(call, call.names["name"]))
    return Response(200 if gone else _NO_CONTENT)


def _every(call: Call) -> Iterator[StoredItem]:
    yield from call.blob_store.list(ItemKind.CONNECTION, _id(call, ""))


def _find(call: Call) -> StoredItem | None:
    return call.blob_store.find(ItemKind.CONNECTION, _id(call, call.names["name"]))


def _body(call: Call, found: StoredItem) -> dict[str, Data]:
    who = call.guid("user")
    stored = {
        "id": found.name,
        "name": found.name.rpartition("/")[2],
        "type": f"{PROVIDER}/workspaces/connections",
        "properties": found.note["properties"],
        "systemData": {
            "createdAt": found.note[_MADE],
            "createdBy": who,
            "createdByType": "User",
            "lastModifiedAt": found.note[_CHANGED],
            "lastModifiedBy": who,
            "lastModifiedByType": "User",
        },
    }
    return tell(CONNECTION, stored, Occasion(call))


def _id(call: Call, name: str) -> str:
    return f"{call.scope.id}/connections/{name}"
