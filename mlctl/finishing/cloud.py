"""Runs in a workspace: jobs of a batch endpoint or command jobs, and their dedicated twins."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mlctl import pointer
from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.backends.ports.folders import Folders, SupportsFolders
from mlctl.backends.ports.jobs import Job, Jobs
from mlctl.dataclasses import replace
from mlctl.finishing.checkpoints import steps_saved
from mlctl.finishing.controller import Look
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Run
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, Transient
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.workload import CHECKPOINT, DEFAULT_NAME, RESUMES, Workload

_T = TypeVar("_T")
TWIN = "-dedicated"
POLL_S = 30.0  # between two looks at a run of Azure: two requests a minute
_PATIENCE_S, _LONGEST_PAUSE_S = 6 * HOUR, 300.0  # how long a service may be without an answer
_UNSEEN = 10  # looks at which a job may not be there: one that was started is seen a little later
# What of a deployment makes its results what they are.
_VERSION = (
    *("model", "codeConfiguration", "environmentId", "outputAction", "outputFileName"),
    "deploymentConfiguration",
)
_COMPUTE = ("properties", "compute")
_COMPONENT_COMPUTE = ("properties", "deploymentConfiguration", "settings", "default_compute")
_AT_WORK = ("Running", "Finalizing", "Completed")  # of a step: it has had its nodes
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
        self.looked: Callable[[Look], None] = lambda _: None

    @property
    def bills(self) -> bool:
        """Whether runs say what they were billed: not on Azure."""
        return self.jobs.simulated

    def now(self) -> float:
        """Seconds since the epoch of the clock: the virtual one of a simulated cloud."""
        backend = self.backend
        return backend.now() if isinstance(backend, SupportsVirtualTime) else self.wall()

    def find(self, run: str) -> Look | None:
        """A run; None where there is none of that name."""
        return self.patiently(lambda: self._find(run))

    def _find(self, run: str) -> Look | None:
        try:
            return _look(self.jobs.show(run))
        except NotFound:
            return None

    def _working(self, run: str, look: Look) -> Look:
        """A run that is looked at to decide: one of steps has worked where one of these has."""
        if not look.parts:
            return look
        steps = self.patiently(lambda: self.jobs.children(run))
        return replace(look, batches=int(any(step.status in _AT_WORK for step in steps)))

    def patiently(self, ask: Callable[[], _T]) -> _T:
        """What is asked; again where the service cannot answer now, for `_PATIENCE_S` at most.

        What is asked must be able to happen twice.

        Raises:
            Transient: there is no answer after that time.
            ServiceError: refused.
        """
        until, pause = self.now() + _PATIENCE_S, POLL_S
        while True:
            try:
                return ask()
            except Transient:
                if self.now() >= until:
                    raise
            self.backend.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def upload(self, order: Order) -> None:
        """Send the files of the job to the folders of its shards.

        Raises:
            ServiceError: refused; or the files are not here.
        """
        root = Path(order.source)
        for shard in range(len(order.sizes)):
            files = {name: root / name for name in order.names(shard)}
            try:
                self.patiently(partial(self._folders.write, order.folder(shard), files))
            except OSError as error:
                text = f"cannot read {error.filename}: {error.strerror}"
                raise Permanent("ContentGone", text) from None

    def discard(self, order: Order) -> None:
        """Remove what was uploaded; nothing need be there."""
        self.patiently(lambda: self._folders.remove(order.upload))

    @property
    def _folders(self) -> Folders:
        if not isinstance(self.backend, SupportsFolders):
            raise Permanent("NoFolders", f"the {self.backend.name} backend keeps no files for jobs")
        return self.backend.folders

    def version(self, order: Order) -> str:
        """A hash of what the deployment runs, and of how it writes results.

        Raises:
            Permanent: it is gone.
        """
        address = Address("batch-deployment", order.deployment, order.endpoint)
        properties = self.patiently(lambda: self._read(address))["properties"]
        facts = json.dumps([properties.get(name) for name in _VERSION], sort_keys=True)
        return sha256(facts.encode()).hexdigest()[:16]

    def submit(self, order: Order, run: Run) -> None:
        """Start a run under its name, which is taken for ever: so it cannot be started twice.

        Raises:
            ServiceError: refused, or no answer came as often as it was asked for.
        """
        tries = count()
        invoke = self._created(order, run) if order.job is not None else self._invoked(order, run)

        def start() -> None:
            is_again = next(tries) > 0
            if is_again and self._find(run.name) is not None:
                return  # the answer was lost, and not the request
            try:
                invoke()
            except Permanent:
                if not is_again or self._find(run.name) is None:
                    raise

        self.patiently(start)

    def _invoked(self, order: Order, run: Run) -> Callable[[], Job]:
        deployment = order.dedicated if run.tier is Tier.DEDICATED else order.deployment
        files = {} if order.whole else {"files": order.sizes[run.shard]}
        workload = Workload(**{**order.workload, **files})
        body = self._body(order, run)
        facts = (order.endpoint, deployment, body, workload, DEFAULT_NAME)
        return lambda: self.jobs.invoke(*facts)

    def _created(self, order: Order, run: Run) -> Callable[[], Job]:
        """A run of a job: on nodes of its tier, from the checkpoint of an earlier one if it can."""
        body = pointer.copied(order.job)
        if order.deployment:
            name = order.dedicated if run.tier is Tier.DEDICATED else order.deployment
            target = Address("compute", name).id(self.backend.scope)
            if body.get("jobType") == "Pipeline":
                spare = Address("compute", order.deployment).id(self.backend.scope)
                body = _moved(body, spare, target)
            else:
                body["computeId"] = target
        else:
            tier = "Standard" if run.tier is Tier.DEDICATED else "Spot"
            body["queueSettings"] = {**(body.get("queueSettings") or {}), "jobTier": tier}
        if order.checkpoint:
            self._resume(body, order, run)
        facts = (run.name, {"properties": body}, Workload(**order.workload), DEFAULT_NAME)
        return lambda: self.jobs.create(*facts)

    def _resume(self, body: Any, order: Order, run: Run) -> None:
        """Let a run leave its checkpoints where they are found, and begin from those of another."""
        body["outputs"][order.checkpoint]["uri"] = checkpoint_uri(order, run.name)
        notes = {**(body.get("properties") or {}), CHECKPOINT: order.checkpoint}
        if run.resumes:
            uri = checkpoint_uri(order, run.resumes)
            body["inputs"][order.resumes] = {"jobInputType": "uri_folder", "uri": uri}
            notes[RESUMES] = run.resumes
        body["properties"] = notes

    def saved(self, order: Order, run: Run) -> int | None:
        """The steps in the checkpoint that a run has left; None: no whole one of its own."""
        look = self.find(run.name)
        if look is None:
            return None
        if look.saved is not None:
            return look.saved if look.saved > run.first else None
        try:
            sizes = self.patiently(lambda: self._folders.files(checkpoint_uri(order, run.name)))
        except Permanent:  # there is nothing, or it cannot be listed
            return None
        return steps_saved(sizes, run.first, order.sizes[0])

    def _body(self, order: Order, run: Run) -> dict[str, Data]:
        """ARM's properties of a run."""
        inputs = order.inputs
        if order.folders:
            [name] = inputs or ("UriFolder",)
            inputs = {name: {"jobInputType": "UriFolder", "uri": order.folders[run.shard]}}
        return {
            "name": run.name,
            "inputData": inputs,
            "properties": {"experimentName": order.name},
            "outputFileName": order.output_file,
        }

    def watch(self, run: str, moment: float) -> Look:
        """A run at its end, or at a moment before which it does not end."""
        if self.jobs.simulated:
            for update in self.jobs.follow(run, max(moment - self.now(), 0.0), detail=False):
                job = update.job
                self.looked(_look(job))
            if not job.ended and self.now() < moment:  # it stands still for good
                self.backend.wait(moment - self.now())
            return self._working(run, _look(job))
        missing = 0
        while True:
            look = self.find(run)
            missing = missing + 1 if look is None else 0
            if missing > _UNSEEN:
                return Look("Failed", reason="the job no longer exists")
            if look is not None and (look.ended or self.now() >= moment):
                return self._working(run, look)
            if look is not None:
                self.looked(look)
            self.backend.wait(min(POLL_S, max(moment - self.now(), 1.0)))

    def cancel(self, run: str) -> Look:
        """Cancel a run that may have ended already.

        Raises:
            ServiceError: refused.
        """

        def cancelled() -> Job:
            try:
                return self.jobs.cancel(run)
            except Permanent:
                job = self.jobs.show(run)
                if not job.ended:
                    raise
                return job

        job = self.patiently(cancelled)
        return _look(job) if job.ended else self.watch(run, self.now() + 10 * POLL_S)

    def twins(self, order: Order) -> Mapping[str, Any]:
        """The bodies of cluster and deployment of the twin that are not there, by addresses.

        Raises:
            Permanent: the deployment or its cluster is gone.
        """
        if order.job is not None:
            if not order.deployment:
                return {}
            twin_cluster, compute = self._twin_cluster(Address("compute", order.deployment))
            is_there = twin_cluster in self.backend.read([twin_cluster])
            return {} if is_there else {str(twin_cluster): compute}
        source = Address("batch-deployment", order.deployment, order.endpoint)
        deployment = self._read(source)
        at = _COMPONENT_COMPUTE if order.whole else _COMPUTE
        compute_id = str(pointer.get(deployment, at) or "")
        cluster = Address("compute", compute_id.rpartition("/")[2].rpartition(":")[2])
        twin_cluster, compute = self._twin_cluster(cluster)
        head, _, _ = compute_id.rpartition(cluster.name)
        pointer.put(deployment, at, head + twin_cluster.name)
        twin = Address("batch-deployment", order.dedicated, order.endpoint)
        present = self.backend.read([twin_cluster, twin])
        bodies = {twin_cluster: compute, twin: deployment}
        return {str(address): body for address, body in bodies.items() if address not in present}

    def _twin_cluster(self, cluster: Address) -> tuple[Address, Any]:
        compute = self._read(cluster)
        pointer.put(compute, _PRIORITY, "Dedicated")
        pointer.put(compute, _SCALE, 0)
        return Address("compute", cluster.name + TWIN), compute

    def _read(self, address: Address) -> Any:
        live = self.backend.read([address]).get(address)
        if live is None:
            raise Permanent("TwinSource", f"{address} no longer exists")
        body = {key: part for key, part in live.body.items() if key not in _READ_ONLY}
        return pointer.copied(body)

    def make(self, address: str, body: Any) -> None:
        """Create a part of the twin."""
        self.patiently(lambda: self.backend.put(Address.parse(address), body).wait())

    def remove(self, address: str) -> None:
        """Delete a part of the twin, unless it is gone."""
        try:
            self.patiently(lambda: self.backend.delete(Address.parse(address)).wait())
        except NotFound:
            return


