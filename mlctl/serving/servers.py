"""Servers: processes with a scoring script, started by the first request and ended with mlctl."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from mlctl.dataclasses import dataclass, field
from mlctl.kinds.address import Address
from mlctl.rehearsal.process import Gone, Interpreter, Process, TooLate
from mlctl.rehearsal.scoring.deployment import Deployment, lay_out, variables
from mlctl.service_errors import Permanent
from mlctl.serving.deployments import CodeSettings, OnlineLimits, of_body
from mlctl.simulator.control_plane import local_paths, scoring
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine.rng import uniform

_MISSING, _LINES = "ModuleNotFoundError", 20
_START_S = 600.0  # seconds for the import of a script and its `init`
_GRACE_S = 5.0  # added to a process's own patience


class ScriptError(Exception):
    """The script failed; the text is its error, `trace` its traceback."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text)
        self.trace = trace


def load_failure(address: Address, error: ScriptError) -> Permanent:
    """Explain why a script cannot be loaded: its last lines, and what to do."""
    reason = error.trace or str(error)
    hint = " (use --python with an interpreter that has its packages)" if _MISSING in reason else ""
    lines = "\n".join(reason.strip().splitlines()[-_LINES:])
    text = f"{address}: the script cannot be loaded{hint}:\n{lines}"
    return Permanent("ScriptFailed", text, status=424)


class Worker:
    """A process with a script that has initialised."""

    def __init__(self, deployment: Deployment, folder: Path, log: Path, code: CodeSettings) -> None:
        """Start the process and initialise the script; its output goes to `log`.

        Raises:
            ScriptError: the script cannot be imported, or its `init` fails.
        """
        lay_out(folder, deployment)
        output = folder / "output"
        output.mkdir(exist_ok=True)
        if log != Path(os.devnull):
            log.parent.mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "worker.txt").symlink_to(log.absolute())
        names = variables(deployment, folder, output, code.environment, 0)
        names["PYTHONUNBUFFERED"] = "1"
        names.pop("PYTHONHASHSEED")
        interpreter = Interpreter(code.python, False, 0, uuid.uuid4().hex, inf)  # noqa: FBT003
        script = folder / "code" / deployment.script.relative_to(deployment.code)
        self.output = output
        self._number = 0
        self._process = Process.start(interpreter, script, folder, names, "worker", kind="server")
        try:
            self.ask(_START_S, init=True, output=str(output), logs=str(folder / "logs"))
        except TooLate:
            self.end()
            raise ScriptError(f"the script has not initialised in {_START_S:.0f} s") from None
        except ScriptError:
            self.end()
            raise

    def ask(self, timeout: float, **order: Any) -> dict[str, Any]:
        """Answer an order; later orders wait for one that exceeds its time.

        Raises:
            ScriptError: the script raised, or its process has ended.
            TooLate: there is no answer in `timeout` seconds.
        """
        self._number += 1
        self._process.send(id=self._number, **order)
        ends = time.monotonic() + timeout
        try:
            answer = self._process.receive(ends - time.monotonic() - _GRACE_S)
            while answer["id"] != self._number:
                answer = self._process.receive(ends - time.monotonic() - _GRACE_S)
        except Gone as error:
            how = f"signal {error.signal}" if error.signal else f"exit code {error.code}"
            raise ScriptError(f"the process of the script has ended ({how})") from None
        if "failed" in answer:
            raise ScriptError(str(answer["failed"]), str(answer["trace"]))
        return answer

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._process.popen.poll() is not None

    def end(self) -> None:
        """End the process and its descendants."""
        self._process.end()


class WorkerPool:
    """Processes with one script: who asks one takes it from `idle`, and puts it back.

    `log` names the log of each by its number. `outputs` are the folders of all, ended ones too.
    """

    def __init__(
        self, deployment: Deployment, code: CodeSettings, log: Callable[[int], Path]
    ) -> None:
        self.idle: SimpleQueue[Worker] = SimpleQueue()
        self.workers: list[Worker] = []
        self.outputs: list[Path] = []
        self._folder, self._numbers = Path(tempfile.mkdtemp(prefix="mlctl-code-")), count()
        self._start: Callable[[int], Worker] = lambda number: Worker(
            deployment, self._folder / str(number), log(number), code
        )

    def begin(self) -> Worker:
        """Start one more process."""
        worker = self._start(next(self._numbers))
        self.workers.append(worker)
        self.outputs.append(worker.output)
        return worker

    def replace(self, worker: Worker) -> Worker:
        """End a process, and start another in its place."""
        worker.end()
        successor = self.begin()
        self.workers.remove(worker)
        return successor

    def end(self) -> None:
        """End the processes and remove their folders."""
        for worker in self.workers:
            worker.end()
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """An online deployment's answer: HTTP status, body, media type, other headers."""

    status: int
    body: str
    type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


OK = 200
_FAILED = "An unexpected error occurred in scoring script. Check the logs for more info."
_LATE = "upstream request timeout: the model takes longer than request_timeout_ms of the deployment"
_BUSY = "Too many pending requests"


