"""The default datastore of every workspace, and folders of blobs in any datastore.

The default datastore is a container for blobs; jobs can name folders of blobs in any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mlctl import pointer
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.errors import sdk_errors_decoded
from mlctl.backends.azure.reads import workspace_path
from mlctl.backends.ports.jobs import Folders
from mlctl.files import open_regular
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.datastore_uri import canonical
from mlctl.service_errors import NotFound, Permanent

NAME = "workspaceblobstore"  # the first default; it can be neither renamed nor deleted


class Datastore:
    """A container, as its datastore describes it on first use; by default the workspace's own.

    Raises:
        NotFound: the datastore does not exist.
    """

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud, name: str = NAME) -> None:
        self._arm = arm
        self._cloud = cloud
        self._path = workspace_path(scope) + path_of("datastores", name)
        self._properties = arm.get(self._path)["properties"]

    @property
    def account(self) -> str:
        """The URL of the storage account."""
        name = self._properties["accountName"]
        suffix = self._properties.get("endpoint") or self._cloud.storage
        base_url = urlsplit(self._arm.base)
        scheme = base_url.scheme if str(name).startswith(f"{base_url.netloc}/") else "https"
        return f"{scheme}://{name}.blob.{suffix}"

    @property
    def url(self) -> str:
        """The URL of the container."""
        return f"{self.account}/{self._properties['containerName']}"

    def container(self) -> Any:
        """Return a client of the container, with the workspace's secret for it."""
        return container(self.url, self._secret(), self._arm)

    def own_container(self) -> Any:
        """Return a client of the container, with the caller's own credential."""
        return container(self.url, self._arm.credential, self._arm)

    def _secret(self) -> Any:
        """Return a SAS token or an account key; if there is neither, the caller's credential."""
        if pointer.get(self._properties, ("credentials", "credentialsType"), "None") == "None":
            return self._arm.credential
        query = {"expirableSecret": True, "expireAfterHours": 1}
        secret = self._arm.post(self._path + path_of("listSecrets"), query)
        return secret.get("sasToken") or secret.get("key") or self._arm.credential


def container(url: str, secret: Any, arm: ArmClient) -> Any:
    """Return a client of a container; only its callers retry failures."""
    from azure.storage.blob import ContainerClient

    options: dict[str, Any] = {"transport": arm.transport, "retry_total": 0}
    return ContainerClient.from_container_url(url, secret, **options)


_URI = re.compile(r"azureml://datastores/([^/]+)/paths/(.*)", re.DOTALL)
_ASSET = re.compile(r"azureml:([^/@:]+)(?:@latest|:([^/:@]+))?")
_AT_ONCE = 8  # files that are sent or removed in parallel


class BlobFolders(Folders):
    """The folders of one workspace; each method does what its port says."""

    def __init__(self, backend: Any, check: Callable[[], None]) -> None:
        """`backend` is the AzureBackend; `check` raises if nothing may be written any more."""
        self._backend = backend
        self._check = check

    def locate(self, text: str) -> str:
        match = _ASSET.fullmatch(text)
        if match is None:
            return text
        address = Address("data", match[1], None, match[2])
        live = self._backend.read([address]).get(address)
        if live is None:
            raise NotFound("NoSuchData", f"there is no data asset `{text}`", status=404)
        if pointer.get(live.body, ("properties", "dataType")) != "uri_folder":
            raise Permanent("NoFolder", f"the data asset `{text}` is not a uri_folder")
        return str(pointer.get(live.body, ("properties", "dataUri")))

    def files(self, uri: str) -> dict[str, int]:
        match = _URI.fullmatch(canonical(uri, self._backend.scope))
        if match is None:
            why = f"`{uri}` is not in any of this workspace's datastores"
            raise Permanent("NotListed", f"{why}, so mlctl cannot list its files")
        prefix = f"{match[2].strip('/')}/".lstrip("/")
        with sdk_errors_decoded():
            sizes = {
                str(blob.name).removeprefix(prefix): int(blob.size)
                for blob in self._container(match[1]).list_blobs(name_starts_with=prefix)
                if (blob.metadata or {}).get("hdi_isfolder") != "true"  # of hierarchical storage
            }
        return dict(sorted(sizes.items()))

    def write(self, folder: str, files: Mapping[str, Path]) -> None:
        self._check()
        container = self._container(NAME)

        def send(name: str) -> None:
            with open_regular(files[name]) as stream:
                container.upload_blob(f"{folder}/{name}", stream, overwrite=True)

        with sdk_errors_decoded(), ThreadPoolExecutor(_AT_ONCE, "upload") as pool:
            list(pool.map(send, files))

    def remove(self, folder: str) -> None:
        self._check()
        container = self._container(NAME)

        def drop(name: str) -> None:
            from azure.core.exceptions import ResourceNotFoundError

            try:
                container.delete_blob(name)
            except ResourceNotFoundError:
                return

        with sdk_errors_decoded(), ThreadPoolExecutor(_AT_ONCE, "remove") as pool:
            blobs = container.list_blobs(name_starts_with=f"{folder}/")
            list(pool.map(drop, [str(blob.name) for blob in blobs]))

    def _container(self, name: str) -> Any:
        """Return a client of a datastore's container; its secret is valid for an hour."""
        store = Datastore(self._backend.arm, self._backend.scope, self._backend.cloud, name)
        return store.container()
