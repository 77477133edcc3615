"""Runs in a workspace: batch or command jobs, their dedicated twins and their checkpoints."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mlctl import pointer
from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.backends.ports.jobs import Folders, Job, Jobs, SupportsFolders
from mlctl.dataclasses import replace
from mlctl.digests import sha256
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Run, RunState
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, Transient
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.workload import CHECKPOINT, DEFAULT_NAME, RESUMES, Workload

# Names of files that are still being written, and the step number in a name.
_PARTIAL = re.compile(r"\.(partial|part|tmp|temp|incomplete)$|(^|/)[.~]")
_STEPS = re.compile(r"(?:step|ckpt|checkpoint|epoch|iter)\D{0,3}(\d+)", re.IGNORECASE)
_PARTS = re.compile(r"\d+-of-0*(\d+)")
_LEAST = 0.9  # of the bytes that the same file has in the previous checkpoint


def count_saved_steps(sizes: Mapping[str, int], first: int, steps: int) -> int | None:
    """Return the steps in the last complete checkpoint, or None; `sizes` are bytes by file name.

    Numbers from `steps` on are not step numbers. If no name has a number, the answer is `first`.
    """
    by_step: dict[int, list[str]] = defaultdict(list)
    for name in sizes:
        numbers = [int(text) for text in _STEPS.findall(name) if int(text) < steps]
        by_step[max(numbers, default=-1)].append(name)
    unnumbered = by_step.pop(-1, [])
    if not by_step:
        return first if _bytes(unnumbered, sizes) and any(map(_is_whole, unnumbered)) else None
    last, previous = None, Counter[str]()
    for step, names in sorted(by_step.items()):
        files = _bytes(names, sizes)
        is_smaller = any(files[shape] < _LEAST * size for shape, size in previous.items())
        parts = Counter(  # sets such as `model-00001-of-00003`
            (_shape(name), match[1]) for name in names if (match := _PARTS.search(name))
        )
        has_all_parts = all(count == int(total) for (_, total), count in parts.items())
        if files and not is_smaller and all(map(_is_whole, names)) and has_all_parts:
            last, previous = step, files
    return last


def _is_whole(name: str) -> bool:
    return not _PARTIAL.search(name)


def _bytes(names: Iterable[str], sizes: Mapping[str, int]) -> Counter[str]:
    """Sum bytes by file name without its numbers; empty files are left out."""
    files = Counter[str]()
    for name in names:
        files[_shape(name)] += sizes[name]
    return +files


def _shape(name: str) -> str:
    return re.sub(r"\d+", "#", name)


_T = TypeVar("_T")
TWIN = "-dedicated"
POLL_S = 30.0  # between two polls of a run on Azure: two requests a minute
_RETRY_FOR_S, _LONGEST_PAUSE_S = 6 * HOUR, 300.0  # how long to retry if the service does not answer
_MAX_MISSING_POLLS = 10  # polls for which a job may be missing: a new one appears a little later
# The properties of a deployment that determine its results.
_VERSION = (
    "model",
    "codeConfiguration",
    "environmentId",
    "outputAction",
    "outputFileName",
    "deploymentConfiguration",
)
_COMPUTE = ("properties", "compute")
_COMPONENT_COMPUTE = ("properties", "deploymentConfiguration", "settings", "default_compute")
_AT_WORK = ("Running", "Finalizing", "Completed")  # statuses of a step that has had its nodes
# Keys that the service reports and does not accept.
_READ_ONLY = ("id", "systemData", "etag", "type", "name")
_SCALE = ("properties", "properties", "scaleSettings", "minNodeCount")
_PRIORITY = ("properties", "properties", "vmPriority")


class WorkspaceCloud:
    """Where runs execute; `on_state` is called with each state of a run that has not ended."""

    def __init__(self, backend: Backend, jobs: Jobs, wall: Callable[[], float] = time.time) -> None:
        """Use `wall` (Unix seconds) if the backend has no virtual clock."""
        self.backend = backend
        self.jobs = jobs
        self.wall = wall
        self.on_state: Callable[[RunState], None] = lambda _: None

    @property
    def bills(self) -> bool:
        """Whether runs report what they were billed; on Azure they do not."""
        return self.jobs.simulated

    def now(self) -> float:
        """Return the time in seconds since the epoch of the clock, virtual on a simulated cloud."""
        backend = self.backend
        return backend.now() if isinstance(backend, SupportsVirtualTime) else self.wall()

    def find(self, run: str) -> RunState | None:
        """Return the state of a run, or None if it does not exist."""
        return self.retry_transient(lambda: self._find(run))

    def _find(self, run: str) -> RunState | None:
        try:
            return _to_run_state(self.jobs.show(run))
        except NotFound:
            return None

    def _count_steps_at_work(self, run: str, state: RunState) -> RunState:
        """Count a pipeline or sweep as at work if one of its jobs has had its nodes."""
        if not state.parts:
            return state
        steps = self.retry_transient(lambda: self.jobs.children(run))
        return replace(state, batches=int(any(step.status in _AT_WORK for step in steps)))

    def retry_transient(self, call: Callable[[], _T]) -> _T:
        """Call the service, and retry transient errors for up to `_RETRY_FOR_S`.

        What is asked must be able to happen twice.

        Raises:
            Transient: there is no answer after that time.
            ServiceError: refused.
        """
        until, pause = self.now() + _RETRY_FOR_S, POLL_S
        while True:
            try:
                return call()
            except Transient:
                if self.now() >= until:
                    raise
            self.backend.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def upload(self, order: Order) -> None:
        """Upload the files of the job to the folders of its shards.

        Raises:
            ServiceError: the service refuses, or the local files are missing.
        """
        root = Path(order.source)
        for shard in range(len(order.sizes)):
            files = {name: root / name for name in order.names(shard)}
            try:
                self.retry_transient(partial(self._folders.write, order.folder(shard), files))
            except OSError as error:
                text = f"cannot read {error.filename}: {error.strerror}"
                raise Permanent("ContentGone", text) from None

    def discard(self, order: Order) -> None:
        """Remove the uploaded files, if any."""
        self.retry_transient(lambda: self._folders.remove(order.upload))

    @property
    def _folders(self) -> Folders:
        if not isinstance(self.backend, SupportsFolders):
            raise Permanent("NoFolders", f"the {self.backend.name} backend cannot store files")
        return self.backend.folders

    def version(self, order: Order) -> str:
        """Return a hash of what the deployment runs and of how it writes results."""
        address = Address("batch-deployment", order.deployment, order.endpoint)
        properties = self.retry_transient(lambda: self._read(address))["properties"]
        facts = json.dumps([properties.get(name) for name in _VERSION], sort_keys=True)
        return sha256(facts)[:16]

    def submit(self, order: Order, run: Run) -> None:
        """Start a run. Its name is never reused, so that it cannot start twice.

        Raises:
            ServiceError: the service refuses, or still does not answer after all retries.
        """
        tries = count()
        invoke = (
            self._prepare_create(order, run)
            if order.job is not None
            else self._prepare_invoke(order, run)
        )

        def start() -> None:
            is_again = next(tries) > 0
            if is_again and self._find(run.name) is not None:
                return  # the answer was lost, not the request
            try:
                invoke()
            except Permanent:
                if not is_again or self._find(run.name) is None:
                    raise

        self.retry_transient(start)

    def _prepare_invoke(self, order: Order, run: Run) -> Callable[[], Job]:
        deployment = order.dedicated if run.tier is Tier.DEDICATED else order.deployment
        files = {} if order.whole else {"files": order.sizes[run.shard]}
        workload = Workload(**{**order.workload, **files})
        body = self._body(order, run)
        facts = (order.endpoint, deployment, body, workload, DEFAULT_NAME)
        return lambda: self.jobs.invoke(*facts)

    def _prepare_create(self, order: Order, run: Run) -> Callable[[], Job]:
        """Prepare a command job on nodes of the run's tier, from a checkpoint if there is one."""
        body = pointer.copy(order.job)
        if order.deployment:
            name = order.dedicated if run.tier is Tier.DEDICATED else order.deployment
            target = Address("compute", name).id(self.backend.scope)
            if body.get("jobType") == "Pipeline":
                spare = Address("compute", order.deployment).id(self.backend.scope)
                body = _replace_cluster(body, spare, target)
            else:
                body["computeId"] = target
        else:
            tier = "Standard" if run.tier is Tier.DEDICATED else "Spot"
            body["queueSettings"] = {**(body.get("queueSettings") or {}), "jobTier": tier}
        if order.checkpoint:
            self._set_checkpoint_folders(body, order, run)
        facts = (run.name, {"properties": body}, Workload(**order.workload), DEFAULT_NAME)
        return lambda: self.jobs.create(*facts)

    def _set_checkpoint_folders(self, body: Any, order: Order, run: Run) -> None:
        """Point a run's output at its own checkpoints, and its input at those it resumes."""
        body["outputs"][order.checkpoint]["uri"] = checkpoint_uri(order, run.name)
        notes = {**(body.get("properties") or {}), CHECKPOINT: order.checkpoint}
        if run.resumes:
            uri = checkpoint_uri(order, run.resumes)
            body["inputs"][order.resumes] = {"jobInputType": "uri_folder", "uri": uri}
            notes[RESUMES] = run.resumes
        body["properties"] = notes

    def saved_steps(self, order: Order, run: Run) -> int | None:
        """Return the steps in the checkpoint that a run has left, or None if none is complete."""
        state = self.find(run.name)
        if state is None:
            return None
        if state.saved is not None:
            return state.saved if state.saved > run.first else None
        try:
            sizes = self.retry_transient(
                lambda: self._folders.files(checkpoint_uri(order, run.name))
            )
        except Permanent:  # the folder is missing, or cannot be listed
            return None
        return count_saved_steps(sizes, run.first, order.sizes[0])

    def _body(self, order: Order, run: Run) -> dict[str, Data]:
        """Build the ARM properties of a batch endpoint's run."""
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

    def watch(self, run: str, moment: float) -> RunState:
        """Wait until a run has ended, or until `moment` if that comes first."""
        if self.jobs.simulated:
            for update in self.jobs.follow(run, max(moment - self.now(), 0.0), detail=False):
                job = update.job
                self.on_state(_to_run_state(job))
            if not job.ended and self.now() < moment:  # it will never move on
                self.backend.wait(moment - self.now())
            return self._count_steps_at_work(run, _to_run_state(job))
        missing = 0
        while True:
            state = self.find(run)
            missing = missing + 1 if state is None else 0
            if missing > _MAX_MISSING_POLLS:
                return RunState("Failed", reason="the job no longer exists")
            if state is not None and (state.ended or self.now() >= moment):
                return self._count_steps_at_work(run, state)
            if state is not None:
                self.on_state(state)
            self.backend.wait(min(POLL_S, max(moment - self.now(), 1.0)))

    def cancel(self, run: str) -> RunState:
        """Cancel a run; one that has already ended is returned as it is."""

        def cancelled() -> Job:
            try:
                return self.jobs.cancel(run)
            except Permanent:
                job = self.jobs.show(run)
                if not job.ended:
                    raise
                return job

        job = self.retry_transient(cancelled)
        return _to_run_state(job) if job.ended else self.watch(run, self.now() + 10 * POLL_S)

    def missing_twins(self, order: Order) -> Mapping[str, Any]:
        """Return the bodies of the twin's resources that do not exist yet, by address."""
        if order.job is not None:
            if not order.deployment:
                return {}
            twin_cluster, compute = self._build_twin_cluster(Address("compute", order.deployment))
            exists = twin_cluster in self.backend.read([twin_cluster])
            return {} if exists else {str(twin_cluster): compute}
        source = Address("batch-deployment", order.deployment, order.endpoint)
        deployment = self._read(source)
        at = _COMPONENT_COMPUTE if order.whole else _COMPUTE
        compute_id = str(pointer.get(deployment, at) or "")
        cluster = Address("compute", compute_id.rpartition("/")[2].rpartition(":")[2])
        twin_cluster, compute = self._build_twin_cluster(cluster)
        head, _, _ = compute_id.rpartition(cluster.name)
        pointer.put(deployment, at, head + twin_cluster.name)
        twin = Address("batch-deployment", order.dedicated, order.endpoint)
        present = self.backend.read([twin_cluster, twin])
        bodies = {twin_cluster: compute, twin: deployment}
        return {str(address): body for address, body in bodies.items() if address not in present}

    def _build_twin_cluster(self, cluster: Address) -> tuple[Address, Any]:
        compute = self._read(cluster)
        pointer.put(compute, _PRIORITY, "Dedicated")
        pointer.put(compute, _SCALE, 0)
        return Address("compute", cluster.name + TWIN), compute

    def _read(self, address: Address) -> Any:
        live = self.backend.read([address]).get(address)
        if live is None:
            raise Permanent("TwinSource", f"{address} no longer exists")
        body = {key: part for key, part in live.body.items() if key not in _READ_ONLY}
        return pointer.copy(body)

    def create(self, address: str, body: Any) -> None:
        """Create a resource of the twin."""
        self.retry_transient(lambda: self.backend.put(Address.parse(address), body).wait())

    def remove(self, address: str) -> None:
        """Delete a resource of the twin, if it exists."""
        try:
            self.retry_transient(lambda: self.backend.delete(Address.parse(address)).wait())
        except NotFound:
            return


