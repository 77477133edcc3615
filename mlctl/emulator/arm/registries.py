"""Registries, as far as reading their assets and references to them need."""

from __future__ import annotations

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import LATEST, Address
from mlctl.kinds.registry import ALL
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import registries

_GROUP = "registries"
_KINDS = {kind.collection.casefold(): kind.name for kind in ALL.values() if kind.versioned}


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


def containers(call: Call) -> Response:
    """GET of the assets that a registry lists."""
    kind, registry = _kind(call), call.names["registry"]
    assets = (registries.container(registry, Address(kind, name)) for name in _names(call, kind))
    return json_response({"value": list(assets)})


def container(call: Call) -> Response:
    """GET of what stands for all versions of an asset."""
    asset = registries.container(call.names["registry"], _address(call))
    if asset is None:
        raise _missing(call)
    return json_response(asset)


def version(call: Call) -> Response:
    """GET of one version of an asset."""
    address = _address(call).at(call.names["version"])
    return json_response(registries.version(call.names["registry"], address))


def label(call: Call) -> Response:
    """GET of the version that a label names: `latest`."""
    newest = registries.newest(call.names["registry"], _address(call))
    if newest is None or call.names["label"].casefold() != LATEST:
        raise _missing(call)
    return json_response(registries.version(call.names["registry"], newest))


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
    collection = call.names["collection"]
    if collection.casefold() not in _KINDS:
        raise NotFound("InvalidResourceType", f"There are no {collection} in registries.")
    return _KINDS[collection.casefold()]


def _missing(call: Call) -> NotFound:
    names = call.names
    place = f"registry {names['registry']}"
    return NotFound("UserError", f"{_kind(call)} {names['name']} was not found in {place}.")
