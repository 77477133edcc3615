"""Runs in a workspace: jobs of a batch endpoint, and the dedicated twin of its deployment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from mlctl import pointer
from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.backends.ports.jobs import Job, Jobs
from mlctl.finishing.controller import Look
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Run
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, ServiceError, Transient
from mlctl.simulator.engine.model import Tier
from mlctl.workload import DEFAULT_NAME, Workload

TWIN = "-dedicated"
POLL_S = 30.0  # between two looks at a run of Azure: two requests a minute
_ATTEMPTS = 5  # to start a run
_COMPUTE = ("properties", "compute")
# What a service says of a resource, and takes from nobody.
_READ_ONLY = ("id", "systemData", "etag", "type", "name")
_SCALE = ("properties", "properties", "scaleSettings", "minNodeCount")
_PRIORITY = ("properties", "properties", "vmPriority")


class WorkspaceCloud:
    """A `controller.Cloud` by the backend of a workspace."""

    def __init__(self, backend: Backend, jobs: Jobs, wall: Callable[[], float] = time.time) -> None:
        """`wall` gives Unix seconds, where the workspace has no clock of its own."""
        self.backend = backend
        self.jobs = jobs
        self.wall = wall

    def now(self) -> float:
        """Seconds since the epoch of the clock: the virtual one of a simulated cloud."""
        backend = self.backend
        return backend.now() if isinstance(backend, SupportsVirtualTime) else self.wall()

    def find(self, run: str) -> Look | None:
        """A run; None where there is none of that name."""
        try:
            return _look(self.jobs.show(run))
        except NotFound:
            return None

    def submit(self, order: Order, run: Run) -> None:
        """Start a run under its name, which is taken for ever: so it cannot be started twice.

        Raises:
            ServiceError: refused, or no answer came as often as it was asked for.
        """
        deployment = order.dedicated if run.tier is Tier.DEDICATED else order.deployment
        for attempt in range(_ATTEMPTS):
            try:
                self.jobs.invoke(
                    order.endpoint,
                    deployment,
                    self._body(order, run),
                    Workload(**{**order.workload, "files": order.sizes[run.shard]}),
                    DEFAULT_NAME,
                )
            except Transient:
                self.backend.wait(POLL_S)
                if self.find(run.name) is None and attempt + 1 < _ATTEMPTS:
                    continue
                if self.find(run.name) is None:
                    raise
            return

    def _body(self, order: Order, run: Run) -> dict[str, Data]:
        """ARM's properties of a run."""
        return {
            "name": run.name,
            "inputData": order.inputs,
            "properties": {"experimentName": order.name},
            "outputFileName": order.output_file,
        }

    def watch(self, run: str, moment: float) -> Look:
        """A run at its end, or at a moment before which it does not end."""
        if self.jobs.simulated:
            for update in self.jobs.follow(run, max(moment - self.now(), 0.0), detail=False):
                job = update.job
            if not job.ended and self.now() < moment:  # it stands still for good
                self.backend.wait(moment - self.now())
            return _look(job)
        while True:
            look = _look(self.jobs.show(run))
            if look.ended or self.now() >= moment:
                return look
            self.backend.wait(min(POLL_S, max(moment - self.now(), 1.0)))

    def cancel(self, run: str) -> Look:
        """Cancel a run that may have ended already.

        Raises:
            ServiceError: refused.
        """
        try:
            job = self.jobs.cancel(run)
        except ServiceError:
            job = self.jobs.show(run)
            if not job.ended:
                raise
        return _look(job) if job.ended else self.watch(run, self.now() + 10 * POLL_S)

    def twins(self, order: Order) -> Mapping[str, Any]:
        """The bodies of cluster and deployment of the twin that are not there, by addresses.

        Raises:
            Permanent: the deployment or its cluster is gone.
        """
        source = Address("batch-deployment", order.deployment, order.endpoint)
        deployment = self._read(source)
        cluster = self._cluster(deployment)
        twin_cluster = Address("compute", cluster.name + TWIN)
        compute = self._read(cluster)
        pointer.put(compute, _PRIORITY, "Dedicated")
        pointer.put(compute, _SCALE, 0)
        compute_id = str(pointer.get(deployment, _COMPUTE))
        head, _, _ = compute_id.rpartition(cluster.name)
        pointer.put(deployment, _COMPUTE, head + twin_cluster.name)
        twin = Address("batch-deployment", order.dedicated, order.endpoint)
        present = self.backend.read([twin_cluster, twin])
        bodies = {twin_cluster: compute, twin: deployment}
        return {str(address): body for address, body in bodies.items() if address not in present}

    def _read(self, address: Address) -> Any:
        live = self.backend.read([address]).get(address)
        if live is None:
            raise Permanent("TwinSource", f"{address} is not there any more")
        body = {key: part for key, part in live.body.items() if key not in _READ_ONLY}
        return pointer.copied(body)

    def _cluster(self, deployment: Mapping[str, Data]) -> Address:
        text = str(pointer.get(deployment, _COMPUTE) or "")
        return Address("compute", text.rpartition("/")[2].rpartition(":")[2])

    def make(self, address: str, body: Any) -> None:
        """Create a part of the twin."""
        self.backend.put(Address.parse(address), body).wait()

    def remove(self, address: str) -> None:
        """Delete a part of the twin, unless it is gone."""
        try:
            self.backend.delete(Address.parse(address)).wait()
        except NotFound:
            return


def _look(job: Job) -> Look:
    run = job.body["properties"].get("run") or {}
    node_s = run.get("billed_node_s")
    batches = pointer.get(run, ("mini_batches", "completed")) or 0
    return Look(
        job.status,
        int(batches) if batches else int(job.status == "Running" and not run),
        float(node_s) if node_s is not None else None,
        str(run.get("reason") or ""),
    )
