"""Folders of blobs that jobs can name: in the workspace's datastores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mlctl import pointer
from mlctl.backends.azure import datastore
from mlctl.backends.azure.errors import sdk_errors_decoded
from mlctl.backends.ports.folders import Folders
from mlctl.files import open_regular
from mlctl.kinds.address import Address
from mlctl.kinds.datastore_uri import canonical
from mlctl.service_errors import NotFound, Permanent

_URI = re.compile(r"azureml://datastores/([^/]+)/paths/(.*)", re.DOTALL)
_ASSET = re.compile(r"azureml:([^/@:]+)(?:@latest|:([^/:@]+))?")
_AT_ONCE = 8  # files that are sent, or removed, at the same time


class BlobFolders(Folders):
    """The folders of one workspace: each method as its port says."""

    def __init__(self, backend: Any, check: Callable[[], None]) -> None:
        """`backend` is the AzureBackend; `check` raises where nothing may be written any more."""
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
            raise Permanent("NoFolder", f"the data asset `{text}` is no uri_folder")
        return str(pointer.get(live.body, ("properties", "dataUri")))

    def files(self, uri: str) -> dict[str, int]:
        match = _URI.fullmatch(canonical(uri, self._backend.scope))
        if match is None:
            why = f"`{uri}` is in none of this workspace's datastores"
            raise Permanent("NotListed", f"{why}, so that mlctl cannot list its files")
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
        container = self._container(datastore.NAME)

        def send(name: str) -> None:
            with open_regular(files[name]) as stream:
                container.upload_blob(f"{folder}/{name}", stream, overwrite=True)

        with sdk_errors_decoded(), ThreadPoolExecutor(_AT_ONCE, "upload") as pool:
            list(pool.map(send, files))

    def remove(self, folder: str) -> None:
        self._check()
        container = self._container(datastore.NAME)

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
        """A client of the container of a datastore; its secret is good for an hour.

        Raises:
            NotFound: there is no such datastore.
        """
        store = datastore.Datastore(
            self._backend.arm, self._backend.scope, self._backend.cloud, name
        )
        return store.container()