def _to_run_state(job: Job) -> RunState:
    run = job.body["properties"].get("run") or {}
    node_s = run.get("billed_node_s")
    batches = pointer.get(run, ("mini_batches", "completed")) or 0
    saved = pointer.get(run, ("steps", "saved"))
    if saved is not None:
        batches = max(int(saved), 1) if job.status == "Running" else 0
    return RunState(
        job.status,
        int(batches) if batches else int(job.status == "Running" and not run),
        float(node_s) if node_s is not None else None,
        str(run.get("reason") or ""),
        None if saved is None else int(saved),
        job.body["properties"].get("jobType") in ("Pipeline", "Sweep") and not job.ended,
    )


def _replace_cluster(data: Any, source: str, target: str) -> Any:
    """Replace one cluster's id by another's throughout a pipeline's ARM properties."""
    match data:
        case str():
            return target if data.casefold() == source.casefold() else data
        case Mapping():
            return {key: _replace_cluster(part, source, target) for key, part in data.items()}
        case list():
            return [_replace_cluster(part, source, target) for part in data]
        case _:
            return data


def checkpoint_uri(order: Order, run: str) -> str:
    """Return the folder for a run's checkpoints, which is Azure's default for outputs."""
    return f"azureml://datastores/workspaceblobstore/paths/azureml/{run}/{order.checkpoint}/"
