"""A registry of Azure as a backend, so that assets are planned and written as in a workspace.

Requests and bodies are those of `create_or_update` in azure-ai-ml 1.35.2: a place for the files is
asked for first, of all but components, whether there are files or not.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mlctl.backends.azure.arm import ArmClient, AzureOperation
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.datastore import container
from mlctl.backends.azure.errors import answers_decoded
from mlctl.backends.azure.reads import run_concurrently
from mlctl.backends.azure.registries import AzureRegistry
from mlctl.backends.azure.uploads import check_unchanged, send_files, with_place
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    Operation,
    SupportsRegistries,
    SupportsUpload,
)
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data, get
from mlctl.service_errors import CONFLICT, NotFound, Permanent

_WITHOUT_PLACE = ("component",)
# Where the bodies of assets name their files.
_PLACES = tuple(
    ("properties", *path)
    for path in (("modelUri",), ("dataUri",), ("codeUri",), ("build", "contextUri"))
)


class RegistryWriter(Backend, SupportsUpload, SupportsRegistries):
    """The assets of one registry."""

    name = "azure"

    def __init__(self, arm: ArmClient, cloud: Cloud, registry: str) -> None:
        self._arm = arm
        self._cloud = cloud
        self._registry = AzureRegistry(arm, cloud, registry)
        self.scope = self._registry.scope
        self._reserved: set[Address] = set()
        self._hashed: dict[str, Data] = {}  # by the URLs of uploads: the paths that tell their hash

    @property
    def location(self) -> str:
        return self._registry.location

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        if not addresses:
            return {}
        _ = self.location  # fails without the registry: all would seem absent
        answers = run_concurrently(partial(self._find, address) for address in addresses)
        return {address: live for address, live in zip(addresses, answers, strict=True) if live}

    def _find(self, address: Address) -> Live | None:
        try:
            live = self._registry.read(address)
        except NotFound:
            return None
        for wire in _PLACES:
            hashed = self._hashed.get(str(get(live.body, wire)))
            if hashed:
                return Live(live.address, with_place(live.body, wire, hashed))
        return live

    def list(self, kind: str, parent: str | None = None) -> builtins.list[Live]:
        if parent is not None or not ALL[kind].versioned:
            return []
        names = sorted(live.address.name for live in self._registry.list(kind))
        every = run_concurrently(partial(self._registry.list, kind, name) for name in names)
        return [version for versions in every for version in reversed(versions)]

    @answers_decoded()
    def put(self, address: Address, body: Mapping[str, Data]) -> AzureOperation:
        if address.kind not in _WITHOUT_PLACE and address not in self._reserved:
            self._registry.reserve(address)
        self._reserved.discard(address)
        sent = {key: value for key, value in body.items() if key != "etag"}
        return self._registry.begin_write(address, sent)

    def delete(self, address: Address) -> Operation:
        text = f"{address} cannot be deleted: registries keep their assets. Archive it instead"
        raise Permanent("NotSupported", text)

    @answers_decoded()
    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        check_unchanged(upload)
        signed = self._registry.reserve(address)
        if signed is None:
            text = f"{address} exists in registry {self.scope.workspace}, and its files stay"
            raise Permanent("Conflict", f"{text}: write another version", status=CONFLICT)
        send_files(container(signed, None, self._arm), upload, PurePosixPath(), address)
        self._reserved.add(address)
        url = urlsplit(signed)._replace(query="").geturl().rstrip("/")
        end = "/" * kind_of(address).content.by_url
        place = f"{url}/{Path(upload.path).name}{end}"
        self._hashed[place] = get(body, upload.wire)
        return with_place(body, upload.wire, place)

    def registry(self, name: str) -> AzureRegistry:
        return AzureRegistry(self._arm, self._cloud, name)

    def wait(self, seconds: float) -> None:
        self._arm.clock.pause(seconds)

    def close(self) -> None:
        self._arm.close()
