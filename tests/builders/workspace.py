"""Declarations to plans, plans to events, on a cloud in memory: values in, without any YAML."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlctl import source
from mlctl.applying import executor
from mlctl.applying.events import RetryOptions, StepEvent
from mlctl.assets.local_files import resolve_local_files
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, Live, Operation
from mlctl.config import graph
from mlctl.config.graph import Graph
from mlctl.diagnostics import Report, SourceText
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.resource import Resource, build
from mlctl.planning import planner, steps
from mlctl.planning.model import Plan
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import Work
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "rg", "ws")
REGIONS = ("eastus", "westus2", "westeurope")


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan, and what it was made from."""

    plan: Plan
    graph: Graph

    @property
    def work(self) -> Work:
        """The writes that carry it out."""
        return steps.work(self.plan, self.graph)


def cloud() -> LocalBackend:
    """An empty workspace, and quotas that nothing exceeds; it closes when nobody has it."""
    store = Store(":memory:")
    backend = LocalBackend(store, SCOPE)
    weakref.finalize(backend, store.close)
    plenty = {one.family: 1_000_000 for one in backend.usage(backend.location)}
    for region in REGIONS:
        backend.set_quota(region, families=plenty)
    backend.set_pool_limits(pools=1_000_000, vms=1_000_000)
    return backend


def compute(name: str = "cpu-cluster", **values: Data) -> Resource:
    """A cluster, as a file declares it."""
    return declared("compute", {"type": "amlcompute", "max_instances": 2, **values, "name": name})


def endpoint(name: str = "heart-batch", default: str | None = None, **values: Data) -> Resource:
    """A batch endpoint, as a file declares it."""
    defaults = {"defaults": {"deployment_name": default}} if default else {}
    return declared("batch-endpoint", {**defaults, **values, "name": name})


def deployment(name: str = "blue", on: str = "heart-batch", **values: Data) -> Resource:
    """A deployment of `azureml:heart:1` on `cpu-cluster`, in the flat form."""
    said = {"model": "azureml:heart:1", "compute": "cpu-cluster", **values}
    return declared("batch-deployment", {**said, "name": name, "endpoint_name": on})


def model(name: str = "heart", version: Data = "1", **values: Data) -> Resource:
    """A version of a model; None leaves the version to the workspace."""
    said = {"path": "azureml://jobs/train/outputs/artifacts/paths/model/", **values, "name": name}
    return declared("model", {**said, "version": version} if version is not None else said)


def environment(name: str = "torch", version: Data = "1", **values: Data) -> Resource:
    """A version of an environment."""
    said = {"image": "ubuntu:22.04", **values, "name": name}
    return declared("environment", {**said, "version": version} if version is not None else said)


def pool(name: str = "scoring-pool", vms: int = 2, **values: Data) -> Resource:
    """A Batch Pool, as a file declares it."""
    said = {"vm_count": vms, "swagger_url": "https://host/services/a/swagger.json", **values}
    return declared("batch-pool", {**said, "name": name})


def declared(kind: str, data: Mapping[str, Data], file: str = "main.yml") -> Resource:
    """The resource of a document that is plain data already."""
    document = source.Document(SourceText(file, ""), dict(data))
    found = build(document, KINDS[kind])
    assert found is not None
    return found


def planned(
    backend: Backend,
    *resources: Resource,
    destroying: bool = False,
    targets: Collection[Address] = (),
) -> Planned:
    """The plan that makes the workspace as declared."""
    report = Report()
    built = graph.build(resolve_local_files(resources, SCOPE, report), SCOPE)
    assert not report.failed
    world = refresh(built, backend, destroying=destroying)
    made = planner.plan(built, world, backend="local", destroying=destroying, targets=targets)
    return Planned(made, built)


def carried_out(
    work: Work,
    backend: Backend,
    *,
    parallelism: int = 4,
    stop: threading.Event | None = None,
    retry: RetryOptions | None = None,
) -> list[StepEvent]:
    """Everything that happened when the work was done."""
    stop = stop or threading.Event()
    return list(executor.apply(work, backend, parallelism=parallelism, stop=stop, retry=retry))


def applied(backend: Backend, *resources: Resource) -> list[StepEvent]:
    """What happened when the workspace was made as declared; nothing may go wrong."""
    made = planned(backend, *resources)
    assert [found.message for found in made.plan.rejections] == []
    events = carried_out(made.work, backend)
    assert [str(event.error) for event in events if event.error] == []
    return events


def actions(plan: Plan) -> dict[str, str]:
    """What would be done, by address; what stays as it is is left out."""
    return {str(change.address): change.action.name.lower() for change in plan.pending}


def fields(plan: Plan) -> dict[str, list[str]]:
    """The fields that would change, by address."""
    return {
        str(change.address): [".".join(map(str, one.at)) for one in change.fields]
        for change in plan.pending
    }


def codes(plan: Plan) -> list[str]:
    """The codes of the predicted rejections."""
    return [found.rule.code for found in plan.rejections]


def writes(events: list[StepEvent]) -> list[str]:
    """What was really written, in the order in which it was done."""
    return [f"{one.step.role.value} {one.step.target}" for one in events if one.wrote]


def outcomes(events: list[StepEvent]) -> dict[str, str]:
    """The last state of each step, by what it does."""
    return {f"{one.step.role.value} {one.step.target}": one.state.value for one in events}


def bodies(backend: Backend) -> dict[str, dict[str, Any]]:
    """Every resource of the workspace by its address, without what passes with time."""
    kinds = ("compute", "batch-endpoint", "model", "environment", "component", "code")
    live = [one for kind in kinds for one in backend.list(kind)]
    for above in backend.list("batch-endpoint"):
        live += backend.list("batch-deployment", above.address.name)
    return {str(one.address): _timeless(one.body) for one in live}


# Times, and the nodes that a cluster happens to have.
_PASSING = {"createdOn", "modifiedOn", "systemData", "allocationState", "nodeStateCounts"}
_PASSING |= {"allocationStateTransitionTime", "currentNodeCount", "targetNodeCount"}


def _timeless(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _timeless(value) if isinstance(value, dict) else value
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
