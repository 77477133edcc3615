"""Uploads of local files to the workspace's storage, laid out as by azure-ai-ml 1.35.2.

The folder of an upload is named by the hash of its content, and metadata of its first file mark it
as complete: what one tool has uploaded, the other does not upload again.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_OID, uuid5

from mlctl import pointer
from mlctl.assets import hashing, local_files
from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.reads import resource_path, workspace_path
from mlctl.files import open_regular
from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.upload import Upload, UploadTarget
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

_STORE = "workspaceblobstore"  # every workspace has it; `assets.local_files` names it too
_HASH_VERSION = "202208"
_COMPLETED = {"upload_status": "completed"}
_AT_ONCE = 8  # files that go up at the same time

Body = Mapping[str, Data]


class Uploader:
    """Uploads files into one workspace."""

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud) -> None:
        self._arm = arm
        self._scope = scope
        self._cloud = cloud

    def find_code(self, sha256: str) -> Address | None:
        """A code asset with this content hash; the service searches all names."""
        versions = resource_path(Address("code", str(uuid5(NAMESPACE_OID, sha256))), self._scope)
        query = {"hash": sha256, "hashVersion": _HASH_VERSION}
        body = self._arm.find(versions + path_of("versions"), **query) or {}
        for one in body.get("value") or ():
            parts = str(one["id"]).split("/")
            return Address("code", parts[-3], None, parts[-1])
        return None

    def upload(self, address: Address, body: Body, upload: Upload) -> Body:
        """Upload; the body that names what was uploaded.

        Raises:
            ServiceError: refused, or the content has changed since the plan was made.
        """
        _check_unchanged(upload)
        match upload.target:
            case UploadTarget.CODE:
                named: Data = self._code(address, upload)
            case UploadTarget.ASSET:
                named = self._asset(address, upload)
        properties = dict(body["properties"])
        made = {**body, "properties": properties}
        pointer.put(made, upload.wire, named)
        return made

    def _code(self, address: Address, upload: Upload) -> str:
        """Into a container that the service makes; the name is its URL without the signature."""
        began = resource_path(address, self._scope) + path_of("startPendingUpload")
        answer = self._arm.post(began, {"pendingUploadType": "TemporaryBlobReference"})
        reference = answer.get("blobReferenceForConsumption") or {}
        signed = pointer.get(reference, ("credential", "sasUri"))
        if not signed:
            raise errors.malformed_response("startPendingUpload gives no place to upload to")
        self._send(_container(str(signed), None, self._arm), upload, PurePosixPath(), address)
        return f"{str(reference['blobUri']).rstrip('/')}/{Path(upload.path).name}"

    def _asset(self, address: Address, upload: Upload) -> str:
        """Into the workspace's own datastore."""
        store = workspace_path(self._scope) + path_of("datastores", _STORE)
        properties = self._arm.get(store)["properties"]
        container, account = properties["containerName"], self._account(properties)
        secret = self._secret(store, properties)
        signed = _container(f"{account}/{container}", secret, self._arm)
        self._send(signed, upload, PurePosixPath(upload.folder), address)
        if kind_of(address).content_by_url:
            return f"{account}/{container}/{upload.folder}/{Path(upload.path).name}/"
        scope = self._scope
        return (
            f"azureml://subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
            f"/workspaces/{scope.workspace}/datastores/{_STORE}"
            f"/paths/{upload.folder}/{Path(upload.path).name}"
        )

    def _account(self, properties: Body) -> str:
        name, suffix = properties["accountName"], properties.get("endpoint") or self._cloud.storage
        here = urlsplit(self._arm.base)
        scheme = here.scheme if str(name).startswith(f"{here.netloc}/") else "https"
        return f"{scheme}://{name}.blob.{suffix}"

    def _secret(self, store: str, properties: Body) -> Any:
        """A SAS token or an account key; without either, the caller's own credential."""
        if pointer.get(properties, ("credentials", "credentialsType"), "None") == "None":
            return self._arm.credential
        asked = {"expirableSecret": True, "expireAfterHours": 1}
        found = self._arm.post(store + path_of("listSecrets"), asked)
        return found.get("sasToken") or found.get("key") or self._arm.credential

    def _send(
        self, container: Any, upload: Upload, folder: PurePosixPath, address: Address
    ) -> None:
        found = _files_with_names(Path(upload.path), folder)
        marked = container.get_blob_client(found[0][1])
        with errors.sdk_errors_decoded():
            if _is_uploaded(marked):
                return
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="upload") as pool:
                list(pool.map(lambda one: _upload_file(container, *one), found))
            named = {"name": address.name, "version": address.version or "1"}
            marked.set_blob_metadata({**named, **_COMPLETED})


def _check_unchanged(upload: Upload) -> None:
    try:
        same = local_files.digest(upload) == upload.digest
    except OSError as error:
        message = f"cannot read {upload.path}: {error.strerror or error}"
        raise Permanent("ContentGone", message) from None
    if not same:
        message = f"{upload.path} has changed since the plan was made; make a new plan"
        raise Permanent("ContentChanged", message)


def _files_with_names(path: Path, folder: PurePosixPath) -> list[tuple[Path, str]]:
    """Each file with the name of its blob, sorted: the first one carries the completion mark."""
    if path.is_file():
        return [(path, str(folder / path.name))]
    root = folder / path.name
    found = sorted((file, str(root / name)) for file, name in hashing.files(path))
    if not found:
        raise Permanent("EmptyFolder", f"there is nothing to upload in {path}")
    return found


def _container(url: str, secret: Any, arm: ArmClient) -> Any:
    """A client of a container; transfers are retried by apply alone, as all writes are."""
    from azure.storage.blob import ContainerClient

    options: dict[str, Any] = {"transport": arm.transport, "retry_total": 0}
    return ContainerClient.from_container_url(url, secret, **options)


def _is_uploaded(blob: Any) -> bool:
    from azure.core.exceptions import ResourceNotFoundError

    try:
        metadata = blob.get_blob_properties().metadata or {}
    except ResourceNotFoundError:
        return False
    return bool(_COMPLETED.items() <= metadata.items())


def _upload_file(container: Any, file: Path, name: str) -> None:
    with open_regular(file) as stream:
        container.upload_blob(name, stream, overwrite=True)
