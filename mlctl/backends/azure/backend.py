"""The backend for a workspace of Azure Machine Learning."""

from __future__ import annotations

import builtins
import copy
import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from mlctl import catalog, pointer
from mlctl.backends.azure import capacity, report, sdk
from mlctl.backends.azure.arm import ArmClient, AzureOperation, path_of
from mlctl.backends.azure.capacity import OtherWorkspaces
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.datastore import Datastore
from mlctl.backends.azure.errors import answers_decoded, decodes_answers
from mlctl.backends.azure.health import HealthChecker
from mlctl.backends.azure.jobs import AzureJobs
from mlctl.backends.azure.leases import BlobLeases
from mlctl.backends.azure.monitor import AzureMonitor
from mlctl.backends.azure.reads import (
    ResourceReader,
    resource_path,
    run_concurrently,
    workspace_path,
)
from mlctl.backends.azure.registries import AzureRegistry, RegistryWriter
from mlctl.backends.azure.scoring import AzureScoring
from mlctl.backends.azure.uploads import Uploader
from mlctl.backends.azure.writes import DeleteOperation, ResourceWriter
from mlctl.backends.ports.backend import ComputeNode, Live, Usage
from mlctl.backends.ports.lease import Lease
from mlctl.backends.ports.monitor import HealthCheck
from mlctl.catalog import Size
from mlctl.dataclasses import replace
from mlctl.kinds import kind_of
from mlctl.kinds.address import PROVIDER, Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.backends.azure.datastore import BlobFolders
    from mlctl.backends.azure.leases import BlobJournals

_TRIGGER_VERSION = "2024-01-01-preview"  # the only one that has it