def model_error(status: int, body: str, kind: str = "application/json") -> Answer:
    """Convert a container's answer that is not 200: Azure returns a 424, and why in two headers.

    how-to-troubleshoot-online-endpoints, "424 Model Error"; the text of an error of `run` is that
    of azureml-inference-server-http.
    """
    reason = "model_error"
    headers = {
        "ms-azureml-model-error-statuscode": str(status),
        "ms-azureml-model-error-reason": reason,
    }
    return Answer(424, body, kind, headers)


class OnlineServer:
    """The processes of one online deployment, and the requests that wait for them."""

    def __init__(
        self, deployment: Deployment, limits: OnlineLimits, log: Path, code: CodeSettings
    ) -> None:
        """Start the processes.

        Raises:
            ScriptError: the script cannot be imported, or its `init` fails.
        """
        self._limits, self._lock, self._pending = limits, Lock(), 0
        self._pool = WorkerPool(deployment, code, lambda _: log)
        try:
            for _ in range(limits.workers):
                self._pool.idle.put(self._pool.begin())
        except BaseException:
            self.end()
            raise

    def answer(self, request: str) -> Answer:
        """Answer a request: as the script does, or as the service does in its place."""
        with self._lock:
            if self._pending >= self._limits.capacity:
                return Answer(429, _BUSY, "text/plain")
            self._pending += 1
        ends = time.monotonic() + self._limits.timeout
        worker = None
        try:
            worker = self._pool.idle.get(timeout=self._limits.timeout)
            if worker.has_ended:  # as a container that has ended is started again
                worker = self._pool.replace(worker)
                ends = time.monotonic() + self._limits.timeout
            answer = worker.ask(max(0.0, ends - time.monotonic()), request=request)
        except (TooLate, Empty):
            return Answer(408, _LATE, "text/plain")
        except ScriptError as error:
            text = _FAILED if error.trace else str(error)
            return model_error(500, json.dumps({"message": text}))
        finally:
            with self._lock:
                self._pending -= 1
            if worker is not None:
                self._pool.idle.put(worker)
        body, status, kind = str(answer["body"]), int(answer["status"]), str(answer["type"])
        return Answer(200, body, kind) if status == OK else model_error(status, body, kind)

    def end(self) -> None:
        """End the processes and remove their folders."""
        self._pool.end()


class Servers:
    """The servers of all online deployments of a serving program."""

    def __init__(self, python: str, environment: Mapping[str, str]) -> None:
        self.python, self.environment = python, environment
        self._running: dict[str, tuple[str, OnlineServer]] = {}
        self._lock = Lock()
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)  # of each deployment
        self._drawn = 0

    def draw(self, seed: str) -> float:
        """Draw a number from 0 to 1 for the next request, by which traffic is split."""
        with self._lock:
            self._drawn += 1
            return uniform(f"{seed}/traffic/{self._drawn}")

    def settings(self, locate: Callable[[str], Path | None]) -> CodeSettings:
        """Return how code runs here, with files that `locate` finds."""
        return CodeSettings(self.python, locate, self.environment)

    def answer(
        self,
        workspace: WorkspaceHandle,
        resource: StoredResource,
        locate: Callable[[str], Path | None],
        request: str,
    ) -> Answer:
        """Answer a request to a deployment; its processes start with the first one.

        Raises:
            Permanent: its code cannot run here.
        """
        key = resource.address.id(workspace.scope).casefold()
        version = json.dumps([resource.body["properties"], resource.body.get("sku")])
        with self._locks[key]:
            started, server = self._running.get(key, ("", None))
            if server is None or started != version:
                self._running.pop(key, None)
                if server is not None:
                    server.end()
                try:
                    server = start(workspace, resource, self.settings(locate))
                except ScriptError as error:
                    return model_error(502, f"the container has crashed: {error}", "text/plain")
                self._running[key] = (version, server)
        return server.answer(request)

    def end(self) -> None:
        """End all servers."""
        for _, server in self._running.values():
            server.end()
        self._running.clear()


def start(workspace: WorkspaceHandle, resource: StoredResource, code: CodeSettings) -> OnlineServer:
    """Start the server of an online deployment."""
    deployment = of_body(workspace, resource.address, resource.body, code)
    log = scoring.log_file(workspace, resource.address) or Path(os.devnull)
    return OnlineServer(deployment, OnlineLimits.of(resource.body), log, code)


def answer_once(
    workspace: WorkspaceHandle,
    endpoint: Address,
    deployment: str | None,
    request: str,
    python: str,
    environment: Mapping[str, str],
) -> str:
    """Return the body of a successful answer.

    Raises:
        NotFound: there is no such endpoint or deployment.
        Permanent: its code cannot run here, or has failed.
    """
    resource = scoring.choose(workspace, endpoint, deployment)
    code = CodeSettings(python, partial(local_paths.find, workspace.store), environment)
    try:
        server = start(workspace, resource, code)
    except ScriptError as error:
        raise load_failure(resource.address, error) from None
    try:
        answer = server.answer(request)
    finally:
        server.end()
    if answer.status != OK:
        raise Permanent(f"HTTP {answer.status}", answer.body, status=answer.status)
    return answer.body
