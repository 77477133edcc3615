"""The protocol of a backend (read, put and delete resources as ARM JSON), and optional ones."""

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
        """These options; those that are None are taken from `other`."""
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
        """The resources that exist, keyed by the address as asked; what does not exist is absent.

        A versioned address without a version reads the newest created version.
        """

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        """All of a kind (of one parent), by parent and name; all versions, oldest first.

        Raises:
            NotFound: the parent does not exist.
        """

    def list_all(self, kinds: Iterable[str]) -> Collection[Live]:
        """All of these kinds; nothing of those whose service is retired."""
        return [live for kind in kinds for live in self.list(kind)]

    def put(self, address: Address, body: Mapping[str, Data]) -> Operation:
        """Create or overwrite.

        An `etag` in the body is that of the resource which the body was laid over. A service that
        has etags refuses the write where it has another one by now.

        Raises:
            ServiceError: refused at once (412: the etag is another one).
        """

    def delete(self, address: Address) -> Operation:
        """Delete, with all that is beneath.

        Raises:
            NotFound: there is nothing to delete.
        """

    def wait(self, seconds: float) -> None:
        """Wait between two attempts; the local backend advances its virtual clock instead."""

    def close(self) -> None:
        """Close connections and files."""


@runtime_checkable
class SupportsVirtualTime(Protocol):
    """Has a virtual clock, which advances only while somebody waits."""

    def now(self) -> float:
        """Seconds since the epoch of the clock."""

    def due(self, operation: Operation) -> float | None:
        """The time at which a write will have ended; None when it has already."""


@runtime_checkable
class SupportsNotes(Protocol):
    """Has something to tell the user about how it was opened."""

    @property
    def notes(self) -> Collection[str]:
        """Sentences, each to be printed once."""


@runtime_checkable
class SupportsStateCheck(Protocol):
    """Keeps a state that may be damaged, which is looked into when something unforeseen happens."""

    def check_state(self) -> None:
        """Check that the state can be read.

        Raises:
            ServiceError: it is damaged.
        """


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
        """What is used and allowed in a region; of `families` too, where it can tell unasked ones.

        A VM family of which nothing is known is left out.
        """

    def quota_refuses(self) -> QuotaRefusal:
        """What of a cluster must fit the quotas of cores."""


@runtime_checkable
class SupportsSizes(Protocol):
    """Knows the VM sizes that clusters can have."""

    def sizes(self, location: str) -> list[Size]:
        """The sizes that a region offers."""


@runtime_checkable
class SupportsNames(Protocol):
    """Knows which names are taken beyond the workspace (computes, endpoints: in the region)."""

    def taken(self, regions: Mapping[Address, str]) -> dict[Address, str]:
        """What has the name already in its region, in words; only of those that are not free."""


@runtime_checkable
class SupportsScoring(Protocol):
    """Can be asked what callers of online endpoints ask."""

    def score(self, endpoint: Address, deployment: str | None, request: Data) -> Data:
        """The answer to a request, by the deployment that is named or by the endpoint's traffic.

        Raises:
            NotFound: there is no such endpoint or deployment.
            ServiceError: refused, or the code of the deployment failed.
        """

    def credentials(self, endpoint: Address) -> Mapping[str, Data]:
        """The keys of an endpoint, or a token of one that takes tokens.

        Raises:
            NotFound: there is no such endpoint.
        """

    def regenerate_key(self, endpoint: Address, key_type: str) -> Operation:
        """Begin to replace the `Primary` or `Secondary` key of an endpoint.

        Raises:
            NotFound: there is no such endpoint.
        """

    def logs(self, deployment: Address, lines: int, container: str) -> str:
        """The last lines of the logs of a deployment; `container` in ARM's words.

        Raises:
            NotFound: there is no such deployment.
        """


@runtime_checkable
class SupportsSchedules(Protocol):
    """Can start a job of a schedule out of turn."""

    def trigger(self, schedule: Address) -> str:
        """Start a job of a schedule now; the job's name.

        Raises:
            NotFound: there is no such schedule.
            ServiceError: its job is refused.
        """


