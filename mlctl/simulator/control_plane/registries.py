"""Registries: those that were created or written to here, and those of others.

The former are stored as workspaces are, and hold what was written to them. Of the latter what
`catalog.registry_assets` names is listed, and has a newest version. Beyond that every version of
every asset is there, as nobody knows what the registries of others hold: an assumption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl import catalog
from mlctl.digests import uuid_of
from mlctl.kinds.address import PROVIDER, Address
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.rows import NO_WORKSPACE
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import (
    DEFAULT_LOCATION,
    WorkspaceHandle,
)

SUPPOSED_VERSION = "1"  # of what the catalogue is supposed to hold
_OF_CATALOGUE = ("model", "component")  # kinds of which a public registry has more than is listed
# What the registries begin with that anybody may read, and few may write to.
_PUBLIC = ("azureml", "huggingface", "nvidia")
_IMAGES = "mcr.microsoft.com/azureml/curated"
_ENVIRONMENT = "azureml://registries/azureml/environments/sklearn-1.5/labels/latest"


def find_store(store: Store, registry: str) -> WorkspaceHandle | None:
    """Return the store of a registry that was created or written to here; None for others."""
    with store.read() as db:
        state = rows.workspace_state(db, rows.registry_scope(registry), DEFAULT_LOCATION)
    return WorkspaceHandle(store, state.scope, state.location) if state.id != NO_WORKSPACE else None


def store_to_write(store: Store, registry: str) -> WorkspaceHandle:
    """Return the store of a registry to write to; a first write creates the registry.

    Raises:
        ServiceError: 403, it is Microsoft's.
    """
    if catalog.registry_assets(registry, "model"):
        text = f"The registry `{registry}` is Microsoft's: it is read, not written."
        raise Permanent("AuthorizationFailed", text, status=403)
    scope = rows.registry_scope(registry)
    return find_store(store, registry) or WorkspaceHandle(store, scope, DEFAULT_LOCATION)


def is_public(registry: str) -> bool:
    """Whether a registry is one that anybody may read, as far as its name tells."""
    return registry.casefold().startswith(_PUBLIC)


def share(source: WorkspaceHandle, address: Address, registry: str, target: Address) -> None:
    """Copy a version of an asset from a workspace to a registry; its files stay where they are.

    Raises:
        ServiceError: 404, there is no such asset; as `store_to_write`; the registry has the
            version with other content.
    """
    stored = service.require(source, address)
    service.put(
        store_to_write(source.store, registry), target, {"properties": stored.body["properties"]}
    )


def with_global_ids(registry: str, data: Data) -> Data:
    """Return stored data of a registry, with the ids by which everybody names its assets."""
    if isinstance(data, dict):
        return {key: with_global_ids(registry, value) for key, value in data.items()}
    if isinstance(data, list):
        return [with_global_ids(registry, value) for value in data]
    if not isinstance(data, str) or "registries" not in data:
        return data
    prefix = re.escape(f"/subscriptions/registries/resourceGroups/registries/providers/{PROVIDER}")
    text = re.sub(f"^{prefix}/workspaces/[^/]+", f"azureml://registries/{registry}", data)
    stored = r"^azureml://subscriptions/registries/.*?/datastores/[^/]+/paths"
    return re.sub(stored, f"https://{registry.lower()}.blob.core.windows.net", text)


def names(registry: str, kind: str) -> list[str]:
    """List the assets of a kind that a registry lists, by name."""
    assets = catalog.registry_assets(registry, kind)
    return [assets[name].name for name in sorted(assets)]


def newest(registry: str, address: Address) -> Address | None:
    """Return the newest version of a listed or assumed asset; None for anything else.

    The public registries have more models and components than are listed here.
    """
    asset = _listed(registry, address)
    if asset is None and is_supposed(registry, address):
        return address.at(SUPPOSED_VERSION)
    return Address(address.kind, asset.name, None, asset.version) if asset else None


def is_supposed(registry: str, address: Address) -> bool:
    """Whether an asset is one of the public catalogue that nobody has looked up."""
    of_catalogue = is_public(registry) and address.kind in _OF_CATALOGUE
    return of_catalogue and _listed(registry, address) is None


def container(registry: str, address: Address) -> dict[str, Data] | None:
    """Return the ARM body of an asset's container; None if the registry does not list it."""
    latest = newest(registry, address)
    if latest is None:
        return None
    properties: dict[str, Data] = {"description": None, "tags": {}, "properties": {}}
    properties |= {"isArchived": False, "latestVersion": latest.version}
    return _body(registry, latest.at(None), properties)


def version(registry: str, address: Address) -> dict[str, Data]:
    """Return the ARM body of a version of an asset."""
    location = uri(registry, address)
    properties = {
        "description": None,
        "tags": {"mlctl.supposed": "true"} if is_supposed(registry, address) else {},
        "properties": {"registryAssetId": uuid_of(location)},
        "isArchived": False,
        "isAnonymous": False,
        **_content(registry, address, location),
    }
    return _body(registry, address, properties)


def uri(registry: str, address: Address) -> str:
    """Return the id by which everybody names an asset of a registry."""
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


def _listed(registry: str, address: Address) -> catalog.RegistryAsset | None:
    return catalog.registry_assets(registry, address.kind).get(address.name.casefold())


def _content(registry: str, address: Address, location: str) -> Mapping[str, Data]:
    """Return what a version of an asset holds, by its kind."""
    asset = _listed(registry, address)
    sort = asset.type if asset else ""
    flavors: Data = {"python_function": {"data": {}}} if sort == "mlflow_model" else {}
    image = f"{_IMAGES}/{address.name.casefold()}:{address.version}"
    spec: Data = {"name": address.name, "version": address.version, "inputs": {}, "outputs": {}}
    # Nobody knows what it runs.
    runs: Data = {"type": "command", "command": "echo", "environment": _ENVIRONMENT}
    if sort == "pipeline":
        runs = {"type": "pipeline", "jobs": {}}
    contents: Mapping[str, Mapping[str, Data]] = {
        "model": {"modelType": sort or "custom_model", "flavors": flavors, "modelUri": location},
        "environment": {"osType": "Linux", "environmentType": "Curated", "image": image},
        "component": {"componentSpec": {**spec, **runs}},
        "data": {"dataType": "uri_folder", "dataUri": location},
        "code": {"codeUri": location},
    }
    return contents.get(address.kind, {})


def versions(registry: str, address: Address) -> Iterator[dict[str, Data]]:
    """Return the bodies of an asset's listed versions: only the newest one is known."""
    latest = newest(registry, address)
    if latest is not None:
        yield version(registry, latest)
