"""Models, environments, components and code: their versions, and the containers of these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mlctl.emulator.arm import operations
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.blob_store import ItemKind
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.kinds.address import LATEST, PROVIDER, Address
from mlctl.kinds.registry import ALL
from mlctl.kinds.upload import UploadTarget
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import missing

_MAY_SAY = ("description", "tags", "properties", "isArchived")  # of a container


@dataclass(frozen=True, slots=True)
class Container:
    """All versions of an asset, oldest first: their names and their system data (JSON text)."""

    name: str
    versions: list[str]
    stamps: list[str | None]


def show_version(call: Call) -> Response:
    """GET of one version."""
    found = service.read(call.handle, [call.address]).get(call.address)
    if found is None:
        raise missing(call.address)
    return json_response(views.resource_body(call, found))


def show_label(call: Call) -> Response:
    """GET of the version that a label names: `latest`, the newest created one."""
    if call.names["label"].casefold() != LATEST:
        raise missing(call.address.at(call.names["label"]))
    return show_version(call)


def show_versions(call: Call) -> Response:
    """GET of all versions, or of the code with a given hash, whatever its name."""
    name, sha256 = call.names["name"], call.request.query_value("hash")
    if ALL[call.kind].content is UploadTarget.CODE and sha256:
        with call.store.read() as db:
            address = rows.find_code(db, call.state.id, sha256)
        found = [each for each in (address and call.peek(address),) if each]
        return json_response({"value": [views.resource_body(call, each) for each in found]})
    page = listing.versions(call, name)
    return listing.page_response(
        call, page, (views.resource_body(call, each) for each in page.items)
    )


def write_version(call: Call) -> Response:
    """PUT: create a version, or change what may change of it."""
    accepted = service.put(call.handle, call.address, call.data)
    return operations.write_response(call, accepted.operation, created=accepted.created)


def delete_version(call: Call) -> Response:
    """DELETE of one version."""
    return operations.delete_response(call, service.delete(call.handle, call.address))


def show_container(call: Call) -> Response:
    """GET of a container."""
    found = _container(call)
    if found is None:
        raise missing(call.address)
    return json_response(_body(call, found))


def show_containers(call: Call) -> Response:
    """GET of all containers, the archived ones only where `listViewType` asks for them."""
    wanted = call.request.query_value("listViewType", "ActiveOnly").casefold()
    page = listing.names(call)
    first, last = (page.items[0], page.items[-1]) if page.items else ("", "")
    bodies = (_body(call, each) for each in _containers(call, first, last))
    archived = {"activeonly": False, "archivedonly": True}.get(wanted)
    kept = (
        each for each in bodies if archived in (None, each["properties"].get("isArchived", False))
    )
    return listing.page_response(call, page, kept)


def write_container(call: Call) -> Response:
    """PUT of a container: its description, tags or archiving; it exists once it has a version.

    Raises:
        ServiceError: 404, it has none.
    """
    found = _container(call)
    if found is None:
        raise missing(call.address)
    said = call.data.get("properties") or {}
    note = {name: said[name] for name in _MAY_SAY if said.get(name) is not None}
    call.blob_store.put(ItemKind.CONTAINER, _id(call, found.name), note)
    return json_response(_body(call, found))


def refuse_delete(call: Call) -> Response:
    """DELETE of a container: the service deletes versions only."""
    what = with_article(call.kind).capitalize()
    text = f"{what} cannot be deleted as a whole: delete its versions, or archive it."
    raise Permanent("MethodNotAllowed", text, status=405)


def _container(call: Call) -> Container | None:
    name = call.names["name"].lower()
    return next(_containers(call, name, name), None)


def _containers(call: Call, first: str, last: str) -> Iterator[Container]:
    """The containers of the kind from one name (in lower case) to another, by name."""
    within = rows.collection_key(Address(call.kind, ""))
    with call.store.read() as db:
        found = db.execute(
            "SELECT name, version, json_extract(body, '$.systemData') FROM resources"
            " WHERE workspace = ? AND kind = ? AND collection = ? AND lower(name) BETWEEN ? AND ?"
            " ORDER BY lower(name), id",
            (call.state.id, call.kind, within, first, last),
        ).fetchall()
    held: dict[str, Container] = {}
    for spelt, version, stamp in found:
        container = held.setdefault(spelt.lower(), Container(spelt, [], []))
        container.versions.append(version)
        container.stamps.append(stamp)
    yield from held.values()


def _body(call: Call, container: Container) -> dict[str, Data]:
    item = call.blob_store.find(ItemKind.CONTAINER, _id(call, container.name))
    said = item.note if item else {}
    numbers = [int(each) for each in container.versions if each.isascii() and each.isdecimal()]
    own = {
        "latestVersion": container.versions[-1],
        "nextVersion": str(max(numbers) + 1) if numbers else "1",
        "provisioningState": "Succeeded",
    }
    plain: dict[str, Data] = {"tags": {}, "properties": {}, "isArchived": False}
    shared = ALL[call.kind].container_keys
    newest = call.peek(Address(call.kind, container.name)) if shared else None
    if newest is not None:
        own |= {name: newest.body["properties"].get(name) for name in shared}
    return {
        "id": _id(call, container.name),
        "name": container.name,
        "type": f"{PROVIDER}/workspaces/{ALL[call.kind].collection}",
        "systemData": json.loads(container.stamps[-1] or "{}"),
        "properties": {**plain, **said, **own},
    }


def _id(call: Call, name: str) -> str:
    return Address(call.kind, name).id(call.scope)
