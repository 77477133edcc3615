"""What the rules of a resource type may know about the world when they judge one request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from uuid import NAMESPACE_URL, uuid5

from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.settings import CloudSettings


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
    find: Callable[[Address, Scope | None], StoredResource | None]

    def guid(self, purpose: str) -> str:
        """An id that depends on the seed and `purpose` only."""
        return _guid(f"{self.seed}/{purpose}")


@lru_cache(maxsize=64)
def _guid(text: str) -> str:
    return str(uuid5(NAMESPACE_URL, text))