@runtime_checkable
class SupportsWorkspaces(Protocol):
    """Knows the workspaces of its subscription."""

    def workspace(self, name: str) -> Mapping[str, Data]:
        """The ARM body of a workspace of the resource group.

        Raises:
            NotFound: there is none of that name.
        """

    def workspaces(self) -> Iterable[Mapping[str, Data]]:
        """The ARM bodies of those that the caller may see."""


@runtime_checkable
class WritesWorkspaces(SupportsWorkspaces, Protocol):
    """Makes workspaces of the resource group, at once."""

    def write_workspace(self, name: str, location: str | None, body: Mapping[str, Data]) -> None:
        """Make a workspace, or lay `body` (ARM's, without ids) over the one that there is.

        Raises:
            ServiceError: no workspace can be called so, or be there.
        """

    def delete_workspace(self, name: str) -> None:
        """Delete a workspace with all that is in it.

        Raises:
            NotFound: there is none of that name.
        """

    def provision_network(self, name: str) -> Mapping[str, Data]:
        """Provision the managed network of a workspace; its status, in ARM's words."""


class Registry(Protocol):
    """Assets that workspaces share."""

    def read(self, address: Address) -> Live:
        """A version of an asset; without a version the newest one.

        Raises:
            NotFound: there is none, or no such registry.
        """

    def list(self, kind: str, name: str | None = None) -> Iterable[Live]:
        """The versions of a name, newest first; without one what stands for all versions of each.

        Raises:
            NotFound: there is no such registry, or nothing of that name.
        """


@runtime_checkable
class SupportsRegistries(Protocol):
    """Can read registries."""

    def registry(self, name: str) -> Registry:
        """The registry of that name; whether there is one shows when it is read."""


@runtime_checkable
class WritesRegistries(SupportsRegistries, Protocol):
    """Can make registries, and write to them."""

    def writing_registry(self, name: str) -> Backend:
        """A backend whose assets are those of a registry; on local its first write makes it.

        Raises:
            ServiceError: the registry is not the caller's to write.
        """

    def create_registry(self, name: str, location: str, body: Mapping[str, Data]) -> None:
        """Make a registry in the resource group, or change one; `body` is ARM's.

        Raises:
            ServiceError: no registry can be called so, or be there.
        """

    def delete_registry(self, name: str) -> None:
        """Delete a registry of the resource group with all that is in it.

        Raises:
            NotFound: there is none of that name.
        """

    def share(self, address: Address, registry: str, target: Address) -> None:
        """Copy a version of an asset of the workspace to a registry.

        Raises:
            ServiceError: there is no such asset, or the registry has the version already.
        """

    def registries(self) -> Iterable[Mapping[str, Data]]:
        """The ARM bodies of the registries of the resource group."""


@runtime_checkable
class SupportsModelFiles(Protocol):
    """Can read the files of models."""

    def download_model(self, model: Address, folder: Path, registry: str | None) -> None:
        """Write the files of a version of a model below `NAME` in a folder, over what is there.

        Raises:
            ServiceError: there is no such version, of the registry where one is named; or its
                files cannot be read, or written.
        """


@runtime_checkable
class SupportsPower(Protocol):
    """Starts and stops compute instances."""

    def power(self, instance: Address, action: str) -> Operation:
        """Begin to start, stop or restart a compute instance.

        Raises:
            NotFound: there is none of that name.
            ServiceError: it is a cluster, or refused.
        """


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
    """Knows the machines of its clusters."""

    def nodes(self, cluster: Address) -> list[ComputeNode]:
        """The nodes of a cluster.

        Raises:
            NotFound: there is no such cluster.
        """


@runtime_checkable
class SupportsCode(Protocol):
    """Finds code assets by their content."""

    def find_code(self, sha256: str) -> Address | None:
        """A code asset with this content hash, where one was uploaded before."""


@runtime_checkable
class SupportsUpload(Protocol):
    """Must have local files uploaded before a body can name them."""

    def upload(
        self, address: Address, body: Mapping[str, Data], upload: Upload
    ) -> Mapping[str, Data]:
        """Upload local files; the body that names what was uploaded.

        What was uploaded before is not sent again.

        Raises:
            ServiceError: refused, or the files have changed since the plan was made.
        """
