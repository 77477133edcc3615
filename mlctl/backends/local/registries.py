"""Registries of the simulated cloud."""

from __future__ import annotations

import builtins

from mlctl.backends.ports.backend import Live, Registry
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane import registries


@dataclass(frozen=True, slots=True)
class LocalRegistry(Registry):
    """One registry."""

    name: str

    def read(self, address: Address) -> Live:
        resolved = registries.newest(self.name, address) if address.version is None else address
        if resolved is None:
            raise self._missing(address)
        return Live(resolved, registries.version(self.name, resolved))

    def list(self, kind: str, name: str | None = None) -> builtins.list[Live]:
        names = registries.names(self.name, kind) if name is None else [name]
        assets = []
        for one in names:
            address = Address(kind, one)
            body = registries.container(self.name, address)
            if body is None:
                raise self._missing(address)
            live = Live(address, body)
            assets.append(self.read(address) if name else live)
        return assets

    def _missing(self, address: Address) -> NotFound:
        text = f"There is no {address} in registry {self.name} of the simulated cloud."
        return NotFound("ResourceNotFound", text, status=404)
