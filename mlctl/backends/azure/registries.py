"""Azure registries: looked up by name, read and written on their data planes.

URLs, bodies and api-version are those of azure-ai-ml 1.35.2 (`_utils/_registry_utils.py`). For all
assets but components, a place for files is requested first, even if there are none.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mlctl import catalog
from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient, AzureOperation, path_of
from mlctl.backends.azure.clouds import FRONT, Cloud, data_plane, discovery_url
from mlctl.backends.azure.datastore import container
from mlctl.backends.azure.errors import decodes_answers
from mlctl.backends.azure.reads import run_concurrently
from mlctl.backends.azure.uploads import check_unchanged, send_files, with_place
from mlctl.backends.ports.backend import (
    Backend,
    Live,
    Operation,
    SupportsRegistries,
    SupportsUpload,
)
from mlctl.kinds.address import PROVIDER, Address, Scope, kind_of
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data, get
from mlctl.service_errors import CONFLICT, NotFound, Permanent, ServiceError

_VERSION = "2021-10-01-dataplanepreview"
_PLACE = "primaryRegionResourceProviderUri"


class RegistryScope(Scope):
    """A registry in place of a workspace: its assets' ids have no subscription and group."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Return the prefix of its assets' ids."""
        return f"azureml://registries/{self.workspace}"


@decodes_answers
class AzureRegistry:
    """One registry; each method of its port does what that says."""

    def __init__(self, arm: ArmClient, cloud: Cloud, name: str) -> None:
        self._arm = arm
        self._cloud = cloud
        self._name = name
        self.scope = RegistryScope("", "", name)

    def read(self, address: Address) -> Live:
        """Read an asset; without a version, the one that the service calls the latest."""
        if address.version is None:
            versions = self._plane.get(self._path(address), _VERSION)
            latest = get(versions, ("properties", "latestVersion"))
            if not latest:
                text = f"{address} has no version in registry {self._name}"
                raise NotFound("ResourceNotFound", text, status=404)
            address = address.at(str(latest))
        body = self._plane.get(
            self._path(address) + path_of("versions", str(address.version)), _VERSION
        )
        return Live(address, body)

    def list(self, kind: str, name: str | None = None) -> builtins.list[Live]:
        if name is None:
            every = self._plane.pages(self._root(kind), _VERSION, listViewType="ActiveOnly")
            return [Live(Address(kind, str(entry["name"])), entry) for entry in every]
        return [*self._versions(Address(kind, name))]

    def begin_write(self, address: Address, body: Data) -> AzureOperation:
        """Start to create or overwrite a version of an asset."""
        at = self._path(address) + path_of("versions", str(address.version))
        return self._plane.begin("PUT", at, body, version=_VERSION)

    def reserve(self, address: Address) -> str | None:
        """Return the signed URL of a container for a version's files; None if the version exists.

        Raises:
            ServiceError: the service refuses, or the registry does not exist.
        """
        names = (address.name, "versions", str(address.version))
        asset_id = address.id(self.scope)
        body = {"assetId": asset_id, "temporaryDataReferenceType": "TemporaryBlobReference"}
        try:
            at = self._place + path_of("tempdatarefs", *names)
            answer, _ = self._plane.send("PUT", at, _VERSION, body=body)
        except ServiceError as error:
            if error.status == CONFLICT:
                return None
            raise
        signed = get(answer, ("blobReferenceForConsumption", "credential", "sasUri"))
        if not signed:
            raise errors.malformed_response("the registry returned no upload location")
        return str(signed)

    def begin_import(self, source: str, target: Address) -> AzureOperation:
        """Start to copy the workspace asset with the id `source`.

        Raises:
            ServiceError: the registry already has the version, or refuses.
        """
        at = self._path(target) + path_of("versions", str(target.version))
        if self._plane.find(at, _VERSION) is not None:
            text = f"{target} already exists in registry {self._name}; share it as another version"
            raise Permanent("Conflict", text, status=CONFLICT)
        properties = {"destinationName": target.name, "destinationVersion": target.version}
        body = {"properties": {"referenceType": "Id", **properties, "sourceAssetId": source}}
        return self._plane.begin("POST", self._place + "/import", body, version=_VERSION)

    @property
    def location(self) -> str:
        """The region that it was created in."""
        return catalog.region(self._details.get("primaryRegion"))

    def _versions(self, address: Address) -> Iterator[Live]:
        for body in self._plane.pages(self._path(address) + path_of("versions"), _VERSION):
            yield Live(address.at(str(body["name"])), body)

    @cached_property
    def _details(self) -> dict[str, Data]:
        """Return where the registry is."""
        url = discovery_url(self._arm, self._cloud)
        at = path_of("registrymanagement", "v1.0", "registries", self._name, "discovery")
        return data_plane(self._arm, self._cloud, url).get(url + at, "")

    @cached_property
    def _plane(self) -> ArmClient:
        url = self._details.get(_PLACE)
        if not url:
            raise errors.malformed_response(f"registry {self._name} has no known location")
        return data_plane(self._arm, self._cloud, str(url))

    @property
    def _place(self) -> str:
        """Return the path of the registry."""
        subscription = str(self._details.get("subscriptionId"))
        group = path_of(
            "subscriptions", subscription, "resourceGroups", str(self._details.get("resourceGroup"))
        )
        return FRONT + group + path_of("providers", PROVIDER, "registries", self._name)

    def _root(self, kind: str) -> str:
        """Return the path of all assets of a kind."""
        return self._place + path_of(ALL[kind].collection)

    def _path(self, address: Address) -> str:
        return self._root(address.kind) + path_of(address.name)


_WITHOUT_PLACE = ("component",)
# The places in the bodies of assets that name their files.
_PLACES = tuple(
    ("properties", *path)
    for path in (("modelUri",), ("dataUri",), ("codeUri",), ("build", "contextUri"))
)


@decodes_answers
class RegistryWriter(Backend, SupportsUpload, SupportsRegistries):
    """The assets of one registry."""

    name = "azure"

    def __init__(self, arm: ArmClient, cloud: Cloud, registry: str) -> None:
        self._arm = arm
        self._cloud = cloud
        self._registry = AzureRegistry(arm, cloud, registry)
        self.scope = self._registry.scope
        self._reserved: set[Address] = set()
        self._hashed: dict[str, Data] = {}  # by the URLs of uploads: the paths that show their hash

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

    def put(self, address: Address, body: Mapping[str, Data]) -> AzureOperation:
        if address.kind not in _WITHOUT_PLACE and address not in self._reserved:
            self._registry.reserve(address)
        self._reserved.discard(address)
        sent = {key: value for key, value in body.items() if key != "etag"}
        return self._registry.begin_write(address, sent)

    def delete(self, address: Address) -> Operation:
        text = f"{address} cannot be deleted: registries keep their assets. Archive it instead"
        raise Permanent("NotSupported", text)

    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        check_unchanged(upload)
        signed = self._registry.reserve(address)
        if signed is None:
            text = (
                f"{address} already exists in registry {self.scope.workspace}, and its files stay"
            )
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
