"""The protocol of a backend (read, put and delete resources as ARM JSON), and optional ones.

A method of any port raises NotFound if something that it names does not exist, and another
ServiceError if the service refuses or cannot be read; only what goes beyond that is said there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from mlctl.catalog import Size
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data


@dataclass(frozen=True, slots=True)
class Live:
    """A resource as the backend has it: its address (version filled in) and its ARM body."""

    address: Address
    body: Mapping[str, Data]


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How to reach a backend over the network; None means the default.

    `auth` is the way to log in, `cloud` the name of the Azure cloud, `timeout` how many seconds one
    operation may take.
    """

    auth: str | None = None
    cloud: str | None = None
    timeout: float | None = None

    def over(self, base: ConnectionOptions) -> ConnectionOptions:
        """Return these options, with None replaced from `base`."""
        return ConnectionOptions(
            self.auth or base.auth, self.cloud or base.cloud, self.timeout or base.timeout
        )


class Operation(Protocol):
    """A write that was accepted and may still be running."""

    @property
    def created(self) -> bool | None:
        """Whether the write made the resource; None where the service does not say."""

    def wait(self) -> None:
        """Return when the write is done.

        Raises:
            ServiceError: the operation ended as failed or cancelled, or its resource says so.
        """


class Backend(Protocol):
    """What plan and apply need; every method may be called from several threads."""

    name: str
    scope: Scope

    @property
    def location(self) -> str:
        """The workspace's region."""

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        """Return the resources that exist, keyed by the requested address.

        A versioned address without a version reads the version created last.
        """

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        """Return all of a kind (of one parent), by parent and name; all versions, oldest first."""

    def list_all(self, kinds: Iterable[str]) -> Collection[Live]:
        """Return all of these kinds; nothing of those whose service is retired."""
        return [live for kind in kinds for live in self.list(kind)]

    def put(self, address: Address, body: Mapping[str, Data]) -> Operation:
        """Create or overwrite.

        An `etag` in the body is that of the resource under the body. A service with etags refuses
        the write (412) if the resource has another one by now.
        """

    def delete(self, address: Address) -> Operation:
        """Delete, with everything beneath."""

    def wait(self, seconds: float) -> None:
        """Wait between two attempts; the local backend advances its virtual clock instead."""

    def close(self) -> None:
        """Close connections and files."""


@runtime_checkable
class SupportsVirtualTime(Protocol):
    """Has a virtual clock, which advances only while somebody waits."""

    def now(self) -> float:
        """Return the time in seconds since the epoch of the clock."""

    def due(self, operation: Operation) -> float | None:
        """Return when a write will have ended; None if it already has."""


@runtime_checkable
class SupportsNotes(Protocol):
    """Has notes for the user about how it was opened."""

    @property
    def notes(self) -> Collection[str]:
        """Return sentences, each to be printed once."""


@runtime_checkable
class SupportsStateCheck(Protocol):
    """Keeps a state that may be damaged, which is checked after unexpected errors."""

    def check_state(self) -> None:
        """Check that the state can be read."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Cores in use and allowed in one region (`limit` None: unlimited or unknown).

    `family` is a VM family (`standardDSv2Family`: its dedicated cores), `total` for the dedicated
    cores of all families, `low_priority` for the low-priority ones of all, `low_priority/FAMILY`
    for those of one, `computes` for the count of computes. Those of `limits.EVERYWHERE` are
    `batch_pools`, the count of pools, and `vms_per_pool`.
    """

    family: str
    used: int
    limit: int | None


@runtime_checkable
class SupportsUsage(Protocol):
    """Knows the quotas of a region."""

    def usage(self, location: str, families: Collection[str] = ()) -> list[Usage]:
        """Return what is used and allowed in a region; also of `families`, if these need a query.

        A VM family of which nothing is known is left out.
        """

    def quota_refuses(self) -> QuotaRefusal:
        """What of a cluster must fit the core quotas."""


@runtime_checkable
class SupportsSizes(Protocol):
    """Has the VM sizes that clusters can have."""

    def sizes(self, location: str) -> list[Size]:
        """Return the sizes that a region offers."""


@runtime_checkable
class SupportsNames(Protocol):
    """Has the names that are taken beyond the workspace (computes, endpoints: in the region)."""

    def taken(self, regions: Mapping[Address, str]) -> dict[Address, str]:
        """Return who has a name in its region, in words; only for names that are not free."""


