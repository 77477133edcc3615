"""Rules for datastores, and those that the service creates with every workspace."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.digests import uuid_of
from mlctl.kinds.address import PROVIDER, Address, kind_of
from mlctl.kinds.values import form_of_body
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources import arm_body, by_schema
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.context import PutRequest, StoredResource
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import WorkspaceState

DEFAULT, ARTIFACTS = "workspaceblobstore", "workspaceartifactstore"
_SERVICE = uuid_of("mlctl/service")  # who made those of every workspace
# name -> (type, what its container is called), the one that was made last first (recorded:
# datastore-list)
OWN: Mapping[str, tuple[str, str]] = {
    DEFAULT: ("AzureBlob", "azureml-blobstore-{guid}"),
    "workspaceworkingdirectory": ("AzureFile", "code-{guid}"),
    ARTIFACTS: ("AzureBlob", "azureml"),
    "workspacefilestore": ("AzureFile", "azureml-filestore-{guid}"),
}
SECRETS: Mapping[str, str] = {
    "AccountKey": "key",
    "Sas": "sasToken",
    "ServicePrincipal": "clientSecret",
    "Certificate": "certificate",
}


def accept(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a datastore; its secrets are required, but not stored.

    Raises:
        ServiceError: the request is not valid, or the datastore is one of the workspace's own.
    """
    address = request.address
    arm_body.refuse_own(address)
    kind = kind_of(address)
    pattern = str(kind.forms[-1].schema["properties"]["name"]["pattern"])
    if request.old is None and not re.search(pattern, address.name):
        raise bad(f"The datastore name `{address.name}` is invalid.", "InvalidResourceName")
    top, properties = arm_body.read_body(request)
    types = kind.forms[-1].schema["properties"]["type"]["x-mlctl-enum"].values()
    name = "datastoreType"
    properties[name] = arm_body.enum_value(properties.get(name), types, name)
    credentials = arm_body.section(properties, "credentials") or {"credentialsType": "None"}
    secrets = arm_body.section(credentials, "secrets")
    credentials.pop("secrets", None)
    sort = str(credentials.get("credentialsType"))
    if sort in SECRETS and not secrets.get(SECRETS[sort]):
        raise bad(f"Credentials of type {sort} need `secrets.{SECRETS[sort]}`.", "UserError")
    properties |= {"credentials": credentials, "isDefault": False}
    by_schema.fill_in(request, top)
    by_schema.require(kind, top, form_of_body(kind, top, request.scope))
    return arm_body.stored_body(request, top)


def container(state: WorkspaceState, name: str) -> str:
    """Return the name of the container or file share of one of a workspace's own datastores."""
    return OWN[name][1].format(guid=state.guid("storage"))


def account(state: WorkspaceState) -> str:
    """Return the name of the storage account of a workspace."""
    return f"ml{state.guid('storage').replace('-', '')[:16]}"


def own(state: WorkspaceState) -> dict[Address, StoredResource]:
    """Return the datastores of a workspace that nobody has written, newest first."""
    epoch = clock.iso(0.0)
    stamp = {
        f"{verb}{suffix}": value
        for verb in ("created", "lastModified")
        for suffix, value in (("At", epoch), ("By", _SERVICE), ("ByType", "Application"))
    }
    resources = {}
    for name in OWN:
        address = Address("datastore", name)
        head = {"id": address.id(state.scope), "name": name}
        body = {
            **head,
            "type": f"{PROVIDER}/workspaces/datastores",
            "properties": _own_properties(state, name),
            "systemData": stamp,
        }
        resources[address] = StoredResource(0, address, "Succeeded", None, body)
    return resources


def _own_properties(state: WorkspaceState, name: str) -> dict[str, Data]:
    kind, _ = OWN[name]
    home = {"subscriptionId": state.scope.subscription, "resourceGroup": state.scope.resource_group}
    return {
        **(home if name == DEFAULT else {}),
        "datastoreType": kind,
        "accountName": account(state),
        "containerName" if kind == "AzureBlob" else "fileShareName": container(state, name),
        "endpoint": "core.windows.net",
        "protocol": "https",
        "serviceDataAccessAuthIdentity": (
            "WorkspaceSystemAssignedIdentity" if name == DEFAULT else "None"
        ),
        "credentials": {"credentialsType": "AccountKey"},
        "isDefault": name == DEFAULT,
    }
