"""Values that the rules of resource types work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from mlctl.dataclasses import dataclass
from mlctl.digests import uuid_of
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.settings import CloudSettings


@dataclass(frozen=True, slots=True)
class StoredResource:
    """A resource in the database.

    `address` has the spelling of the first write. `state` is the provisioning state, which `body`
    does not contain. `operation` is the number of the running operation, None if there is none;
    `last_operation` that of the last one, whether it runs or not.
    """

    id: int
    address: Address
    state: str
    operation: int | None
    body: dict[str, Data]
    last_operation: int | None = None


@dataclass(frozen=True, slots=True)
class PutRequest:
    """A PUT of `body` at `address` over `old`, and what the rules of its kind may use to check it.

    `api_version` is the one that the request asks for; `find` looks a resource up in the same
    workspace, or in the given scope.
    """

    address: Address
    body: Mapping[str, Data]
    old: StoredResource | None
    scope: Scope
    location: str
    now: float
    seed: str
    settings: CloudSettings
    find: Callable[[Address, Scope | None], StoredResource | None]
    api_version: str

    def guid(self, purpose: str) -> str:
        """Return a UUID derived from the seed and `purpose`."""
        return _guid(f"{self.seed}/{purpose}")


@lru_cache(maxsize=64)
def _guid(text: str) -> str:
    return uuid_of(text)
