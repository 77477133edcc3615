"""The local backend: a simulated workspace in a SQLite file, or in memory."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import catalog as public
from mlctl.backends.ports.backend import Live, Node, Operation, Usage
from mlctl.catalog import Size
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import control, service
from mlctl.simulator.control_plane.control import CloudStatus, QuotaStatus
from mlctl.simulator.control_plane.faults import ActiveFault, AnyFault
from mlctl.simulator.control_plane.resources import operations, quota
from mlctl.simulator.control_plane.resources.operations import LongRunningOperation
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import Catalog, StoredResource
from mlctl.simulator.control_plane.state.settings import CloudSettings
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.backends.local.jobs import LocalEngine, LocalJobs
    from mlctl.backends.ports.health import Check
    from mlctl.backends.ports.metrics import Series

LOCATION = "eastus"


class LocalOperation:
    """A write to the local cloud; waiting moves the virtual clock and never sleeps."""

    def __init__(self, place: WorkspaceHandle, number: int | None) -> None:
        self._place = place
        self.number = number

    @property
    def id(self) -> str | None:
        """What any process can ask for it by (`LocalBackend.operation`); None when all was done."""
        if self.number is None:
            return None
        return operations.token(control.status(self._place).seed, self.number)

    @property
    def due(self) -> float | None:
        """When the write will be done; None when all was done."""
        if self.number is None:
            return None
        return service.due(self._place, self.number)

    def wait(self) -> None:
        """Let time pass until the write is done.

        Raises:
            ServiceError: the operation ended as failed.
        """
        if self.number is None:
            return
        ended = service.finish(self._place, self.number)
        if ended and ended.status == operations.FAILED and ended.failure:
            raise Permanent(ended.failure.code, ended.failure.message, status=200)


class LocalBackend:
    """A workspace of a simulated cloud: `Backend`, and every further ability of `base`."""

    name = "local"

    def __init__(
        self,
        path: str | Path | Store,
        scope: Scope,
        *,
        location: str = LOCATION,
        catalog: Catalog = public,
    ) -> None:
        """The workspace `scope` of the cloud at `path` (`:memory:`: a new one of its own).

        The workspace is made on its first use, in `location`.

        Raises:
            LocalStateError: the state cannot be used.
        """
        store = path if isinstance(path, Store) else Store(path)
        self.scope = scope
        self._place = WorkspaceHandle(store, scope, location, catalog)

    def within(self, scope: Scope, location: str = LOCATION) -> LocalBackend:
        """Another workspace of the same cloud, on the same connection."""
        place = self._place
        return LocalBackend(place.store, scope, location=location, catalog=place.catalog)

    @property
    def location(self) -> str:
        """The workspace's region."""
        place = self._place
        with place.store.look() as db:
            return rows.workspace_state(db, place.scope, place.location).location

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        """The resources that exist, by the address as asked."""
        found = service.read(self._place, addresses)
        return {address: _live(each) for address, each in found.items()}

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        """All of a kind (of one parent), by name, oldest version first.

        Raises:
            NotFound: the parent does not exist.
        """
        return [_live(each) for each in service.list_resources(self._place, kind, parent)]

    def put(self, address: Address, body: Mapping[str, Data]) -> LocalOperation:
        """Create or overwrite.

        Raises:
            ServiceError: refused at once.
        """
        return LocalOperation(self._place, service.put(self._place, address, body))

    def delete(self, address: Address) -> LocalOperation:
        """Delete, with all that is beneath.

        Raises:
            NotFound: there is nothing to delete.
        """
        return LocalOperation(self._place, service.delete(self._place, address))

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.advance(seconds)

    def now(self) -> float:
        """The clock, in seconds since its epoch."""
        return control.now(self._place)

    def due(self, asked: Operation) -> float | None:
        """When a write of this backend will be done; None where it is."""
        return asked.due if isinstance(asked, LocalOperation) else None

    def close(self) -> None:
        """Give the file back."""
        self._place.store.close()

    def usage(self, location: str) -> builtins.list[Usage]:
        """Cores and computes of a region, taken and allowed; or what holds `limits.EVERYWHERE`."""
        return [
            Usage(pool.name, pool.used, pool.limit)
            for pool in self.pools(location)
            if pool.name != quota.ENDPOINTS
        ]

    def sizes(self, location: str) -> builtins.list[Size]:  # noqa: ARG002 - all regions are alike
        """The sizes of the catalogue."""
        return [*public.sizes().values()]

    def checkup(self, now: float) -> Iterator[Check]:  # noqa: ARG002 - its own clock is always right
        """Look at the state and the locks."""
        from mlctl.backends.local.health import checkup

        yield from checkup(self.status(), self.scope, self.location)

    def nodes(self, cluster: Address) -> builtins.list[Node]:
        """The nodes of a cluster.

        Raises:
            NotFound: there is no such cluster.
        """
        from mlctl.backends.local.jobs import nodes

        return nodes(self._place, cluster)

    def metrics(
        self,
        cluster: Address,
        names: Sequence[str],
        *,
        interval: float | None = None,
        span: float | None = None,
    ) -> builtins.list[Series]:
        """Metrics of a cluster, as Azure Monitor has them.

        Raises:
            NotFound: there is no such cluster.
            ServiceError: there is no such metric, or the interval makes no sense.
        """
        from mlctl.backends.local.jobs import metrics

        return metrics(self._place, cluster, names, interval, span)

    @property
    def jobs(self) -> LocalJobs:
        """The jobs of the workspace."""
        from mlctl.backends.local.jobs import LocalJobs

        return LocalJobs(self._place)

    @property
    def engine(self) -> LocalEngine:
        """What nodes and jobs of this cloud meet with: delays, losses, capacity, workloads."""
        from mlctl.backends.local.jobs import LocalEngine

        return LocalEngine(self._place)

    def taken(self, address: Address, location: str) -> str | None:
        """Which other workspace of the subscription has the name in a region."""
        place = self._place
        with place.store.look() as db:
            world = rows.workspace_state(db, place.scope, place.location)
            other = rows.name_owner(db, world, address, location)
        return f"workspace `{other}` has it" if other else None

    def find_code(self, sha256: str) -> Address | None:
        """A code asset with this content hash."""
        place = self._place
        with place.store.look() as db:
            world = rows.workspace_state(db, place.scope, place.location)
            return rows.find_code(db, world.workspace, sha256)

    def operation(self, token: str) -> LongRunningOperation | None:
        """The operation that any process began, by its id; None when there is none."""
        place = self._place
        with place.store.look() as db:
            seed = rows.workspace_state(db, place.scope, place.location).seed
            number = operations.number_of(seed, token)
            return None if number is None else operations.find(db, number)

    def status(self) -> CloudStatus:
        """The whole cloud at this moment."""
        return control.status(self._place)

    def advance(self, seconds: float) -> float:
        """Let virtual time pass; the time after it, in seconds since the epoch.

        Raises:
            ValueError: time does not go back.
        """
        return control.advance(self._place, seconds)

    def settle(self) -> float:
        """Let virtual time pass until nothing runs any more."""
        return control.finish_operations(self._place)

    def reset(self, seed: int | str = 0) -> None:
        """Make the whole cloud new."""
        control.reset(self._place, str(seed))

    def configure(self, settings: CloudSettings) -> None:
        """Set how long things take and how strict the cloud is."""
        control.configure(self._place, settings)

    def pools(self, location: str | None = None) -> tuple[QuotaStatus, ...]:
        """The quotas of a region (the workspace's), or those that hold `limits.EVERYWHERE`."""
        return control.quotas(self._place, self.location if location is None else location)

    def set_quota(
        self,
        location: str | None = None,
        *,
        low_priority: int | None = None,
        dedicated: int | None = None,
        families: Mapping[str, int] | None = None,
        computes: int | None = None,
    ) -> None:
        """Set quotas of the subscription in a region (the workspace's); None leaves one as it is.

        Raises:
            ValueError: a limit is negative.
        """
        general = {
            quota.LOW_PRIORITY: low_priority,
            quota.TOTAL: dedicated,
            quota.COMPUTES: computes,
        }
        limits = {name: limit for name, limit in general.items() if limit is not None}
        control.set_quotas(self._place, location or self.location, limits | dict(families or {}))

    def set_pool_limits(self, *, pools: int | None = None, vms: int | None = None) -> None:
        """Set how many Batch Pools the account may have, and how many VMs each; None leaves one.

        Raises:
            ValueError: a limit is negative.
        """
        given = {quota.BATCH_POOLS: pools, quota.VMS_PER_POOL: vms}
        limits = {name: limit for name, limit in given.items() if limit is not None}
        control.set_quotas(self._place, quota.EVERYWHERE, limits)

    def add_fault(self, fault: AnyFault) -> int:
        """Set a fault for calls to come; its number."""
        return control.add_fault(self._place, fault)

    def faults(self) -> tuple[ActiveFault, ...]:
        """The faults that are set, and how many calls each has seen."""
        return self.status().faults

    def clear_faults(self, numbers: Collection[int] = ()) -> int:
        """Remove faults, all where no number is named; how many there were.

        Raises:
            NotFound: there is none of a number.
        """
        return control.clear_faults(self._place, numbers)


def _live(found: StoredResource) -> Live:
    found.body["properties"]["provisioningState"] = found.state
    return Live(found.address, found.body)
