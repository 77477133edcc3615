"""Upload local files to the workspace's storage, in azure-ai-ml 1.35.2's layout.

An upload's folder is named by the hash of its content, and metadata of its first file mark it as
complete: what one tool has uploaded, the other does not upload again.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from mlctl import pointer
from mlctl.assets import folders, local_files
from mlctl.backends.azure import datastore, errors
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.datastore import Datastore, container
from mlctl.backends.azure.reads import resource_path
from mlctl.files import open_regular
from mlctl.kinds import datastore_uri
from mlctl.kinds.address import Address, Scope, kind_of
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data, Pointer
from mlctl.service_errors import Permanent

_HASH_VERSION = "202208"
_COMPLETED = {"upload_status": "completed"}
_AT_ONCE = 8  # files that are uploaded in parallel

Body = Mapping[str, Data]


class Uploader:
    """Uploads files into one workspace."""

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud) -> None:
        self._arm = arm
        self._scope = scope
        self._cloud = cloud

    def find_code(self, sha256: str) -> Address | None:
        """Find a code asset with this content hash; the service searches all names."""
        versions = resource_path(Address("code", str(uuid5(NAMESPACE_OID, sha256))), self._scope)
        query = {"hash": sha256, "hashVersion": _HASH_VERSION}
        body = self._arm.find(versions + path_of("versions"), **query) or {}
        for version in body.get("value") or ():
            parts = str(version["id"]).split("/")
            return Address("code", parts[-3], None, parts[-1])
        return None

    def upload(self, address: Address, body: Body, upload: Upload) -> Body:
        """Upload files, and return the body that refers to them."""
        check_unchanged(upload)
        match upload.target:
            case UploadTarget.CODE:
                code_id: Data = self._code(address, upload)
            case UploadTarget.ASSET:
                code_id = self._asset(address, upload)
        return with_place(body, upload.wire, code_id)

    def _code(self, address: Address, upload: Upload) -> str:
        """Upload to a container that the service creates; return its URL without the signature."""
        began = resource_path(address, self._scope) + path_of("startPendingUpload")
        answer = self._arm.post(began, {"pendingUploadType": "TemporaryBlobReference"})
        reference = answer.get("blobReferenceForConsumption") or {}
        signed = pointer.get(reference, ("credential", "sasUri"))
        if not signed:
            raise errors.malformed_response("startPendingUpload returned no upload location")
        send_files(container(str(signed), None, self._arm), upload, PurePosixPath(), address)
        return f"{str(reference['blobUri']).rstrip('/')}/{Path(upload.path).name}"

    def _asset(self, address: Address, upload: Upload) -> str:
        """Upload to the workspace's own datastore."""
        store = Datastore(self._arm, self._scope, self._cloud)
        send_files(store.container(), upload, PurePosixPath(upload.folder), address)
        if kind_of(address).content.by_url:
            return f"{store.url}/{upload.folder}/{Path(upload.path).name}/"
        path = f"{datastore.NAME}/paths/{upload.folder}/{Path(upload.path).name}"
        return datastore_uri.long(f"azureml://datastores/{path}", self._scope, "resourcegroups")


def send_files(container: Any, upload: Upload, folder: PurePosixPath, address: Address) -> None:
    """Send the files of an asset to a folder of a container, unless they exist."""
    files = _files_with_names(Path(upload.path), folder)
    marked = container.get_blob_client(files[0][1])
    with errors.sdk_errors_decoded():
        if _is_uploaded(marked):
            return
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="upload") as pool:
            list(pool.map(lambda pair: _upload_file(container, *pair), files))
        identity = {"name": address.name, "version": address.version or "1"}
        marked.set_blob_metadata({**identity, **_COMPLETED})


def with_place(body: Body, wire: Pointer, place: Data) -> Body:
    """Return the body of an asset with the place of its files."""
    new_body = copy.deepcopy({**body})
    pointer.put(new_body, wire, place)
    return new_body


def check_unchanged(upload: Upload) -> None:
    """Check that local files have not changed since the plan was made.

    Raises:
        Permanent: they have, or cannot be read.
    """
    try:
        is_unchanged = local_files.digest(upload) == upload.digest
    except OSError as error:
        message = f"cannot read {upload.path}: {error.strerror or error}"
        raise Permanent("ContentGone", message) from None
    if not is_unchanged:
        message = f"{upload.path} has changed since the plan was made; make a new plan"
        raise Permanent("ContentChanged", message)


def _files_with_names(path: Path, folder: PurePosixPath) -> list[tuple[Path, str]]:
    """Return each file with its blob's name, sorted: the first one carries the completion mark."""
    if path.is_file():
        return [(path, str(folder / path.name))]
    root = folder / path.name
    pairs = sorted((file, str(root / name)) for file, name in folders.list_uploads(path))
    if not pairs:
        raise Permanent("EmptyFolder", f"there is nothing to upload in {path}")
    return pairs


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