@decodes_answers
class AzureBackend(AzureMonitor, AzureScoring):
    """A workspace of Azure Machine Learning, through the resource manager's REST API.

    Methods without a docstring do what their port says.
    """

    name = "azure"

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud) -> None:
        self.scope = scope
        self.cloud = cloud
        self.arm = arm
        self._reader = ResourceReader(arm, scope)
        self._writer = ResourceWriter(arm, scope, self._reader)
        self._neighbours = OtherWorkspaces(arm, scope)
        self._uploader = Uploader(arm, scope, cloud)
        store = partial(Datastore, arm, scope, cloud)
        self._leases = BlobLeases(store, arm.clock.elapsed, arm.clock.wall)
        self._lease: Lease | None = None  # the lease under which writes are made
        self._location: str | None = None
        self._asking = Lock()

    @property
    def location(self) -> str:
        """The region in ARM's spelling; read once."""
        if self._location is None:
            with self._asking:
                if self._location is None:
                    self._location = catalog.region(
                        self.arm.get(workspace_path(self.scope)).get("location")
                    )
        return self._location

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        """Read resources; fails if the workspace is missing, since all would seem absent."""
        if not addresses:
            return {}
        _refuse_retired({address.kind for address in addresses})
        _ = self.location
        answers = run_concurrently(self._reader.questions(addresses))
        live_by_address = {address: live for answer in answers for address, live in answer.items()}
        self._writer.remember(live_by_address)
        return live_by_address

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        _refuse_retired([kind])
        return self._reader.every(kind, parent)

    def list_all(self, kinds: Iterable[str]) -> builtins.list[Live]:
        """List kinds; parents are listed once."""
        return self._reader.all_of([kind for kind in kinds if not ALL[kind].retired_service])

    def put(self, address: Address, body: Mapping[str, Data]) -> AzureOperation:
        """Put a resource; what a PATCH supports is patched if a PUT would lose something."""
        _refuse_retired([address.kind])
        self._check_lease()
        return self._writer.put(address, body, lambda: self.location)

    def delete(self, address: Address) -> DeleteOperation:
        """Delete a resource, including a cluster's nodes: never `Detach`."""
        _refuse_retired([address.kind])
        self._check_lease()
        return self._writer.delete(address)

    def wait(self, seconds: float) -> None:
        """Sleep for `seconds` plus jitter."""
        self.arm.clock.pause(seconds)

    def close(self) -> None:
        self.arm.close()

    @property
    def jobs(self) -> AzureJobs:
        return AzureJobs(self.arm, self.scope, self.cloud)

    def usage(self, location: str, families: Collection[str] = ()) -> builtins.list[Usage]:
        """Return all that Azure has: cores and clusters."""
        return capacity.usage(self.arm, self.scope, location, families)

    def registry(self, name: str) -> AzureRegistry:
        return AzureRegistry(self.arm, self.cloud, name)

    def writing_registry(self, name: str) -> RegistryWriter:
        return RegistryWriter(self.arm, self.cloud, name)

    def create_registry(self, name: str, location: str, body: Mapping[str, Data]) -> None:
        """Create a registry, and return when that is done."""
        sent = {**body, "location": location, "identity": {"type": "SystemAssigned"}}
        self.arm.begin("PUT", self._registry_path(name), sent).wait()

    def delete_registry(self, name: str) -> None:
        """Delete a registry, and return when it is gone."""
        at = self._registry_path(name)
        self.arm.get(at)
        DeleteOperation(self.arm, at, self.arm.begin("DELETE", at)).wait()

    def share(self, address: Address, registry: str, target: Address) -> None:
        """Copy an asset to a registry, and return when that is done."""
        workspace = self.workspace(self.scope.workspace)
        guid = pointer.get(workspace, ("properties", "workspaceId"))
        place = f"azureml://locations/{workspace['location']}/workspaces/{guid}"
        collection = kind_of(address).collection
        source = f"{place}/{collection}/{address.name}/versions/{address.version}"
        self.registry(registry).begin_import(source, target).wait()

    def download_model(self, model: Address, folder: Path, registry: str | None) -> None:
        """Download a model as azure-ai-ml does."""
        silent = redirect_stdout(io.StringIO())
        with (
            sdk.quiet_client(
                self.arm, self.scope, self.cloud, str(model), registry_name=registry
            ) as client,
            silent,
        ):
            client.models.download(model.name, str(model.version), download_path=str(folder))

    def registries(self) -> builtins.list[dict[str, Data]]:
        return list(self.arm.pages(self._registry_path()))

    def _registry_path(self, *name: str) -> str:
        scope = self.scope
        group = ("subscriptions", scope.subscription, "resourceGroups", scope.resource_group)
        return path_of(*group, "providers", PROVIDER, "registries", *name)

    def quota_refuses(self) -> QuotaRefusal:
        """What the service was recorded to refuse."""
        return QuotaRefusal.MIN

    def sizes(self, location: str) -> builtins.list[Size]:
        return capacity.sizes(self.arm, self.scope, location)

    def taken(self, regions: Mapping[Address, str]) -> dict[Address, str]:
        """Return the names that other visible workspaces have."""
        owners = [(at, self._neighbours.owner(at, region)) for at, region in regions.items()]
        return {address: f"workspace `{owner}` has it" for address, owner in owners if owner}

    def nodes(self, cluster: Address) -> builtins.list[ComputeNode]:
        answer = self.arm.post(resource_path(cluster, self.scope) + "/listNodes", None)
        pages = self.arm.pages_after(answer, "nodes")
        return [_node(node) for node in pages]

    def power(self, instance: Address, action: str) -> AzureOperation:
        return self.arm.begin("POST", f"{resource_path(instance, self.scope)}/{action}")

    def check_health(self, now: float) -> Iterator[HealthCheck]:
        return HealthChecker(self.arm, self.scope, now).checks()

    def workspace(self, name: str) -> dict[str, Data]:
        return self.arm.get(workspace_path(replace(self.scope, workspace=name)))

    def workspaces(self, group: str | None = None) -> builtins.list[dict[str, Data]]:
        of_group = ("resourceGroups", group) if group else ()
        names = ("subscriptions", self.scope.subscription, *of_group, "providers", PROVIDER)
        return list(self.arm.pages(path_of(*names, "workspaces")))

    def report(self) -> Iterator[dict[str, Data]]:
        with answers_decoded():
            yield from report.report(self.arm, self.scope, self.location)

    def trigger(self, schedule: Address) -> str:
        """Trigger a schedule as azure-ai-ml 1.35.2 does."""
        body = {"scheduleTime": datetime.now(UTC).isoformat()}
        at = resource_path(schedule, self.scope) + "/trigger"
        answer, _ = self.arm.send("POST", at, _TRIGGER_VERSION, body=body)
        return str(pointer.get(answer, ("submissionId",)))

    def find_code(self, sha256: str) -> Address | None:
        """Find code with this hash, whoever uploaded it."""
        return self._uploader.find_code(sha256)

    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        self._check_lease()
        return self._uploader.upload(address, body, upload)

    @property
    def leases(self) -> BlobLeases:
        """The leases, in the workspace's own storage."""
        return self._leases

    @property
    def journals(self) -> BlobJournals:
        """The journals, next to the leases."""
        from mlctl.backends.azure.leases import BlobJournals

        return BlobJournals(self._leases, self._lease)

    @property
    def folders(self) -> BlobFolders:
        """The folders, in the workspace's own storage."""
        from mlctl.backends.azure.datastore import BlobFolders

        return BlobFolders(self, self._check_lease)

    def under(self, lease: Lease) -> AzureBackend:
        fenced = copy.copy(self)
        fenced._lease = lease  # noqa: SLF001  # our own
        return fenced

    def _check_lease(self) -> None:
        if self._lease is not None:
            self._leases.check(self._lease)


def _node(body: Mapping[str, Data]) -> ComputeNode:
    return ComputeNode(
        str(body.get("nodeId")),
        str(body.get("nodeState")),
        body.get("privateIpAddress"),
        body.get("publicIpAddress"),
        body.get("port"),
        body.get("runId"),
    )


def _refuse_retired(kinds: Iterable[str]) -> None:
    """Refuse kinds of a service that Azure has retired (only `local` simulates them)."""
    for name in kinds:
        kind = kind_of(Address(name, ""))
        if kind.retired_service:
            title = str(kind.schema["title"])
            raise Permanent(
                "ServiceRetired",
                f"Azure no longer has {title}s: {kind.retired_service}. `mlctl convert` writes"
                " what takes the place of one, and `--backend local` simulates it.",
                status=410,
            )
