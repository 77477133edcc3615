"""Connections of a workspace: stored as they are sent, without their credentials."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.shape import Occasion, render
from mlctl.emulator.shapes.workspace import CONNECTION
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.blob_store import ItemKind, StoredItem

_NO_CONTENT = 204
_MADE, _CHANGED = "createdAt", "lastModifiedAt"  # in a note


def show(call: Call) -> Response:
    """GET of one."""
    connection = _find(call)
    if connection is None:
        text = f"The connection `{call.names['name']}` was not found."
        raise NotFound("ResourceNotFound", text)
    return json_response(_body(call, connection))


def show_all(call: Call) -> Response:
    """GET of all."""
    page = listing.paginate(call, _every(call), lambda item: item.name.casefold())
    return listing.page_response(call, page, (_body(call, connection) for connection in page.items))


def write(call: Call) -> Response:
    """PUT: create or overwrite, done at once and 200 (recorded: connection-put)."""
    old, now = _find(call), clock.iso(call.state.now)
    sent = call.data.get("properties")
    properties = dict(sent) if isinstance(sent, dict) else {}
    properties.pop("credentials", None)
    note = {"properties": properties, _CHANGED: now, _MADE: old.note[_MADE] if old else now}
    id_ = old.name if old else _id(call, call.names["name"])
    call.blob_store.put(ItemKind.CONNECTION, id_, note)
    return json_response(_body(call, StoredItem(id_, note)))


def delete(call: Call) -> Response:
    """DELETE; 204 if there is none."""
    is_deleted = call.blob_store.delete(ItemKind.CONNECTION, _id(call, call.names["name"]))
    return Response(200 if is_deleted else _NO_CONTENT)


def _every(call: Call) -> Iterator[StoredItem]:
    yield from call.blob_store.list(ItemKind.CONNECTION, _id(call, ""))


def _find(call: Call) -> StoredItem | None:
    return call.blob_store.find(ItemKind.CONNECTION, _id(call, call.names["name"]))


def _body(call: Call, connection: StoredItem) -> dict[str, Data]:
    stored = {
        "id": connection.name,
        "name": connection.name.rpartition("/")[2],
        "type": f"{PROVIDER}/workspaces/connections",
        "properties": connection.note["properties"],
        "systemData": call.system_data(connection.note[_MADE], connection.note[_CHANGED]),
    }
    return render(CONNECTION, stored, Occasion(call))


def _id(call: Call, name: str) -> str:
    return f"{call.scope.id}/connections/{name}"
