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
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.service_errors import BAD_REQUEST, NotFound, Permanent
from mlctl.simulator.control_plane import service, workspaces
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.blob_store import BlobStore, ItemKind
from mlctl.simulator.control_plane.state.rows import NO_WORKSPACE
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import (
    DEFAULT_LOCATION,
    WorkspaceHandle,
    ensure_workspace,
)

SUPPOSED_VERSION = "1"  # of what the catalogue is supposed to hold
_OF_CATALOGUE = ("model", "component")  # kinds of which a public registry has more than is listed
# What the registries begin with that anybody may read, and few may write to.
_PUBLIC = ("azureml", "huggingface", "nvidia")
_ACCOUNTS = (
    ("storageAccountDetails", "systemCreatedStorageAccount", "Microsoft.Storage/storageAccounts/r"),
    ("acrDetails", "systemCreatedAcrAccount", "Microsoft.ContainerRegistry/registries/r"),
)
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


def create(store: Store, registry: str, location: str, body: Mapping[str, Data]) -> bool:
    """Make a registry, or change one to what `body` says, in ARM's words; whether it was made.

    Raises:
        ServiceError: as `store_to_write`; 400, there is no such region, no registry can have the
            name, or the body is of no registry.
    """
    if not _are_regions((body.get("properties") or {}).get("regionDetails") or []):
        text = "The value of `properties.regionDetails` is of a wrong type."
        raise Permanent("InvalidRequestContent", text, status=BAD_REQUEST)
    region = catalog.region(location)
    if region not in catalog.regions():
        text = f"The provided location '{location}' is not available."
        raise Permanent("LocationNotAvailableForResourceType", text, target="location")
    handle = store_to_write(store, registry)
    is_new = find_store(store, registry) is None
    with store.write() as db:
        ensure_workspace(db, WorkspaceHandle(store, handle.scope, region))
    note = {"tags": body.get("tags") or {}, "properties": body.get("properties") or {}}
    BlobStore(store).put(ItemKind.WORKSPACE, handle.scope.id, note)
    return is_new


def arm_body(store: Store, registry: str, group: Scope) -> dict[str, Data]:
    """Return the ARM body of a stored registry, as in the resource group of a scope.

    Raises:
        NotFound: it is not.
    """
    handle = find_store(store, registry)
    if handle is None:
        text = f"The registry '{registry}' was not found."
        raise NotFound("ResourceNotFound", text, status=404)
    note = workspaces.note(store, handle.scope)
    properties = {key: value for key, value in (note.get("properties") or {}).items() if value}
    for region in properties.get("regionDetails") or ():
        _name_what_is_made(region, group)
    of_group = Scope(group.subscription, group.resource_group, handle.scope.workspace)
    return {
        "id": of_group.id.replace("/workspaces/", "/registries/"),
        "name": handle.scope.workspace,
        "type": f"{PROVIDER}/registries",
        "location": handle.location,
        "tags": note.get("tags") or {},
        "identity": {"type": "SystemAssigned"},
        "properties": {
            "publicNetworkAccess": "Enabled",
            "regionDetails": [{"location": handle.location}],
            **properties,
            "provisioningState": "Succeeded",
        },
    }


def _are_regions(regions: Data) -> bool:
    """Whether something is a list of regions, each with lists of accounts."""
    return _are_objects(regions) and all(
        _are_objects(region.get(details) or [])
        and _are_objects([detail.get(made) or {} for detail in region.get(details) or ()])
        for region in regions
        for details, made, _ in _ACCOUNTS
    )


def _are_objects(values: Data) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def _name_what_is_made(region: dict[str, Data], group: Scope) -> None:
    """Give ids to the accounts that are created with a region of a registry."""
    for details, made, account in _ACCOUNTS:
        for number, detail in enumerate(region.get(details) or ()):
            if detail.get(made):
                detail[made]["armResourceId"] = {
                    "resourceId": f"{group.group}/providers/{account}{number}"
                }


def every(store: Store) -> list[str]:
    """Return the names of the stored registries."""
    with store.read() as db:
        return [scope.workspace for scope, *_ in rows.workspaces(db, registries=True)]


def delete(store: Store, registry: str) -> None:
    """Delete a registry with all that is in it."""
    arm_body(store, registry, rows.registry_scope(registry))
    workspaces.delete(WorkspaceHandle(store, rows.registry_scope(registry), DEFAULT_LOCATION))
