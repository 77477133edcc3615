"""What the rules of a resource type may know about the world when they judge one request."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from uuid import NAMESPACE_URL, uuid5

from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.settings import CloudSettings


class Size(Protocol):
    """A VM size, as far as the cloud needs it."""

    @property
    def family(self) -> str: ...
    @property
    def vcpus(self) -> int: ...
    @property
    def gpus(self) -> int: ...
    @property
    def usd_per_hour(self) -> float | None: ...


class Retirement(Protocol):
    """When a VM size went, or goes."""

    @property
    def date(self) -> datetime.date: ...


class Catalog(Protocol):
    """The data about the outside world: the module `mlctl.catalog` has this shape."""

    def sizes(self) -> Mapping[str, Size]: ...
    def find_size(self, text: str, /) -> Size | None: ...
    def retirement(self, text: str, /) -> Retirement | None: ...
    def regions(self) -> Container[str]: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class StoredResource:
    """A stored resource. `address` is as first spelt; `body` is without the provisioning state.

    `operation` is the number of the one that runs on it.
    """

    id: int
    address: Address
    state: str
    operation: int | None
    body: dict[str, Data]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The world around one request. `find` looks in the same workspace, or in the scope given."""

    scope: Scope
    location: str
    now: float
    seed: str
    settings: CloudSettings
    catalog: Catalog
    find: Callable[[Address, Scope | None], StoredResource | None]

    def guid(self, purpose: str) -> str:
        """An id that depends on the seed and `purpose` only."""
        return _guid(f"{self.seed}/{purpose}")


@lru_cache(maxsize=64)
def _guid(text: str) -> str:
    return str(uuid5(NAMESPACE_URL, text))
