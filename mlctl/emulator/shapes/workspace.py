"""What the service computes in answers about workspaces, their connections and datastores."""

from __future__ import annotations

import re

from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes.shape import OMITTED, ResponseField, computed, condition
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.datastores import OWN
from mlctl.simulator.control_plane.workspaces import companions


@computed
def _companion_id(field: ResponseField) -> Data:
    """The id of a resource of another provider that a workspace was made with."""
    return companions(field.occasion.call.scope)[field.key]


@computed
def _workspace_name(field: ResponseField) -> Data:
    return field.occasion.call.scope.workspace


@computed
def _workspace_id(field: ResponseField) -> Data:
    return field.occasion.call.scope.id


@computed
def _tenant(_: ResponseField) -> Data:
    return TENANT


@computed
def _telemetry_key(field: ResponseField) -> Data:
    return field.occasion.call.guid("telemetry")


@computed
def _notebooks(field: ResponseField) -> Data:
    call = field.occasion.call
    guid, region = call.guid("workspace"), call.state.location
    name = re.sub(r"[^a-z0-9]", "", call.scope.workspace.casefold())
    return {
        "resourceId": guid.replace("-", ""),
        "fqdn": f"ml-{name}-{region}-{guid}.{region}.notebooks.azure.net",
        "isPrivateLinkEnabled": False,
        "notebookPreparationError": None,
    }


@condition
def _authored(field: ResponseField) -> bool:
    """Whether it is said who made a datastore: later versions do not, of what the service made."""
    address = field.occasion.address
    return not (address and address.name in OWN) or field.occasion.api_version < "2023"


@computed
def _account_name(field: ResponseField) -> Data:
    """The SDK makes `https://{accountName}.blob.core.windows.net` of it: an account name that is a
    host and a path leads the unmodified SDK to our own blobs, as Azurite's path-style URLs do."""
    address, call = field.occasion.address, field.occasion.call
    if address is None or address.name not in OWN:
        return OMITTED if field.stored is None else field.stored
    return f"{call.request.base.partition('://')[2]}/blob/{field.stored}"
