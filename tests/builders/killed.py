"""Applies a folder to a state file, and may be killed at a write: what `test_kill` runs apart."""

from __future__ import annotations

import os
import signal
import threading
from datetime import date
from pathlib import Path

from mlctl.applying import executor
from mlctl.applying.events import StepState
from mlctl.backends.local.backend import LocalBackend
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address
from mlctl.planning import planner
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import work as steps
from tests.builders.simulated import finish_operations
from tests.builders.workspace import SCOPE, Watched


class Killed(Watched):
    """A backend whose process is killed at its nth write, before it or right after it."""

    nth = 0
    when = "never"

    def before(self, verb: str, address: Address) -> None:
        super().before(verb, address)
        self._kill("before")

    def after(self, verb: str, address: Address) -> None:
        self._kill("after")

    def _kill(self, when: str) -> None:
        if when == self.when and len(self.told) == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)


def run(state: Path, folder: Path, verb: str, nth: int = 0, when: str = "never") -> list[str]:
    """Make the workspace as the folder says, or destroy what it declares; what was written."""
    inner = LocalBackend(state, SCOPE)
    backend = Killed(inner)
    backend.nth, backend.when = nth, when
    destroying = verb == "destroy"
    loader = Loader(Report(), date(2026, 11, 20), scope=SCOPE, planning=not destroying)
    loaded = loader.load([str(folder)])
    assert not loaded.report.failed, [found.message for found in loaded.report]
    if not destroying:
        finish_operations(inner)  # as `apply` waits for them before it plans
    world = refresh(loaded.graph, inner, destroying=destroying)
    made = planner.plan(loaded.graph, world, backend="local", destroying=destroying)
    assert made.rejections == (), [found.message for found in made.rejections]
    work = steps.work(made, loaded.graph)
    events = list(executor.apply(work, backend, parallelism=1, stop=threading.Event()))
    assert [str(event.error) for event in events if event.state is StepState.FAILED] == []
    finish_operations(inner)
    inner.close()
    return backend.told
