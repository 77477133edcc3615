"""Pending uploads, and datastores whose storage account is the emulator itself."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from mlctl.emulator.http.messages import Response, json_response, not_found
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.blob_store import ItemKind
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs
from mlctl.kinds.address import PROVIDER
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.state import clock

DEFAULT, ARTIFACTS = "workspaceblobstore", "workspaceartifactstore"
# name -> (type, what its container is called)
_BUILT_IN = {
    ARTIFACTS: ("AzureBlob", "azureml"),
    DEFAULT: ("AzureBlob", "azureml-blobstore-{guid}"),
    "workspacefilestore": ("AzureFile", "azureml-filestore-{guid}"),
    "workspaceworkingdirectory": ("AzureFile", "code-{guid}"),
}
_SECRETS = {"AccountKey": "key", "Sas": "sasToken", "ServicePrincipal": "clientSecret"}


def container(call: Call, name: str) -> str:
    """The account and the container of a datastore that every workspace has."""
    return f"{_account(call)}/{_BUILT_IN[name][1].format(guid=call.guid('storage'))}"


def start_pending_upload(call: Call) -> Response:
    """POST startPendingUpload: a container of the emulator, with a signature to write into it."""
    container = call.guid(f"{call.kind}/{call.names['name']}/{call.names['version']}".casefold())
    uri = f"{call.request.base}/{blobs.ROOT}/uploads/{container}"
    sas = f"{uri}?{blobs.sas(call.settings)}"
    return json_response(
        {
            "pendingUploadId": None,
            "pendingUploadType": "TemporaryBlobReference",
            "blobReferenceForConsumption": {
                "blobUri": uri,
                "storageAccountArmId": "",
                "credential": {"credentialType": "SAS", "sasUri": sas},
            },
        }
    )


def datastores(call: Call) -> Response:
    """GET of the datastores, or with `isDefault=true` of the default one."""
    found = sorted(_datastores(call), key=_key)
    wanted = {"true": True, "false": False}.get(call.request.query_value("isDefault").casefold())
    if wanted is not None:
        found = [each for each in found if each["properties"]["isDefault"] is wanted]
    return listing.page_response(call, *_paged(call, found))


def datastore(call: Call) -> Response:
    """GET of one datastore."""
    return json_response(_found(call))


def write_datastore(call: Call) -> Response:
    """PUT of a datastore; its secrets are not kept."""
    name = call.names["name"]
    properties = {**(call.data.get("properties") or {}), "isDefault": False}
    credentials = properties.get("credentials")
    if isinstance(credentials, dict):
        properties["credentials"] = {k: v for k, v in credentials.items() if k != "secrets"}
    old = call.blob_store.find(ItemKind.DATASTORE, _id(call, name))
    call.blob_store.put(ItemKind.DATASTORE, _id(call, name), properties)
    return json_response(_body(call, old.name.rsplit("/", 1)[-1] if old else name, properties), 201)


def delete_datastore(call: Call) -> Response:
    """DELETE of a datastore; the built-in ones stay.

    Raises:
        ServiceError: 400, it is one of these.
    """
    if call.names["name"].casefold() in _BUILT_IN:
        text = f"The datastore `{call.names['name']}` belongs to the workspace."
        raise Permanent("UserError", text)
    gone = call.blob_store.delete(ItemKind.DATASTORE, _id(call, call.names["name"]))
    return Response(200 if gone else 204)


def secrets(call: Call) -> Response:
    """POST listSecrets: a signature that expires where one is asked for, else a key."""
    found = _found(call)
    credentials = found["properties"].get("credentials") or {}
    kind = str(credentials.get("credentialsType", "None"))
    if call.data.get("expirableSecret") and kind == "AccountKey":
        return json_response({"secretsType": "Sas", "sasToken": blobs.sas(call.settings)})
    if kind not in _SECRETS:
        text = f"The datastore `{found['name']}` has no secrets."
        raise Permanent("UserError", text)
    secret = blobs.sas(call.settings) if kind == "Sas" else blobs.account_key(call.settings)
    return json_response({"secretsType": kind, _SECRETS[kind]: secret})


def _paged(
    call: Call, found: list[dict[str, Data]]
) -> tuple[listing.Page[dict[str, Data]], list[dict[str, Data]]]:
    page = listing.paginate(call, found, _key)
    return page, list(page.items)


def _key(datastore: dict[str, Data]) -> str:
    return str(datastore["name"]).casefold()


def _found(call: Call) -> dict[str, Data]:
    wanted = call.names["name"].casefold()
    for each in _datastores(call):
        if _key(each) == wanted:
            return each
    what = f"{PROVIDER}/workspaces/datastores/{call.names['name']}"
    raise not_found(what, f"workspace '{call.scope.workspace}'")


def _datastores(call: Call) -> Iterator[dict[str, Data]]:
    for name, (kind, container) in _BUILT_IN.items():
        yield _body(call, name, _built_in(call, name, kind, container))
    for item in call.blob_store.list(ItemKind.DATASTORE, _id(call, "")):
        yield _body(call, item.name.rsplit("/", 1)[-1], item.note)


def _built_in(call: Call, name: str, kind: str, container: str) -> dict[str, Data]:
    """The SDK makes `https://{accountName}.blob.core.windows.net` of it: an account name that is a
    host and a path leads the unmodified SDK to our own blobs, as Azurite's path-style URLs do."""
    guid = call.guid("storage")
    host = call.request.base.partition("://")[2]
    account = f"{host}/{blobs.ROOT}/{_account(call)}"
    where = {"containerName" if kind == "AzureBlob" else "fileShareName": container}
    return {
        "datastoreType": kind,
        "accountName": account,
        **{key: held.format(guid=guid) for key, held in where.items()},
        "endpoint": "core.windows.net",
        "protocol": "https",
        "serviceDataAccessAuthIdentity": "WorkspaceSystemAssignedIdentity",
        "credentials": {"credentialsType": "AccountKey"},
        "isDefault": name == DEFAULT,
    }


def _account(call: Call) -> str:
    return f"ml{call.guid('storage').replace('-', '')[:16]}"


def _body(call: Call, name: str, properties: Data) -> dict[str, Data]:
    moment = clock.iso(0.0)
    return {
        "id": _id(call, name),
        "name": name,
        "type": f"{PROVIDER}/workspaces/datastores",
        "systemData": {"createdAt": moment, "lastModifiedAt": moment},
        "properties": {"description": None, "tags": {}, "properties": {}, **properties},
    }


def _id(call: Call, name: str) -> str:
    return f"{call.scope.id}/datastores/{quote(name, safe='')}"
