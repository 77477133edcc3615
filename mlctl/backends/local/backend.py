"""The local backend: a simulated workspace in a SQLite file, or in memory."""

from __future__ import annotations

import builtins
import copy
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import catalog
from mlctl.backends.local.leases import LocalLeases, lost_leases_reported
from mlctl.backends.local.registries import LocalRegistry
from mlctl.backends.ports import backend as ports
from mlctl.backends.ports.backend import ComputeNode, Live, Operation, Usage
from mlctl.backends.ports.lease import Lease, SupportsLeases
from mlctl.backends.ports.monitor import Activity, SupportsActivity
from mlctl.catalog import Size, limits
from mlctl.catalog.prices import PriceList
from mlctl.dataclasses import replace
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data, get
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import activity, control, registries, service
from mlctl.simulator.control_plane.resources import operations, quota
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import missing
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import DEFAULT_LOCATION, WorkspaceHandle

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.backends.local.jobs import LocalJobs
    from mlctl.backends.local.leases import LocalJournals
    from mlctl.backends.ports.monitor import HealthCheck, Series


class LocalOperation:
    """A write to the local cloud; waiting advances the virtual clock and never sleeps."""

    def __init__(
        self, handle: WorkspaceHandle, number: int | None, *, created: bool = False
    ) -> None:
        self._handle = handle
        self.number = number
        self.created = created

    @property
    def due(self) -> float | None:
        """Return when the write will have ended; None if it already has."""
        if self.number is None:
            return None
        return service.due(self._handle, self.number)

    def wait(self) -> None:
        """Advance the clock until the write has ended.

        Raises:
            ServiceError: the operation failed.
        """
        if self.number is None:
            return
        ended = service.finish(self._handle, self.number)
        if ended and ended.status == operations.FAILED and ended.failure:
            raise Permanent(ended.failure.code, ended.failure.message, status=200)


