"""A backend: the local workspace, of which nothing may be changed."""

from collections.abc import Mapping

from mlctl.backends.local.backend import LocalBackend, LocalOperation
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import Permanent


class Frozen(LocalBackend):
    """Reads, and refuses what would write."""

    name = "frozen"

    def put(self, address: Address, body: Mapping[str, Data]) -> LocalOperation:
        """Refuse."""
        raise Permanent("Frozen", f"{address} cannot be changed: the house is closed")

    def delete(self, address: Address) -> LocalOperation:
        """Refuse."""
        raise Permanent("Frozen", f"{address} cannot be deleted: the house is closed")


def open_frozen(scope: Scope, environment: Mapping[str, str]) -> Frozen:
    """The entry point."""
    return Frozen(environment.get("MLCTL_LOCAL_DB", ".mlctl/local.db"), scope)
