"""Models, environments, components and code: their versions, and the containers of these."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator

from mlctl.dataclasses import dataclass, field
from mlctl.emulator.arm import operations
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.kinds.address import LATEST, PROVIDER, Address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.records.environment import KIND as ENVIRONMENT
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.blob_store import ItemKind
from mlctl.simulator.control_plane.state.errors import missing

_NO_CONTENT = 204
_SAID = ("description", "tags", "properties", "isArchived")  # what a container can be given
_MADE, _CHANGED = "createdAt", "lastModifiedAt"  # in the note of a container
_NUMBERED = ("environment",)  # an anonymous one counts as no version of its container
_ALWAYS_CREATED = ("environment",)  # a PUT over one, or over its container, is 201, too
_OF_NOTHING_404 = ("model",)  # what has no versions is not there
_VERSIONED_BY_TIME = ("component",)
_VERSIONED_BY_TIME_IN_LISTS = ("component", "data")
_LISTED_BY_NAME = ("data",)  # the containers of all others come newest first
_LAST = "\U0010ffff"  # after every name
_INVERSE = str.maketrans("0123456789", "9876543210")
_ARCHIVES = "2023-10-01"  # the first api-version that is believed to archive an environment


@dataclass(frozen=True, slots=True)
class Container:
    """All versions of an asset, oldest first: names, rows, and system data (JSON text)."""

    name: str
    versions: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    stamps: list[str | None] = field(default_factory=list)


def show_version(call: Call) -> Response:
    """GET of one version; `azureml_default` is the newest one of a component."""
    address = call.address
    if address.version == ALL[call.kind].content.default_version:
        address = address.at(None)
    resource = service.read(call.handle, [address]).get(address)
    if resource is None:
        raise missing(call.address)
    return json_response(views.resource_body(call, resource))


def show_label(call: Call) -> Response:
    """GET of the version that a label names: `latest`, the newest created one."""
    if call.names["label"].casefold() != LATEST:
        raise missing(call.address.at(call.names["label"]))
    return show_version(call)


def show_versions(call: Call) -> Response:
    """GET of all versions, of one of them, or of the code with a given hash, whatever its name."""
    name, sha256 = call.names["name"], call.request.query_value("hash")
    if ALL[call.kind].content.target is UploadTarget.CODE and sha256:
        with call.store.read() as db:
            address = rows.find_code(db, call.state.id, sha256)
        return _list_version(call, address)
    only = call.request.query_value("version")
    if only:
        return _list_version(call, call.address.at(only))
    page = listing.versions(call, name)
    if not page.items and call.kind in _OF_NOTHING_404 and _container(call) is None:
        raise missing(call.address, as_container=True)
    return listing.page_response(
        call, page, (views.resource_body(call, version) for version in page.items)
    )


def _list_version(call: Call, address: Address | None) -> Response:
    resource = call.peek(address) if address else None
    return json_response({"value": [views.resource_body(call, resource)] if resource else []})


def write_version(call: Call) -> Response:
    """PUT: create a version, or change its mutable properties.

    Versions of environments were not archived by older api-versions (recorded:
    environment-put-archive-ignored); whether they are now is open.
    """
    body = call.data
    if call.kind == ENVIRONMENT.name and call.request.query_value("api-version") < _ARCHIVES:
        current = call.peek(call.address)
        was = current.body["properties"]["isArchived"] if current else False
        body = {**body, "properties": {**(body.get("properties") or {}), "isArchived": was}}
    accepted = service.put(call.handle, call.address, body)
    created = accepted.created or call.kind in _ALWAYS_CREATED
    return operations.write_response(call, accepted.operation, created=created)


def delete_version(call: Call) -> Response:
    """DELETE of one version."""
    return operations.delete_response(call, service.delete(call.handle, call.address))


def show_container(call: Call) -> Response:
    """GET of a container."""
    container = _container(call)
    if container is None:
        raise missing(call.address)
    return json_response(_body(call, container))


def show_containers(call: Call) -> Response:
    """GET of all containers; the archived ones only if `listViewType` requests them."""
    view = call.request.query_value("listViewType", "ActiveOnly").casefold()
    place = _place_of(call)
    page = listing.paginate(call, sorted(_containers(call, "", _LAST), key=place), place)
    bodies = (_body(call, container, listed=True) for container in page.items)
    archived = {"activeonly": False, "archivedonly": True}.get(view)
    listed = (body for body in bodies if archived in (None, body["properties"]["isArchived"]))
    return listing.page_response(call, page, listed)


def write_container(call: Call) -> Response:
    """PUT of a container: its description, tags or archiving. It may have no version yet."""
    existing = _container(call)
    sent = call.data.get("properties") or {}
    allowed = (*_SAID, *ALL[call.kind].arm.container_keys)
    note = {name: sent[name] for name in allowed if sent.get(name) is not None}
    name = existing.name if existing else call.names["name"]
    now = clock.iso(call.state.now)
    old = call.blob_store.find(ItemKind.CONTAINER, _id(call, name))
    created = old.note.get(_MADE, now) if old else now
    call.blob_store.put(
        ItemKind.CONTAINER, _id(call, name), {**note, _MADE: created, _CHANGED: now}
    )
    body = _body(call, existing or Container(name))
    if existing is None or call.kind in _ALWAYS_CREATED:
        return json_response(body, 201, {"location": call.url(_id(call, name))})
    return json_response(body)


def delete_container(call: Call) -> Response:
    """DELETE of a container with all its versions (recorded: model-container-delete-2022)."""
    container = _container(call)
    if container is None:
        return Response(_NO_CONTENT)
    for version in container.versions:
        service.delete(call.handle, call.address.at(version))
    call.blob_store.delete(ItemKind.CONTAINER, _id(call, container.name))
    return Response(200)


def _place_of(call: Call) -> Callable[[Container], str]:
    """Return what containers are sorted by: the name, or the age of the newest version."""

    def place(container: Container) -> str:
        name = container.name.casefold()
        if call.kind in _LISTED_BY_NAME:
            return name
        return f"{_age(call, container)} {name}"

    return place


def _age(call: Call, container: Container) -> str:
    """Return a text that sorts newer containers first."""
    created = _stamp(call, container)["createdAt"]
    return f"{created} {container.rows[-1] if container.rows else 0:012}".translate(_INVERSE)


def _written(call: Call) -> Iterator[str]:
    """Return the names of the containers that were written themselves."""
    for item in call.blob_store.list(ItemKind.CONTAINER, _id(call, "")):
        yield item.name.rpartition("/")[2]


def _container(call: Call) -> Container | None:
    name = call.names["name"].lower()
    container = next(_containers(call, name, name), None)
    if container is None:
        item = call.blob_store.find(ItemKind.CONTAINER, _id(call, name))
        container = Container(item.name.rpartition("/")[2]) if item else None
    return container


def _containers(call: Call, first: str, last: str) -> Iterator[Container]:
    """The containers of the kind from one name (in lower case) to another, by name."""
    collection = rows.collection_key(Address(call.kind, ""))
    with call.store.read() as db:
        version_rows = db.execute(
            "SELECT id, name, version, json_extract(body, '$.systemData') FROM resources"
            " WHERE workspace = ? AND kind = ? AND collection = ? AND lower(name) BETWEEN ? AND ?"
            " ORDER BY lower(name), id",
            (call.state.id, call.kind, collection, first, last),
        ).fetchall()
    containers: dict[str, Container] = {}
    for name in _written(call):
        if first <= name.lower() <= last:
            containers[name.lower()] = Container(name)
    for number, spelt, version, stamp in version_rows:
        container = containers.setdefault(spelt.lower(), Container(spelt))
        container.versions.append(version)
        container.rows.append(number)
        container.stamps.append(stamp)
    yield from (containers[name] for name in sorted(containers))


def _note(call: Call, container: Container) -> dict[str, Data]:
    item = call.blob_store.find(ItemKind.CONTAINER, _id(call, container.name))
    return dict(item.note) if item else {}


def _stamp(call: Call, container: Container) -> dict[str, Data]:
    """Return the system data of a container: that of its newest version."""
    if container.stamps:
        return dict(json.loads(container.stamps[-1] or "{}"))
    note = _note(call, container)
    return call.system_data(note.get(_MADE), note.get(_CHANGED))


def _body(call: Call, container: Container, *, listed: bool = False) -> dict[str, Data]:
    note = _note(call, container)
    properties = {key: note[key] for key in note if key not in (_MADE, _CHANGED)}
    properties["latestVersion"] = container.versions[-1] if container.versions else None
    by_time = _VERSIONED_BY_TIME_IN_LISTS if listed else _VERSIONED_BY_TIME
    properties["nextVersion"] = _next_version(call, container, by_time)
    shared = ALL[call.kind].arm.container_keys
    newest = call.peek(Address(call.kind, container.name))
    if newest is not None and call.kind in _NUMBERED and newest.body["properties"]["isAnonymous"]:
        properties["latestVersion"] = "0"  # its versions are digests
    if newest is not None:
        properties |= {name: newest.body["properties"].get(name) for name in shared}
    stored = {
        "id": _id(call, container.name),
        "name": container.name,
        "type": f"{PROVIDER}/workspaces/{ALL[call.kind].collection}",
        "systemData": _stamp(call, container),
        "properties": properties,
    }
    own_shape = f"container-of-{call.kind}"
    names = (f"listed-{own_shape}", own_shape) if listed else (own_shape,)
    return views.body(call, stored, *names, "container")


def _next_version(call: Call, container: Container, by_time: Collection[str]) -> str:
    """Return the next version: for some kinds a time, else a number."""
    if call.kind in by_time:
        return re.sub(r"[T:.]", "-", clock.iso(call.state.now).rstrip("Z")) + "0000"
    numbers = [
        int(version) for version in container.versions if version.isascii() and version.isdecimal()
    ]
    return str(max(numbers) + 1) if numbers else "1"


def _id(call: Call, name: str) -> str:
    return Address(call.kind, name).id(call.scope)
