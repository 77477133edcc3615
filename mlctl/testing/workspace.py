"""A simulated workspace for one test: Azure's API on it, what mlctl does to it, its clock."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import mlctl
from mlctl import durations
from mlctl.applying.outcome import Outcome
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.jobs import Job
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.testing import sdk
from mlctl.testing.preemption import Preemption
from mlctl.workload import DEFAULT_NAME, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlctl.emulator import Emulator
    from mlctl.workflow.model import Planned

Paths: TypeAlias = str | Path | Sequence[str | Path]
Duration: TypeAlias = str | float  # `10m`, `1h30m`, `PT90S`, or seconds
_PATIENCE = "365d"


class NotApplied(Exception):
    """An apply did not do all that was planned; `outcome` has the steps."""

    def __init__(self, outcome: Outcome) -> None:
        errors = [
            f"{event.step.target}: {event.error.message}" for event in outcome.failed if event.error
        ]
        super().__init__("; ".join(errors) or "the apply was stopped")
        self.outcome = outcome


class SimulatedWorkspace:
    """A workspace of a simulated cloud of its own, in memory, at the cloud's first moment.

    Its clock stands still until somebody waits: `wait`, `advance`, an operation of the SDK.
    """

    def __init__(self, folder: Path) -> None:
        """A new one. Relative paths are those from `folder`."""
        from mlctl.emulator.requests.settings import HOME

        self.folder = folder
        self.backend = LocalBackend(":memory:", HOME)
        self.preempt = Preemption(self.backend.handle)
        self._transport: Any = None

    @property
    def scope(self) -> Scope:
        """Subscription, resource group and workspace."""
        return self.backend.scope

    @cached_property
    def emulator(self) -> Emulator:
        """Azure's REST API on this workspace: a function from a request to a response."""
        from mlctl.emulator import Emulator, EmulatorSettings

        return Emulator(self.backend.handle.store, EmulatorSettings(bug=_fail))

    @property
    def ml_client(self) -> Any:
        """The MLClient of azure-ai-ml on this workspace; skips the test where it is absent."""
        client = self._client
        os.environ[sdk.CLOUD] = self._cloud  # of two clients, the one that was asked for last
        return client

    def plan(
        self,
        paths: Paths = ".",
        *,
        env: str | None = None,
        destroy: bool = False,
        **settings: Data,
    ) -> Planned:
        """What apply would change; `env` is one of `mlctl.yml`, `settings` are those of `load`.

        Raises:
            InvalidFiles: the files have errors; their places are in its notes.
            ProjectError: `mlctl.yml` cannot be used.
            UnknownEnvironment: it has no such environment.
        """
        with _places():
            listed = [paths] if isinstance(paths, str | Path) else paths
            files = [os.path.relpath(self.folder / path) for path in listed]
            project = mlctl.read_project(files, env)
            return mlctl.plan(files, self.backend, project=project, destroy=destroy, **settings)

    def apply(
        self,
        paths: Paths = ".",
        *,
        env: str | None = None,
        destroy: bool = False,
        **settings: Data,
    ) -> Outcome:
        """Plan and apply.

        Raises:
            InvalidFiles: the files have errors.
            Refused: the plan has errors.
            NotApplied: a step failed.
        """
        planned = self.plan(paths, env=env, destroy=destroy, **settings)
        with _places():
            outcome = mlctl.apply(planned, self.backend)
        if not outcome.complete:
            raise NotApplied(outcome)
        return outcome

    def show(self, address: str) -> Mapping[str, Data]:
        """The ARM body of a resource (`compute/cpu`).

        Raises:
            ValueError: it is no address.
            LookupError: there is none.
        """
        resource = Address.parse(address)
        live = self.backend.read([resource]).get(resource)
        if live is None:
            raise LookupError(f"the workspace has no {address}")
        return live.body

    def invoke(
        self, endpoint: str, deployment: str | None = None, *, files: int, **workload: float
    ) -> Job:
        """Call a batch endpoint with as many files; `workload` has figures of `Workload`.

        Raises:
            ServiceError: there is no such endpoint or deployment; or refused.
        """
        figures: dict[str, Any] = dict(workload)
        load = Workload(files=files, **figures)
        return self.backend.jobs.invoke(endpoint, deployment, {}, load, DEFAULT_NAME)

    def wait(self, job: Any, patience: Duration = _PATIENCE) -> Job:
        """Let time pass until a job has ended: one of `invoke`, one of the SDK, or its name.

        Raises:
            TimeoutError: it has not ended in this time; it says where it stands.
            ServiceError: there is no such job.
        """
        name = job if isinstance(job, str) else str(job.name)
        for _ in self.backend.jobs.follow(name, _seconds(patience), detail=False):
            pass
        ended = self.backend.jobs.show(name)
        if not ended.ended:
            raise TimeoutError(f"job `{name}` is {ended.status} after {patience}")
        return ended

    def advance(self, duration: Duration) -> None:
        """Let time pass: `10m`, `1h30m`, `PT90S`, or a number of seconds.

        Raises:
            ValueError: it is no duration.
        """
        self.backend.wait(_seconds(duration))

    def close(self) -> None:
        """End the workspace."""
        if self._transport is not None:
            sdk.LEADING.end(self._transport)
        self.backend.close()

    @cached_property
    def _client(self) -> Any:
        import pytest

        pytest.importorskip(
            "azure.ai.ml", reason="azure-ai-ml is not installed: pip install 'mlctl-azure[azure]'"
        )
        sdk.LEADING.begin()
        scope = self.scope
        names = (scope.subscription, scope.resource_group, scope.workspace)
        sdk_client, self._transport = sdk.client(self.emulator, *names)
        self._cloud = os.environ[sdk.CLOUD]
        return sdk_client


def _seconds(duration: Duration) -> float:
    return durations.parse(duration) if isinstance(duration, str) else float(duration)


def _fail(error: Exception) -> None:
    raise AssertionError("the emulator has a bug") from error


@contextmanager
def _places() -> Iterator[None]:
    """Findings that an error is about become its notes, with their places."""
    try:
        yield
    except (mlctl.InvalidFiles, mlctl.ProjectError, mlctl.Refused) as error:
        for finding in error.report:
            at = ""
            if finding.primary is not None:
                span = finding.primary.span
                at = f"{span.source.name}:{span.line + 1}:{span.column + 1}: "
            error.add_note(f"{at}{finding.rule.code}: {finding.message}")
        raise
