"""Workspaces themselves: created at once from their body, and deleted with their content."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.kinds.address import Scope
from mlctl.kinds.registry import ALL, children
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.blob_store import BlobStore, ItemKind
from mlctl.simulator.control_plane.state.rows import NO_WORKSPACE
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle, ensure_workspace

COMPANIONS = {
    "storageAccount": "Microsoft.Storage/storageAccounts",
    "keyVault": "Microsoft.Keyvault/vaults",
    "applicationInsights": "Microsoft.insights/components",
}


def create(
    store: Store, scope: Scope, location: str, note: Mapping[str, Data]
) -> tuple[Scope, str, bool]:
    """Make a workspace, or write over what was said of one: `note` is ARM's body without ids.

    Returns its scope as first spelt, its region, which stays what it was, and whether it is new.

    Raises:
        ServiceError: 400, there is no such region, or no workspace can have the name.
    """
    if location not in catalog.regions():
        text = f"The provided location '{location}' is not available."
        raise Permanent("LocationNotAvailableForResourceType", text, target="location")
    handle = WorkspaceHandle(store, scope, location)
    with store.write() as db:
        is_new = handle.state(db).id == NO_WORKSPACE
        ensure_workspace(db, handle)
        state = handle.state(db)
    BlobStore(store).put(ItemKind.WORKSPACE, state.scope.id, note)
    return state.scope, state.location, is_new


def note(store: Store, scope: Scope) -> dict[str, Data]:
    """Return the body with which a workspace was created; {} if its first write created it."""
    item = BlobStore(store).find(ItemKind.WORKSPACE, scope.id)
    return dict(item.note) if item else {}


def companions(scope: Scope) -> dict[str, Data]:
    """Return the ids of what Azure creates with a workspace, unless they are given."""
    name = scope.workspace.lower()
    return {
        key: f"{scope.group}/providers/{provider}/{name}" for key, provider in COMPANIONS.items()
    }


def missing(scope: Scope) -> NotFound:
    """Return 404: there is no such workspace."""
    text = f"There is no workspace {scope.workspace} in resource group {scope.resource_group}."
    return NotFound("ResourceNotFound", text, status=404)


def change(store: Store, scope: Scope, changes: Mapping[str, Data]) -> dict[str, Data]:
    """Apply a PATCH to the body of a workspace; return the new body."""
    stored = note(store, scope)
    properties = {**(stored.get("properties") or {}), **(changes.get("properties") or {})}
    body = {**stored, **changes, "properties": properties}
    BlobStore(store).put(ItemKind.WORKSPACE, scope.id, body)
    return body


def provision_network(store: Store, scope: Scope) -> dict[str, Data]:
    """Provision the managed network of a workspace; return its status, in ARM's words."""
    network = (note(store, scope).get("properties") or {}).get("managedNetwork") or {}
    is_managed = network.get("isolationMode", "Disabled") != "Disabled"
    status = {"status": "Active" if is_managed else "Inactive", "sparkReady": False}
    if is_managed:
        change(store, scope, {"properties": {"managedNetwork": {**network, "status": status}}})
    return status


def delete(handle: WorkspaceHandle) -> None:
    """Delete a workspace with all that is in it; its jobs stay in the log of the cloud.

    Raises:
        NotFound: there is none.
        ServiceError: something in it cannot be deleted (a lock, a fault).
    """
    state = handle.current
    if state.id == NO_WORKSPACE:
        raise missing(handle.scope)
    kinds = [kind for kind in ALL.values() if not kind.parent and not kind.runs]
    # Endpoints come first, with their deployments: these use what the others are.
    for kind in sorted(kinds, key=lambda kind: not children(kind.name)):
        for stored in service.list_resources(handle, kind.name, None):
            if stored.address.name.casefold() in kind.arm.own_names:
                continue  # it goes with the workspace
            number = service.delete(handle, stored.address)
            if number is not None:
                service.finish(handle, number)
    with handle.store.write() as db:
        rows.forget_workspace(db, state.id)
    BlobStore(handle.store).delete(ItemKind.WORKSPACE, state.scope.id)
