"""Registries: those that were created or written to here, and assumed content of others.

URLs and answers are those that azure-ai-ml 1.35.2 asks for and reads (`_utils/_registry_utils.py`,
`operations/_registry_operations.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from mlctl.dataclasses import replace
from mlctl.emulator.arm import assets
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.kinds.address import LATEST, Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data, get
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import registries
from mlctl.simulator.control_plane.state import rows

_GROUP = "registries"
_NO_CONTENT = 204
_WRITTEN_AGAIN = frozenset({"environment"})  # with the same content, as in a workspace
_DISCOVERY = "/registrymanagement/v1.0/registries"
_KINDS = {kind.collection.casefold(): kind.name for kind in ALL.values() if kind.versioned}
_OF_WORKSPACE = (
    r"azureml://locations/[^/]+/workspaces/(?P<workspace>[^/]+)/(?P<collection>[^/]+)"
    r"/(?P<name>[^/]+)/versions/(?P<version>[^/]+)"
)
_Handler = Callable[[Call], Response]


def discovery(call: Call) -> Response:
    """GET of the discovery of a registry: this emulator."""
    name = call.names["registry"]
    return json_response(
        {
            "registryName": name,
            "primaryRegionResourceProviderUri": call.request.base + "/",
            "resourceGroup": _GROUP,
            "subscriptionId": call.settings.home.subscription,
            "primaryRegion": "eastus",
            "registryFqdns": {},
        }
    )


def create(call: Call) -> Response:
    """PUT of a registry, done at once."""
    name = call.names["registry"]
    is_new = registries.create(call.store, name, str(call.data.get("location") or ""), call.data)
    return json_response(_registry(call, name), 201 if is_new else 200)


def delete(call: Call) -> Response:
    """DELETE of a registry with its content; 204 if there is none."""
    if registries.find_store(call.store, call.names["registry"]) is None:
        return Response(_NO_CONTENT)
    registries.delete(call.store, call.names["registry"])
    return Response(200)


def show(call: Call) -> Response:
    """GET of a registry."""
    return json_response(_registry(call, call.names["registry"]))


def show_all(call: Call) -> Response:
    """GET of the registries that were created here."""
    names = registries.every(call.store)
    return json_response({"value": [_registry(call, name) for name in names]})


def _registry(call: Call, name: str) -> dict[str, Data]:
    group = Scope(call.names["subscription"], call.names.get("group", _GROUP), name)
    body = registries.arm_body(call.store, name, group)
    body["properties"]["discoveryUrl"] = f"{call.request.base}{_DISCOVERY}/{name}/discovery"
    return body


def _kept_by(handler: _Handler) -> Callable[[_Handler], _Handler]:
    """A handler that reads a registry kept here by `handler`, and supposes what others hold.

    Of a registry that is neither, nothing is there when it is asked for: who shares an asset, or
    writes one, looks first whether the version is free.
    """

    def decorate(supposed: _Handler) -> _Handler:
        def handle(call: Call) -> Response:
            registry = call.names["registry"]
            is_kept = registries.find_store(call.store, registry) is not None
            if not is_kept and ("name" not in call.names or registries.is_public(registry)):
                return supposed(call)
            return _shown(call, handler(_within(call)))

        handle.__doc__ = supposed.__doc__
        return handle

    return decorate


def _within(call: Call) -> Call:
    """Return the call in the workspace as which a registry is stored."""
    return call.within(rows.registry_scope(call.names["registry"]), _kind(call))


def _shown(call: Call, response: Response) -> Response:
    """Answer about stored resources, with the ids of the registry."""
    body = registries.with_global_ids(call.names["registry"], json.loads(response.body))
    if "properties" in body:
        body["properties"]["provisioningState"] = "Succeeded"
    return json_response(body, response.status)


def _list_versions(call: Call) -> Response:
    """The versions of an asset: none of what is not there, as the SDK needs it of a new model."""
    try:
        return assets.show_versions(call)
    except NotFound:
        return json_response({"value": []})


def write(call: Call) -> Response:
    """PUT of a version of an asset; a first write creates the registry. It is done at once."""
    registries.store_to_write(call.store, call.names["registry"])
    return _shown(call, assets.write_version(_within(call)))


def write_container(call: Call) -> Response:
    """PUT of an asset's container."""
    registries.store_to_write(call.store, call.names["registry"])
    return _shown(call, assets.write_container(_within(call)))


