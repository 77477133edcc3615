"""Builders: a workspace in memory, what is in it, and a backend that is watched."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, Live, Operation
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state.settings import CloudSettings
from mlctl.simulator.control_plane.state.store import Store

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "rg", "ws")
REGIONS = ("eastus", "westus2", "westeurope")


def cloud(*, limited: bool = False, refuses: QuotaRefusal = QuotaRefusal.MIN) -> LocalBackend:
    """An empty workspace; it closes when nobody has it.

    `limited`: with the quotas of a new subscription, else with some that nothing exceeds.
    `refuses` is what of a cluster must fit them.
    """
    store = Store(":memory:")
    backend = LocalBackend(store, SCOPE)
    control.configure(backend.handle, CloudSettings(quota_refuses=refuses))
    weakref.finalize(backend, store.close)
    if not limited:
        plenty = {one.family: 1_000_000 for one in backend.usage(backend.location)}
        for region in REGIONS:
            backend.set_quota(region, families=plenty)
        backend.set_pool_limits(pools=1_000_000, vms=1_000_000)
    return backend


def strict(backend: LocalBackend) -> LocalBackend:
    """The workspace, whose quotas count from now on what every cluster may have."""
    control.configure(backend.handle, CloudSettings(quota_refuses=QuotaRefusal.MAX))
    return backend


def bodies(backend: Backend) -> dict[str, dict[str, Any]]:
    """Every resource of the workspace by its address, without what passes with time."""
    kinds = ("compute", "batch-endpoint", "model", "environment", "component", "code")
    live = [one for kind in kinds for one in backend.list(kind)]
    for above in backend.list("batch-endpoint"):
        live += backend.list("batch-deployment", above.address.name)
    return {str(one.address): timeless(one.body) for one in live}


# Times, and the nodes that a cluster happens to have.
_PASSING = {"createdOn", "modifiedOn", "systemData", "allocationState", "nodeStateCounts"}
_PASSING |= {"allocationStateTransitionTime", "currentNodeCount", "targetNodeCount"}


def timeless(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body without what passes with time."""
    return {
        key: timeless(value) if isinstance(value, dict) else value
        for key, value in body.items()
        if key not in _PASSING
    }


@dataclass(eq=False)
class Watched:
    """A backend that tells of every write before and after; reads pass through."""

    inner: Backend
    told: list[str] = field(default_factory=list)
    name: str = "local"
    scope: Scope = SCOPE

    @property
    def location(self) -> str:
        return self.inner.location

    def before(self, verb: str, address: Address) -> None:
        """What is told before a write."""
        self.told.append(f"{verb} {address}")

    def after(self, verb: str, address: Address) -> None:
        """What is told when a write was accepted."""

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        return self.inner.read(addresses)

    def list(self, kind: str, parent: str | None = None) -> list[Live]:
        return self.inner.list(kind, parent)

    def list_all(self, kinds: Iterable[str]) -> Collection[Live]:
        return [live for kind in kinds for live in self.list(kind)]

    def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
        self.before("put", address)
        operation = self.inner.put(address, body)
        self.after("put", address)
        return operation

    def delete(self, address: Address) -> Operation:
        self.before("delete", address)
        operation = self.inner.delete(address)
        self.after("delete", address)
        return operation

    def wait(self, seconds: float) -> None:
        self.inner.wait(seconds)

    def close(self) -> None:
        self.inner.close()
