"""Registries of the simulated cloud."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from mlctl.backends.ports.backend import Live, Registry
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import registries, service
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


@dataclass(frozen=True, slots=True)
class LocalRegistry(Registry):
    """One registry: kept here, or somebody else's, assumed to have whatever is requested."""

    store: Store
    name: str

    def read(self, address: Address) -> Live:
        workspace = registries.find_store(self.store, self.name)
        if workspace is not None:
            stored = service.read(workspace, [address]).get(address)
            if stored is None:
                raise self._missing(address)
            return self._live(stored)
        resolved = registries.newest(self.name, address) if address.version is None else address
        if resolved is None:
            raise self._missing(address)
        return Live(resolved, registries.version(self.name, resolved))

    def list(self, kind: str, name: str | None = None) -> builtins.list[Live]:
        workspace = registries.find_store(self.store, self.name)
        if workspace is not None:
            return [*self._kept(workspace, kind, name)]
        assets = []
        for listed in registries.names(self.name, kind) if name is None else [name]:
            address = Address(kind, listed)
            body = registries.container(self.name, address)
            if body is None:
                raise self._missing(address)
            assets.append(self.read(address) if name else Live(address, body))
        return assets

    def _kept(self, kept: WorkspaceHandle, kind: str, name: str | None) -> Iterator[Live]:
        """Yield the versions of a name, newest first, or the newest version of each name."""
        stored = service.list_resources(kept, kind, None)
        if name is not None:
            versions = [item for item in stored if item.address.at(None) == Address(kind, name)]
            if not versions:
                raise self._missing(Address(kind, name))
            yield from map(self._live, reversed(versions))
            return
        newest = {
            item.address.at(None): item for item in stored
        }  # oldest first: the last one stays
        for address, item in newest.items():
            live = self._live(item)
            properties = {**live.body["properties"], "latestVersion": item.address.version}
            uri = registries.uri(self.name, address)
            body = {**live.body, "id": uri, "name": address.name, "properties": properties}
            yield Live(address, body)

    def _live(self, stored: StoredResource) -> Live:
        return Live(stored.address, registries.with_global_ids(self.name, stored.body))

    def _missing(self, address: Address) -> NotFound:
        text = f"There is no {address} in registry {self.name} of the simulated cloud."
        return NotFound("ResourceNotFound", text, status=404)