def upload(call: Call) -> Response:
    """PUT of a temporary data reference: a place to write the files of an asset to."""
    registries.store_to_write(call.store, call.names["registry"])
    parts = str(call.data.get("assetId", "")).split("/")
    collection = parts[-4] if parts[3:] else "models"
    inner = _within(replace(call, names={**call.names, "collection": collection}))
    if inner.kind not in _WRITTEN_AGAIN and inner.peek(inner.address) is not None:
        text = f"{inner.address} exists in registry {call.names['registry']}."
        raise Permanent("Conflict", text, status=409)
    return uploads.start_pending_upload(inner)


def reference(call: Call) -> Response:
    """POST of a data reference: a signature to read the files of an asset with.

    The SDK takes the first part of the path of a blob for its container, which here is all blobs.
    """
    signed = uploads.reference(call.at_home(), f"{call.request.base}/{blobs.ROOT}")
    return json_response({"blobReferenceForConsumption": signed})


def import_asset(call: Call) -> Response:
    """POST of an import: an asset of a workspace is copied, which `share` of the SDK asks for."""
    source = re.fullmatch(_OF_WORKSPACE, str(get(call.data, ("properties", "sourceAssetId"))))
    if source is None:
        raise Permanent("ValidationError", "sourceAssetId is no asset of a workspace.")
    name, version = (
        str(get(call.data, ("properties", f"destination{part}")) or source[part.casefold()])
        for part in ("Name", "Version")
    )
    address = Address(_kind_of(source["collection"]), source["name"], None, source["version"])
    for workspace in call.in_workspaces():
        if workspace.guid("workspace") == source["workspace"]:
            target = Address(address.kind, name, None, version)
            registries.share(workspace.handle, address, call.names["registry"], target)
            return Response(200)
    raise NotFound("ResourceNotFound", f"There is no workspace {source['workspace']}.")


@_kept_by(assets.show_containers)
def containers(call: Call) -> Response:
    """GET of the assets that a registry lists."""
    kind, registry = _kind(call), call.names["registry"]
    assets = (registries.container(registry, Address(kind, name)) for name in _names(call, kind))
    return json_response({"value": list(assets)})


@_kept_by(assets.show_container)
def container(call: Call) -> Response:
    """GET of an asset's container."""
    asset = registries.container(call.names["registry"], _address(call))
    if asset is None:
        raise _missing(call)
    return json_response(asset)


@_kept_by(assets.show_version)
def version(call: Call) -> Response:
    """GET of one version of an asset."""
    address = _address(call).at(call.names["version"])
    return json_response(registries.version(call.names["registry"], address))


@_kept_by(assets.show_label)
def label(call: Call) -> Response:
    """GET of the version that a label names: `latest`."""
    newest = registries.newest(call.names["registry"], _address(call))
    if newest is None or call.names["label"].casefold() != LATEST:
        raise _missing(call)
    return json_response(registries.version(call.names["registry"], newest))


@_kept_by(_list_versions)
def versions(call: Call) -> Response:
    """GET of the versions of an asset: the newest one.

    Of what the registry does not list, one is there too, as references may name it.
    """
    registry, address = call.names["registry"], _address(call)
    listed = list(registries.versions(registry, address))
    return json_response({"value": listed or [registries.version(registry, address.at("1"))]})


def _names(call: Call, kind: str) -> list[str]:
    return registries.names(call.names["registry"], kind)


def _address(call: Call) -> Address:
    return Address(_kind(call), call.names["name"])


def _kind(call: Call) -> str:
    return _kind_of(call.names["collection"])


def _kind_of(collection: str) -> str:
    if collection.casefold() not in _KINDS:
        raise NotFound("InvalidResourceType", f"There are no {collection} in registries.")
    return _KINDS[collection.casefold()]


def _missing(call: Call) -> NotFound:
    names = call.names
    place = f"registry {names['registry']}"
    return NotFound("UserError", f"{_kind(call)} {names['name']} was not found in {place}.")
