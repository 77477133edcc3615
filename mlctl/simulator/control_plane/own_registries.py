"""The user's own registries: created, described, listed and deleted."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.pointer import Data
from mlctl.service_errors import BAD_REQUEST, NotFound, Permanent
from mlctl.simulator.control_plane import workspaces
from mlctl.simulator.control_plane.registries import find_store, store_to_write
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.blob_store import BlobStore, ItemKind
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import (
    DEFAULT_LOCATION,
    WorkspaceHandle,
    ensure_workspace,
)

_ACCOUNTS = (
    ("storageAccountDetails", "systemCreatedStorageAccount", "Microsoft.Storage/storageAccounts/r"),
    ("acrDetails", "systemCreatedAcrAccount", "Microsoft.ContainerRegistry/registries/r"),
)


def create(store: Store, registry: str, location: str, body: Mapping[str, Data]) -> bool:
    """Make a registry, or change one to what `body` says, in ARM's words; whether it was made.

    Raises:
        ServiceError: as `store_to_write`; 400, there is no such region, no registry can have
            the name, or the body is of no registry.
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