def _look(job: Job) -> Look:
    run = job.body["properties"].get("run") or {}
    node_s = run.get("billed_node_s")
    batches = pointer.get(run, ("mini_batches", "completed")) or 0
    saved = pointer.get(run, ("steps", "saved"))
    if saved is not None:
        batches = max(int(saved), 1) if job.status == "Running" else 0
    return Look(
        job.status,
        int(batches) if batches else int(job.status == "Running" and not run),
        float(node_s) if node_s is not None else None,
        str(run.get("reason") or ""),
        None if saved is None else int(saved),
        job.body["properties"].get("jobType") in ("Pipeline", "Sweep") and not job.ended,
    )


def _moved(data: Any, source: str, target: str) -> Any:
    """ARM's properties of a pipeline with another cluster in the place of one, wherever it is."""
    match data:
        case str():
            return target if data.casefold() == source.casefold() else data
        case Mapping():
            return {key: _moved(part, source, target) for key, part in data.items()}
        case list():
            return [_moved(part, source, target) for part in data]
        case _:
            return data


def checkpoint_uri(order: Order, run: str) -> str:
    """The folder in which a run leaves its checkpoints: where Azure puts outputs by itself."""
    return f"azureml://datastores/workspaceblobstore/paths/azureml/{run}/{order.checkpoint}/"
