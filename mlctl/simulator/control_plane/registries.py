"""Registries, as far as reading and references need them.

What `catalog.registry_assets` names is listed, and has a newest version. Beyond that every version
of every asset is there, as nobody knows what the registries of others hold: an assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from uuid import NAMESPACE_URL, uuid5

from mlctl import catalog
from mlctl.kinds.address import PROVIDER, Address
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state import clock

_IMAGES = "mcr.microsoft.com/azureml/curated"


def names(registry: str, kind: str) -> list[str]:
    """The assets of a kind that a registry lists, by name."""
    assets = catalog.registry_assets(registry, kind)
    return [assets[name].name for name in sorted(assets)]


def newest(registry: str, address: Address) -> Address | None:
    """The newest version of what a registry lists; None of anything else."""
    asset = catalog.registry_assets(registry, address.kind).get(address.name.casefold())
    return Address(address.kind, asset.name, None, asset.version) if asset else None


def container(registry: str, address: Address) -> dict[str, Data] | None:
    """The ARM body that stands for all versions of an asset; None where the registry lists none."""
    latest = newest(registry, address)
    if latest is None:
        return None
    properties: dict[str, Data] = {"description": None, "tags": {}, "properties": {}}
    properties |= {"isArchived": False, "latestVersion": latest.version}
    return _body(registry, latest.at(None), properties)


def version(registry: str, address: Address) -> dict[str, Data]:
    """The ARM body of a version of an asset."""
    location = uri(registry, address)
    properties = {
        "description": None,
        "tags": {},
        "properties": {"registryAssetId": str(uuid5(NAMESPACE_URL, location))},
        "isArchived": False,
        "isAnonymous": False,
        **_CONTENT.get(address.kind, _no_content)(registry, address, location),
    }
    return _body(registry, address, properties)


def uri(registry: str, address: Address) -> str:
    """The id by which everybody names an asset of a registry."""
    collection = ALL[address.kind].collection
    number = f"/versions/{address.version}" if address.version is not None else ""
    return f"azureml://registries/{registry}/{collection}/{address.name}{number}"


def _body(registry: str, address: Address, properties: Mapping[str, Data]) -> dict[str, Data]:
    moment, of_version = clock.iso(0.0), address.version is not None
    return {
        "id": uri(registry, address),
        "name": address.version if of_version else address.name,
        "type": f"{PROVIDER}/registries/{ALL[address.kind].collection}{'/versions' * of_version}",
        "systemData": {
            "createdAt": moment,
            "createdBy": "Microsoft",
            "createdByType": "User",
            "lastModifiedAt": moment,
        },
        "properties": {**properties},
    }


def _type(registry: str, address: Address) -> str:
    asset = catalog.registry_assets(registry, address.kind).get(address.name.casefold())
    return asset.type if asset else ""


def _model(registry: str, address: Address, location: str) -> dict[str, Data]:
    of_type = _type(registry, address) or "custom_model"
    flavors: Data = {"python_function": {"data": {}}} if of_type == "mlflow_model" else {}
    return {"modelType": of_type, "flavors": flavors, "modelUri": location}


def _environment(_registry: str, address: Address, _location: str) -> dict[str, Data]:
    image = f"{_IMAGES}/{address.name.casefold()}:{address.version}"
    return {"osType": "Linux", "environmentType": "Curated", "image": image}


def _component(registry: str, address: Address, _location: str) -> dict[str, Data]:
    spec: dict[str, Data] = {"name": address.name, "version": address.version}
    spec |= {"inputs": {}, "outputs": {}}
    if _type(registry, address) == "pipeline":
        return {"componentSpec": {**spec, "type": "pipeline", "jobs": {}}}
    image = "azureml://registries/azureml/environments/sklearn-1.5/labels/latest"
    runs = {"type": "command", "command": "echo", "environment": image}  # nobody knows what
    return {"componentSpec": {**spec, **runs}}


def _data(_registry: str, _address: Address, location: str) -> dict[str, Data]:
    return {"dataType": "uri_folder", "dataUri": location}


def _code(_registry: str, _address: Address, location: str) -> dict[str, Data]:
    return {"codeUri": location}


def _no_content(_registry: str, _address: Address, _location: str) -> dict[str, Data]:
    return {}


_CONTENT: Mapping[str, Callable[[str, Address, str], dict[str, Data]]] = {
    "model": _model,
    "environment": _environment,
    "component": _component,
    "data": _data,
    "code": _code,
}


def versions(registry: str, address: Address) -> Iterator[dict[str, Data]]:
    """The bodies of the listed versions of an asset: the newest one is known, no other."""
    latest = newest(registry, address)
    if latest is not None:
        yield version(registry, latest)
