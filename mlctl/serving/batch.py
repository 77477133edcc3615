"""Batch jobs with the predictions of the user's own code.

The code runs once for each mini-batch, before the job is submitted. Its durations become the job's
workload, so that preemption, order and cost are the event engine's, which stays pure.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass, replace
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data, get
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.rehearsal.process import TooLate
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.service_errors import Permanent
from mlctl.serving import job_plans, jobs
from mlctl.serving.deployments import CodeSettings, locate, of_body, uri_of
from mlctl.serving.servers import ScriptError, WorkerPool, load_failure
from mlctl.simulator.control_plane import local_paths, service
from mlctl.simulator.control_plane.jobs import artifacts, creation
from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.state.errors import missing
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_LEAST_S = 1e-6  # of a mini-batch's time
_PIPELINE = "PipelineComponent"


@dataclass(frozen=True, slots=True)
class ScoredMiniBatch:
    """A scored mini-batch: its rows and seconds per try, or the error that ended it."""

    rows: tuple[str, ...]
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a job scores: files per mini-batch, tries, seconds, failures, whether rows are kept."""

    size: int
    tries: int
    timeout: float
    threshold: int
    appends: bool
    workers: int

    @classmethod
    def of(cls, deployment: Mapping[str, Data], job: Mapping[str, Data]) -> Settings:
        """Return the settings of a deployment's ARM properties, overridden by those of the job."""
        merged = {**_set_of(deployment), **_set_of(job)}
        retry = _set_of(deployment.get("retrySettings")) | _set_of(job.get("retrySettings"))
        compute = _set_of(deployment.get("resources")) | _set_of(job.get("compute"))
        nodes = int(compute.get("instanceCount") or 1)
        return cls(
            size=int(merged.get("miniBatchSize") or 10),
            tries=1 + int(retry.get("maxRetries", 3)),
            timeout=parse_iso(str(retry.get("timeout") or "PT30S")),
            threshold=int(merged.get("errorThreshold", -1)),
            appends=str(merged.get("outputAction") or "AppendRow").casefold() != "summaryonly",
            workers=min(
                nodes * int(merged.get("maxConcurrencyPerInstance") or 1), os.cpu_count() or 1
            ),
        )


def _set_of(section: Data) -> dict[str, Data]:
    """Return what a section of ARM's sets."""
    items = section.items() if isinstance(section, Mapping) else ()
    return {key: value for key, value in items if value is not None}


def invoke(
    workspace: WorkspaceHandle, invocation: Invocation, code: CodeSettings
) -> tuple[JobRecord, str]:
    """Score the inputs with a deployment's code, and submit the job; note what failed.

    Raises:
        NotFound: there is no such endpoint or deployment.
        Permanent: the code or the inputs are missing, or the script cannot be loaded.
    """
    address, body = _deployment(workspace, invocation)
    configured = get(body, ("properties", "deploymentConfiguration")) or {}
    if configured.get("deploymentConfigurationType") == _PIPELINE:
        return _invoke_pipeline(workspace, invocation, configured, code), ""
    settings = Settings.of(body["properties"], invocation.body)
    deployment = of_body(workspace, address, body, code)
    paths = [path for uri in _uris(workspace, invocation.body) for path in _paths(uri, code)]
    if not paths:
        raise Permanent("NoInputs", "the job has no input with files: there is nothing to score")
    mini_batches = [paths[at : at + settings.size] for at in range(0, len(paths), settings.size)]
    results = jobs.results_folder(workspace, "batch-")
    try:
        beside = local_paths.code_folder(workspace.store)
        cache = beside / "cache" if beside is not None else None
        scored = _Scoring(deployment, settings, code, cache, results).run(mini_batches)
        rows = [mini_batch.rows for mini_batch in scored]
        artifacts.write_results(results, rows, settings.appends)
        return _submit(workspace, invocation, results, settings, mini_batches, scored)
    except ScriptError as error:
        shutil.rmtree(results, ignore_errors=True)
        raise load_failure(address, error) from None
    except BaseException:
        shutil.rmtree(results, ignore_errors=True)
        raise


def _submit(
    workspace: WorkspaceHandle,
    invocation: Invocation,
    results: Path,
    settings: Settings,
    mini_batches: list[list[str]],
    scored: list[ScoredMiniBatch],
) -> tuple[JobRecord, str]:
    failed = [len(batch) for batch, out in zip(mini_batches, scored, strict=True) if out.error]
    fails = 0 <= settings.threshold < sum(failed)
    workload = replace(
        invocation.workload,
        files=sum(map(len, mini_batches)),
        times=tuple(max(_LEAST_S, mini_batch.seconds) for mini_batch in scored),
        fail_probability=1.0 if fails else invocation.workload.fail_probability,
    )
    job = creation.invoke(workspace, replace(invocation, workload=workload, results=str(results)))
    first = next((mini_batch.error for mini_batch in scored if mini_batch.error), "")
    count = f"{len(failed)} of {len(scored)} mini-batches failed; the first"
    return job, f"{count}: {first}" if first else ""


def _invoke_pipeline(
    workspace: WorkspaceHandle,
    invocation: Invocation,
    configured: Mapping[str, Data],
    code: CodeSettings,
) -> JobRecord:
    """Run the code of a deployed pipeline, and submit its job."""
    properties = {
        "componentId": get(configured, ("componentId", "assetId")),
        "settings": configured.get("settings") or {},
        "inputs": invocation.body.get("inputData") or {},
    }
    plan = job_plans.plan(workspace, "pipeline", properties, code, Path())
    ran = jobs.run(workspace, plan, code)
    job = creation.invoke(workspace, replace(invocation, ran=ran))
    jobs.keep_outputs(workspace, job, ran)
    return job


