"""Pending uploads, and datastores whose storage account is the emulator itself."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.shape import Occasion, render
from mlctl.emulator.shapes.workspace import DATASTORE, OWN_DATASTORE
from mlctl.emulator.storage import blobs
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.blob_store import ItemKind

DEFAULT, ARTIFACTS = "workspaceblobstore", "workspaceartifactstore"
# name -> (type, what its container is called), the one that was made last first
_BUILT_IN = {
    DEFAULT: ("AzureBlob", "azureml-blobstore-{guid}"),
    "workspaceworkingdirectory": ("AzureFile", "code-{guid}"),
    ARTIFACTS: ("AzureBlob", "azureml"),
    "workspacefilestore": ("AzureFile", "azureml-filestore-{guid}"),
}
_MADE, _CHANGED = "createdAt", "lastModifiedAt"  # in the note of a datastore
_SECRETS = {"AccountKey": "key", "Sas": "sasToken", "ServicePrincipal": "clientSecret"}


def container(call: Call, name: str) -> str:
    """The account and the container of a datastore that every workspace has."""
    return f"{_account(call)}/{_BUILT_IN[name][1].format(guid=call.guid('storage'))}"


def start_pending_upload(call: Call) -> Response:
    """POST startPendingUpload: a container of the emulator, with a signature to write into it."""
    container = call.guid(f"{call.kind}/{call.names['name']}/{call.names['version']}".casefold())
    return json_response(
        {
            "blobReferenceForConsumption": reference(
                call, f"{call.request.base}/{blobs.ROOT}/uploads/{container}"
            ),
            "pendingUploadId": container,
            "pendingUploadType": "None",  # whatever was asked for
        }
    )


def reference(call: Call, uri: str) -> dict[str, Data]:
    """Where a blob or a container is, with a signature to read and write it."""
    scope = call.scope
    group = f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
    account = f"{group}/providers/Microsoft.Storage/storageAccounts/{_account(call)}"
    sas = f"{uri}?{blobs.sas(call.settings)}"
    return {
        "blobUri": uri,
        "storageAccountArmId": account,
        "credential": {"credentialType": "SAS", "sasUri": sas},
    }


def datastores(call: Call) -> Response:
    """GET of the datastores, newest first, or with `isDefault=true` of the default one."""
    stores = list(_datastores(call))
    is_default = {"true": True, "false": False}.get(
        call.request.query_value("isDefault").casefold()
    )
    if is_default is not None:
        stores = [store for store in stores if store["properties"]["isDefault"] is is_default]
    page = listing.paginate(call, enumerate(stores), lambda numbered: f"{numbered[0]:09}")
    return listing.page_response(call, page, (listed for _, listed in page.items))


def datastore(call: Call) -> Response:
    """GET of one datastore."""
    return json_response(_require_datastore(call))


def write_datastore(call: Call) -> Response:
    """PUT of a datastore, done at once; its secrets are not kept."""
    properties = {**(call.data.get("properties") or {}), "isDefault": False}
    credentials = properties.get("credentials")
    if isinstance(credentials, dict):
        properties["credentials"] = {k: v for k, v in credentials.items() if k != "secrets"}
    old = call.blob_store.find(ItemKind.DATASTORE, _id(call, call.names["name"]))
    name = old.name.rpartition("/")[2] if old else call.names["name"]
    now = clock.iso(call.state.now)
    note = {**properties, _CHANGED: now, _MADE: old.note.get(_MADE, now) if old else now}
    call.blob_store.put(ItemKind.DATASTORE, _id(call, name), note)
    headers = {"location": call.url(_id(call, name), call.request.query)}
    return json_response(_users_datastore(call, name, note), 201, headers)


def delete_datastore(call: Call) -> Response:
    """DELETE of a datastore; the built-in ones stay.

    Raises:
        ServiceError: 400, it is one of these.
    """
    if call.names["name"].casefold() in _BUILT_IN:
        text = f"The datastore `{call.names['name']}` belongs to the workspace."
        raise Permanent("UserError", text)
    is_deleted = call.blob_store.delete(ItemKind.DATASTORE, _id(call, call.names["name"]))
    return Response(200 if is_deleted else 204)


def secrets(call: Call) -> Response:
    """POST listSecrets: a signature that expires where one is asked for, else a key."""
    store = _require_datastore(call)
    credentials = store["properties"].get("credentials") or {}
    kind = str(credentials.get("credentialsType", "None"))
    if call.data.get("expirableSecret") and kind == "AccountKey":
        return json_response({"secretsType": "Sas", "sasToken": blobs.account_sas(call.settings)})
    if kind not in _SECRETS:
        text = f"The datastore `{store['name']}` has no secrets."
        raise Permanent("UserError", text)
    secret = blobs.sas(call.settings) if kind == "Sas" else blobs.account_key(call.settings)
    return json_response({"secretsType": kind, _SECRETS[kind]: secret})


def _require_datastore(call: Call) -> dict[str, Data]:
    name = call.names["name"].casefold()
    for store in _datastores(call):
        if str(store["name"]).casefold() == name:
            return store
    why = f"Could not find datastore: {call.names['name']}."
    raise NotFound("UserError", why, inner=("NotFoundError",))


def _datastores(call: Call) -> Iterator[dict[str, Data]]:
    """All of a workspace, the newest first."""
    written = [*call.blob_store.list(ItemKind.DATASTORE, _id(call, ""))]
    written.sort(key=lambda item: str(item.note.get(_MADE)), reverse=True)
    for item in written:
        yield _users_datastore(call, item.name.rpartition("/")[2], item.note)
    for name, (kind, container) in _BUILT_IN.items():
        properties = _built_in_properties(call, name, kind, container)
        moment = clock.iso(0.0)
        stamp = call.system_data(moment, moment, "Application")
        yield render(OWN_DATASTORE, _datastore_body(call, name, properties, stamp), Occasion(call))


def _built_in_properties(call: Call, name: str, kind: str, container: str) -> dict[str, Data]:
    """The SDK makes `https://{accountName}.blob.core.windows.net` of it: an account name that is a
    host and a path leads the unmodified SDK to our own blobs, as Azurite's path-style URLs do."""
    guid = call.guid("storage")
    host = call.request.base.partition("://")[2]
    account = f"{host}/{blobs.ROOT}/{_account(call)}"
    containers = {"containerName" if kind == "AzureBlob" else "fileShareName": container}
    home = {"subscriptionId": call.scope.subscription, "resourceGroup": call.scope.resource_group}
    identity = "WorkspaceSystemAssignedIdentity" if name == DEFAULT else "None"
    return {
        **(home if name == DEFAULT else {}),
        "datastoreType": kind,
        "accountName": account,
        **{key: template.format(guid=guid) for key, template in containers.items()},
        "endpoint": "core.windows.net",
        "protocol": "https",
        "serviceDataAccessAuthIdentity": identity,
        "credentials": {"credentialsType": "AccountKey"},
        "isDefault": name == DEFAULT,
    }


def _account(call: Call) -> str:
    return f"ml{call.guid('storage').replace('-', '')[:16]}"


def _users_datastore(call: Call, name: str, note: Data) -> dict[str, Data]:
    """A datastore that a user has written."""
    properties = dict(note)
    moment = clock.iso(0.0)
    created, changed = properties.pop(_MADE, moment), properties.pop(_CHANGED, moment)
    stamp = call.system_data(created, changed)
    return render(DATASTORE, _datastore_body(call, name, properties, stamp), Occasion(call))


def _datastore_body(call: Call, name: str, properties: Data, stamp: Data) -> dict[str, Data]:
    kind = f"{PROVIDER}/workspaces/datastores"
    head = {"id": _id(call, name), "name": name, "type": kind}
    return {**head, "properties": properties, "systemData": stamp}


def _id(call: Call, name: str) -> str:
    return f"{call.scope.id}/datastores/{quote(name, safe='')}"
