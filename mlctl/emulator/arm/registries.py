"""Registries, as far as references to their assets need: every asset exists."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state import clock

_GROUP = "registries"


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


def version(call: Call) -> Response:
    """GET of one version of an asset."""
    return json_response(_version(call, call.names["version"]))


def versions(call: Call) -> Response:
    """GET of the versions of an asset: one."""
    return json_response({"value": [_version(call, "1")]})


def _version(call: Call, number: str) -> Data:
    names = call.names
    container = f"{names['scope']}/{names['name']}"
    moment = clock.iso(0.0)
    digest = uuid5(NAMESPACE_URL, f"{container}/{number}")
    own: dict[str, dict[str, Data]] = {
        "models": {"modelType": "custom_model", "flavors": {}},
        "environments": {"osType": "Linux", "image": f"registry.invalid/{names['name']}"},
        "components": {"componentSpec": {"name": names["name"], "version": number}},
        "codes": {},
    }
    uri = f"azureml://registries/{names['registry']}/{names['collection']}/{names['name']}"
    properties = {
        "tags": {},
        "properties": {"registryAssetId": str(digest)},
        "isArchived": False,
        "isAnonymous": False,
        f"{names['collection'].casefold().rstrip('s')}Uri": f"{uri}/versions/{number}",
        **own.get(names["collection"].casefold(), {}),
    }
    return {
        "id": f"/{container}/versions/{number}",
        "name": number,
        "type": f"{PROVIDER}/registries/{names['collection']}/versions",
        "systemData": {"createdAt": moment, "lastModifiedAt": moment},
        "properties": properties,
    }