@runtime_checkable
class SupportsScoring(Protocol):
    """Answers requests of callers of online endpoints."""

    def score(self, endpoint: Address, deployment: str | None, request: Data) -> Data:
        """Answer a request with the named deployment, or by the endpoint's traffic."""

    def credentials(self, endpoint: Address) -> Mapping[str, Data]:
        """Return the keys of an endpoint, or a token if it uses tokens."""

    def regenerate_key(self, endpoint: Address, key_type: str) -> Operation:
        """Begin to replace the `Primary` or `Secondary` key of an endpoint."""

    def logs(self, deployment: Address, lines: int, container: str) -> str:
        """Return the last lines of a deployment's logs; `container` in ARM's words."""


@runtime_checkable
class SupportsSchedules(Protocol):
    """Starts jobs of schedules out of turn."""

    def trigger(self, schedule: Address) -> str:
        """Start a job of a schedule now; return the job's name."""


@runtime_checkable
class SupportsWorkspaces(Protocol):
    """Has the workspaces of its subscription."""

    def workspace(self, name: str) -> Mapping[str, Data]:
        """Return the ARM body of a workspace of the resource group."""

    def workspaces(self, group: str | None = None) -> Iterable[Mapping[str, Data]]:
        """Return the ARM bodies of the workspaces that the caller may see, or of a group's."""


@runtime_checkable
class WritesWorkspaces(SupportsWorkspaces, Protocol):
    """Creates workspaces of the resource group, immediately."""

    def write_workspace(self, name: str, location: str | None, body: Mapping[str, Data]) -> None:
        """Create a workspace, or lay `body` (ARM's, without ids) over the existing one."""

    def delete_workspace(self, name: str) -> None:
        """Delete a workspace with everything in it."""

    def provision_network(self, name: str) -> Mapping[str, Data]:
        """Provision a workspace's managed network; return its status, in ARM's words."""


class Registry(Protocol):
    """Assets that workspaces share."""

    def read(self, address: Address) -> Live:
        """Read a version of an asset; without a version the newest one."""

    def list(self, kind: str, name: str | None = None) -> Iterable[Live]:
        """List the versions of a name, newest first; without a name, one entry for each."""


@runtime_checkable
class SupportsRegistries(Protocol):
    """Can read registries."""

    def registry(self, name: str) -> Registry:
        """Return the registry of that name; whether it exists shows when it is read."""


@runtime_checkable
class WritesRegistries(SupportsRegistries, Protocol):
    """Creates registries, and writes to them."""

    def writing_registry(self, name: str) -> Backend:
        """Return a backend for a registry's assets; on local its first write creates it."""

    def create_registry(self, name: str, location: str, body: Mapping[str, Data]) -> None:
        """Create or change a registry in the resource group; `body` is ARM's."""

    def delete_registry(self, name: str) -> None:
        """Delete a registry of the resource group with everything in it."""

    def share(self, address: Address, registry: str, target: Address) -> None:
        """Copy a version of a workspace's asset to a registry."""

    def registries(self) -> Iterable[Mapping[str, Data]]:
        """Return the ARM bodies of the registries of the resource group."""


@runtime_checkable
class SupportsModelFiles(Protocol):
    """Reads the files of models."""

    def download_model(self, model: Address, folder: Path, registry: str | None) -> None:
        """Write the files of a model version below `NAME` in a folder, overwriting."""


@runtime_checkable
class SupportsPower(Protocol):
    """Starts and stops compute instances."""

    def power(self, instance: Address, action: str) -> Operation:
        """Begin to start, stop or restart a compute instance."""


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """One machine of a cluster.

    `state` is idle, running, preparing, unusable, leaving or preempted.
    """

    id: str
    state: str
    private_ip: str | None = None
    public_ip: str | None = None
    port: int | None = None
    job: str | None = None


@runtime_checkable
class SupportsNodes(Protocol):
    """Has the machines of its clusters."""

    def nodes(self, cluster: Address) -> list[ComputeNode]:
        """Return the nodes of a cluster."""


@runtime_checkable
class SupportsCode(Protocol):
    """Finds code assets by their content."""

    def find_code(self, sha256: str) -> Address | None:
        """Return a code asset with this content hash, if one was uploaded before."""


@runtime_checkable
class SupportsUpload(Protocol):
    """Needs local files uploaded before a body can refer to them."""

    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        """Upload local files, and return the body that refers to them.

        What was uploaded before is not sent again. Files that have changed since the plan was made
        are refused.
        """