def _deployment(
    workspace: WorkspaceHandle, invocation: Invocation
) -> tuple[Address, Mapping[str, Data]]:
    endpoint = Address("batch-endpoint", invocation.endpoint)
    body = _body(workspace, endpoint)
    name = invocation.deployment or get(body, ("properties", "defaults", "deploymentName"))
    if not name:
        text = f"Endpoint `{endpoint.name}` has no default deployment: name one."
        raise Permanent("NoDefaultDeployment", text)
    address = Address("batch-deployment", str(name), endpoint.name)
    return address, _body(workspace, address)


def _body(workspace: WorkspaceHandle, address: Address) -> Mapping[str, Data]:
    stored = service.read(workspace, [address]).get(address)
    if stored is None:
        raise missing(address)
    return stored.body


def _uris(workspace: WorkspaceHandle, body: Mapping[str, Data]) -> Iterator[str]:
    """Return where the files of the inputs are."""
    for item in (body.get("inputData") or {}).values():
        if item.get("uri"):
            yield uri_of(workspace, "data", str(item["uri"]))


def _paths(uri: str, code: CodeSettings) -> list[str]:
    """Return the sorted files of an input."""
    path = files.expanded(local_path(uri)) if is_local(uri) else locate(uri, "the input", code)
    try:
        inputs = Inputs.find(path)
    except RehearsalError as error:
        raise Permanent("InputNotFound", str(error)) from None
    return [str(inputs.root / name) for name in inputs.names]


class _Scoring:
    """The mini-batches of a job, scored by a few parallel processes."""

    def __init__(
        self,
        deployment: Deployment,
        settings: Settings,
        code: CodeSettings,
        cache: Path | None,
        results: Path,
    ) -> None:
        self.settings, self.cache, self.results = settings, cache, results
        self.pool = WorkerPool(deployment, code, lambda at: results / f"process{at:03}.txt")
        self.key = _digest_of(deployment, settings, code)

    def run(self, mini_batches: list[list[str]]) -> list[ScoredMiniBatch]:
        """Score all of them; earlier results are reused."""
        names, before = [self._name(mini_batch) for mini_batch in mini_batches], self._read()
        known = [ScoredMiniBatch(*before[name]) if name in before else None for name in names]
        try:
            for _ in range(min(self.settings.workers, known.count(None))):
                self.pool.idle.put(self.pool.begin())
            with ThreadPoolExecutor(max(1, len(self.pool.workers))) as threads:
                scored = list(threads.map(self._score, mini_batches, known))
            for output in self.pool.outputs:
                shutil.copytree(output, self.results / "files", dirs_exist_ok=True)
        finally:
            self.pool.end()
        if self.pool.outputs and not any((self.results / "files").rglob("*")):
            pairs = zip(names, scored, strict=True)
            self._keep({name: score for name, score in pairs if not score.error})
        return scored

    def _score(self, mini_batch: list[str], known: ScoredMiniBatch | None) -> ScoredMiniBatch:
        if known is not None:
            return known
        worker, error, began = self.pool.idle.get(), "", time.monotonic()
        try:
            for _ in range(self.settings.tries):
                try:
                    answer = worker.ask(self.settings.timeout, run=mini_batch)
                except TooLate:
                    error = f"run() takes longer than {self.settings.timeout:g} s"
                    worker = self.pool.replace(worker)
                except ScriptError as failure:
                    error = str(failure)
                    if not failure.trace:  # its process has ended
                        worker = self.pool.replace(worker)
                else:
                    return ScoredMiniBatch(tuple(answer["rows"]), float(answer["seconds"]))
        finally:
            self.pool.idle.put(worker)
        return ScoredMiniBatch((), (time.monotonic() - began) / self.settings.tries, error)

    def _name(self, mini_batch: list[str]) -> str:
        """Return the key of a mini-batch's result: its files as they are."""
        digest = hashlib.sha256()
        for path in mini_batch:
            digest.update(path.encode() + _stamp(Path(path)))
        return digest.hexdigest()[:32]

    def _read(self) -> dict[str, list[Data]]:
        """Read what this code has scored before in this environment."""
        with suppress(OSError, ValueError, TypeError):
            if self.cache is not None:
                return dict(json.loads((self.cache / self.key).read_bytes()))
        return {}

    def _keep(self, scored: Mapping[str, ScoredMiniBatch]) -> None:
        if self.cache is not None:
            self.cache.mkdir(parents=True, exist_ok=True)
            new = {name: [score.rows, score.seconds] for name, score in scored.items()}
            files.write(self.cache / self.key, json.dumps({**self._read(), **new}).encode())


def _digest_of(deployment: Deployment, settings: Settings, code: CodeSettings) -> str:
    """Hash what a prediction depends on besides its files."""
    digest = hashlib.sha256(repr((deployment, settings.size, code.python)).encode())
    for root in (deployment.code, deployment.model):
        for path in sorted((root, *root.rglob("*"))) if root is not None else ():
            if files.is_file(path) and "__pycache__" not in path.parts:
                digest.update(str(path).encode() + _stamp(path))
    return f"{digest.hexdigest()[:32]}.json"


def _stamp(path: Path) -> bytes:
    """Return what changes with a file's content."""
    status = path.stat()
    return f" {status.st_size} {status.st_mtime_ns}\n".encode()