class LocalBackend(
    ports.Backend,
    ports.SupportsVirtualTime,
    ports.SupportsNotes,
    ports.SupportsStateCheck,
    ports.SupportsUsage,
    ports.SupportsSizes,
    ports.SupportsNames,
    ports.SupportsScoring,
    ports.SupportsSchedules,
    ports.WritesWorkspaces,
    ports.WritesRegistries,
    ports.SupportsNodes,
    ports.SupportsPower,
    ports.SupportsCode,
    ports.SupportsUpload,
    SupportsLeases,
    SupportsActivity,
):
    """A workspace of a simulated cloud: `Backend`, and every other protocol of the ports.

    Methods without a docstring do what their port says. What only a simulated cloud has (its clock,
    faults, delays, preemption) is set by the functions of the control plane, which take the
    `handle`.
    """

    name = "local"

    def __init__(
        self,
        path: str | Path | Store,
        scope: Scope,
        *,
        location: str = DEFAULT_LOCATION,
        caller: str = "",
        wall: Callable[[], float] = time.time,
        price_list: Callable[[], PriceList] | None = None,
    ) -> None:
        """Open the workspace `scope` of the cloud at `path` (`:memory:`: a new one).

        The workspace is created on first use, in `location`. `caller` is the writer in its activity
        log. `wall` returns Unix seconds, for leases. Nodes are billed by `price_list` (None: the
        store's). Raises LocalStateError if the state cannot be used.
        """
        store = path if isinstance(path, Store) else Store(path)
        store.price_list = price_list or store.price_list
        store.start_due = _start_due
        self.scope = scope
        self.handle = WorkspaceHandle(store, scope, location, caller)
        self._wall = wall

    @property
    def notes(self) -> Collection[str]:
        return self.handle.store.tightened

    def within(self, scope: Scope, location: str = DEFAULT_LOCATION) -> LocalBackend:
        """Return another workspace of the same cloud, on the same connection."""
        return LocalBackend(self.handle.store, scope, location=location, wall=self._wall)

    @property
    def location(self) -> str:
        return self.handle.current.location

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        stored = service.read(self.handle, addresses)
        return {address: _live(resource) for address, resource in stored.items()}

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        return [_live(resource) for resource in service.list_resources(self.handle, kind, parent)]

    def put(self, address: Address, body: Mapping[str, Data]) -> LocalOperation:
        with lost_leases_reported():
            accepted = service.put(self.handle, address, body)
        return LocalOperation(self.handle, accepted.operation, created=accepted.created)

    def upload(
        self,
        address: Address,  # noqa: ARG002 - the path alone is kept
        body: Mapping[str, Data],
        upload: Upload,
    ) -> Mapping[str, Data]:
        """Record where the files are: nothing is copied."""
        from mlctl.simulator.control_plane import local_paths

        local_paths.note(self.handle.store, str(get(body, upload.wire)), upload.path)
        return body

    def delete(self, address: Address) -> LocalOperation:
        with lost_leases_reported():
            return LocalOperation(self.handle, service.delete(self.handle, address))

    @property
    def leases(self) -> LocalLeases:
        return LocalLeases(self.handle, self._wall)

    def under(self, lease: Lease) -> LocalBackend:
        fenced = copy.copy(self)
        fenced.handle = self.leases.fenced(lease)
        return fenced

    def observing(self) -> LocalBackend:
        """Return the same workspace for observers: faults neither strike nor count its reads."""
        onlooker = copy.copy(self)
        onlooker.handle = replace(self.handle, observing=True)
        return onlooker

    def check_state(self) -> None:
        from mlctl.simulator.control_plane import integrity

        integrity.check(self.handle.store)

    def wait(self, seconds: float) -> None:
        control.wait(self.handle, seconds)

    def now(self) -> float:
        return control.now(self.handle)

    def due(self, operation: Operation) -> float | None:
        return operation.due if isinstance(operation, LocalOperation) else None

    def close(self) -> None:
        self.handle.store.close()

    def usage(self, location: str, families: Collection[str] = ()) -> builtins.list[Usage]:
        quotas = [
            Usage(pool.name, pool.used, pool.limit)
            for pool in control.quotas(self.handle, location)
            if pool.name not in limits.UNPUBLISHED
        ]
        new = sorted(
            set(families) - {quota_usage.family for quota_usage in quotas} - {*quota.DEFAULTS}
        )
        settings = control.cloud_settings(self.handle)
        return quotas + [Usage(family, 0, quota.default(family, settings)) for family in new]

    def registry(self, name: str) -> LocalRegistry:
        return LocalRegistry(self.handle.store, name)

    def writing_registry(self, name: str) -> LocalBackend:
        return self.within(registries.store_to_write(self.handle.store, name).scope)

    def create_registry(self, name: str, location: str, body: Mapping[str, Data]) -> None:
        registries.create(self.handle.store, name, location, body)

    def delete_registry(self, name: str) -> None:
        registries.delete(self.handle.store, name)

    def share(self, address: Address, registry: str, target: Address) -> None:
        registries.share(self.handle, address, registry, target)

    def download_model(self, model: Address, folder: Path, registry: str | None) -> None:
        from mlctl.simulator.control_plane import local_paths
        from mlctl.simulator.control_plane.jobs import artifacts

        store = self.handle.store
        workspace = registries.find_store(store, registry) if registry else self.handle
        stored = service.read(workspace, [model]).get(model) if workspace else None
        if stored is None:
            raise missing(model)
        uri = str(stored.body["properties"]["modelUri"])
        simulated = artifacts.files_at(self.handle, uri) if not local_paths.find(store, uri) else ()
        if simulated:
            local_paths.write(simulated, uri, folder / model.name)
        else:
            local_paths.copy(store, uri, folder / model.name, str(model))

    def registries(self) -> builtins.list[dict[str, Data]]:
        store = self.handle.store
        names = registries.every(store)
        return [registries.arm_body(store, name, self.scope) for name in names]

    def quota_refuses(self) -> QuotaRefusal:
        return control.cloud_settings(self.handle).quota_refuses

    def sizes(self, location: str) -> builtins.list[Size]:
        price_list = self.handle.store.price_list()
        return [
            replace(size, usd_per_hour=price_list.price(size.name, location).dedicated)
            for size in catalog.sizes().values()
        ]

    def activity(self, address: Address) -> builtins.list[Activity]:
        entries = activity.list_of_resource(self.handle, address.id(self.scope))
        return [Activity(clock.iso(entry.at), entry.verb, entry.caller) for entry in entries]

    def last_writes(self, addresses: Collection[Address]) -> Mapping[Address, Activity]:
        return {
            address: activities[0]
            for address in addresses
            if (activities := self.activity(address))
        }

    def check_health(self, now: float) -> Iterator[HealthCheck]:  # noqa: ARG002 - its own clock is always right
        from mlctl.backends.local.health import check_health

        yield from check_health(control.status(self.handle), self.scope, self.location)

    def nodes(self, cluster: Address) -> builtins.list[ComputeNode]:
        from mlctl.backends.local.jobs import nodes

        return nodes(self.handle, cluster)

    def metrics(
        self,
        cluster: Address,
        names: Sequence[str],
        *,
        interval: float | None = None,
        span: float | None = None,
    ) -> builtins.list[Series]:
        from mlctl.backends.local.jobs import metrics

        return metrics(self.handle, cluster, names, interval, span)

    @property
    def jobs(self) -> LocalJobs:
        from mlctl.backends.local.jobs import LocalJobs

        return LocalJobs(self.handle)

    @property
    def journals(self) -> LocalJournals:
        from mlctl.backends.local.leases import LocalJournals

        return LocalJournals(self.handle)

    def score(self, endpoint: Address, deployment: str | None, request: Data) -> Data:
        from mlctl.simulator.control_plane import scoring

        return scoring.score(self.handle, endpoint, deployment, request)

    def credentials(self, endpoint: Address) -> Mapping[str, Data]:
        from mlctl.simulator.control_plane import scoring

        return scoring.credentials(self.handle, endpoint)

    def regenerate_key(self, endpoint: Address, key_type: str) -> LocalOperation:
        from mlctl.simulator.control_plane import scoring

        return LocalOperation(self.handle, scoring.regenerate(self.handle, endpoint, key_type))

    def logs(self, deployment: Address, lines: int, container: str) -> str:  # noqa: ARG002
        from mlctl.simulator.control_plane import scoring

        return scoring.logs(self.handle, deployment, lines)

    def trigger(self, schedule: Address) -> str:
        from mlctl.simulator.control_plane import schedules

        return schedules.trigger(self.handle, schedule.name).row.name

    def taken(self, regions: Mapping[Address, str]) -> dict[Address, str]:
        with self.handle.store.read() as db:
            owners = rows.name_owners(db, self.handle.state(db), regions)
        return {address: f"workspace `{owner}` has it" for address, owner in owners.items()}

    def find_code(self, sha256: str) -> Address | None:
        with self.handle.store.read() as db:
            world = self.handle.state(db)
            return rows.find_code(db, world.id, sha256)

    def workspace(self, name: str) -> dict[str, Data]:
        from mlctl.simulator.control_plane import workspaces

        workspace_id = replace(self.scope, workspace=name).id.casefold()
        for body in self.workspaces():
            if str(body["id"]).casefold() == workspace_id:
                return body
        raise workspaces.missing(replace(self.scope, workspace=name))

    def workspaces(self, group: str | None = None) -> builtins.list[dict[str, Data]]:
        with self.handle.store.read() as db:
            places = {scope: place for scope, place, _ in rows.workspaces(db)}
        if group is None:
            places = {self.scope: self.location, **places}
        above = replace(self.scope, resource_group=group or "")
        return [
            self._workspace(scope, place)
            for scope, place in places.items()
            if scope.subscription.casefold() == above.subscription.casefold()
            and above.resource_group.casefold() in ("", scope.resource_group.casefold())
        ]

    def _workspace(self, scope: Scope, location: str) -> dict[str, Data]:
        from mlctl.simulator.control_plane import workspaces

        note = workspaces.note(self.handle.store, scope)
        properties = {
            "description": "",
            "friendlyName": scope.workspace,
            "hbiWorkspace": False,
            "provisioningState": "Succeeded",
            "publicNetworkAccess": "Enabled",
            **workspaces.companions(scope),
            **(note.get("properties") or {}),
        }
        names = {"id": scope.id, "name": scope.workspace, "location": location}
        return {"tags": {}, **note, **names, "properties": properties}

    def write_workspace(self, name: str, location: str | None, body: Mapping[str, Data]) -> None:
        from mlctl.simulator.control_plane import workspaces

        store, scope = self.handle.store, replace(self.scope, workspace=name)
        note = workspaces.note(store, scope)
        region = catalog.region(location or DEFAULT_LOCATION)
        scope, _, _ = workspaces.create(store, scope, region, note)
        workspaces.change(store, scope, body)

    def delete_workspace(self, name: str) -> None:
        from mlctl.simulator.control_plane import workspaces

        workspaces.delete(self.within(replace(self.scope, workspace=name)).handle)

    def delete_group(self, name: str) -> None:
        """Delete the workspaces of a resource group, if any."""
        group = self.within(replace(self.scope, resource_group=name))
        for body in self.workspaces(name):
            with suppress(NotFound):
                group.delete_workspace(str(body["name"]))

    def provision_network(self, name: str) -> dict[str, Data]:
        from mlctl.simulator.control_plane import workspaces

        scope = replace(self.scope, workspace=name)
        return workspaces.provision_network(self.handle.store, scope)

    def power(self, instance: Address, action: str) -> LocalOperation:
        number = control.switch_power(self.handle, instance, on=action != "stop")
        return LocalOperation(self.handle, number)

    def set_quota(
        self,
        location: str | None = None,
        *,
        low_priority: int | None = None,
        dedicated: int | None = None,
        families: Mapping[str, int] | None = None,
        computes: int | None = None,
    ) -> None:
        """Set a subscription's quotas in a region (the workspace's); None leaves one unchanged.

        Raises:
            ValueError: a limit is negative.
        """
        general = {
            quota.LOW_PRIORITY: low_priority,
            quota.TOTAL: dedicated,
            quota.COMPUTES: computes,
        }
        limits = {name: limit for name, limit in general.items() if limit is not None}
        control.set_quotas(self.handle, location or self.location, limits | dict(families or {}))

    def set_pool_limits(self, *, pools: int | None = None, vms: int | None = None) -> None:
        """Set how many Batch Pools the account may have, and how many VMs each; None keeps one.

        Raises:
            ValueError: a limit is negative.
        """
        limits_ = {quota.BATCH_POOLS: pools, quota.VMS_PER_POOL: vms}
        limits = {name: limit for name, limit in limits_.items() if limit is not None}
        control.set_quotas(self.handle, quota.EVERYWHERE, limits)


def _start_due(store: Store, to: float) -> None:
    from mlctl.simulator.control_plane import schedules  # the event engine takes long to load

    schedules.start_due(store, to)


def _live(stored: StoredResource) -> Live:
    stored.body["properties"]["provisioningState"] = stored.state
    return Live(stored.address, stored.body)
