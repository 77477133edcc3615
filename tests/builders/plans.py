"""Texts to plans and to what is done about them, on a local workspace in memory."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import NamedTuple

from mlctl import source
from mlctl.applying.events import StepEvent, StepState
from mlctl.applying.executor import apply
from mlctl.assets import local_files
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.config import graph
from mlctl.diagnostics import Report
from mlctl.kinds import Kind, kind_of_schema
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.resource import build
from mlctl.planning import planner as planning
from mlctl.planning import steps
from mlctl.planning.model import Plan
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import Work
from mlctl.render import plan as render
from mlctl.simulator.control_plane.state.store import Store

SCOPE = Scope("00000000-0000-0000-0000-000000000001", "rg", "ws")
CLUSTER = "$schema: https://x/amlCompute.schema.json\nname: cpu-cluster\ntype: amlcompute\n"
ENDPOINT = "$schema: https://x/batchEndpoint.schema.json\nname: scores\n"


class Planned(NamedTuple):
    """A plan and the work that carries it out."""

    plan: Plan
    work: Work

    def step(self, address: str, role: steps.StepRole | None = None) -> steps.Step:
        """The step of a target; of those that do something, where there are several."""
        target = Address.parse(address)
        return next(
            one for one in self.work.steps if one.target == target and role in (None, one.role)
        )


def workspace(*texts: str) -> Backend:
    """A workspace in which `texts` are applied; it closes when nobody has it."""
    store = Store(":memory:")
    backend = LocalBackend(store, SCOPE)
    weakref.finalize(backend, store.close)
    if texts:
        carried_out(plan(*texts, backend=backend), backend)
    return backend


def plan(
    *texts: str, backend: Backend | None = None, name: str = "main.yml", destroying: bool = False
) -> Planned:
    """The plan of the documents of one file, against an empty workspace or a given one."""
    report, backend = Report(), backend or workspace()
    resources = []
    for document in source.load(name, "---\n".join(texts), report):
        kind = kind_of_schema(str(document.data.get("$schema")))
        assert isinstance(kind, Kind)
        resources.append(build(document, kind))
    found = (one for one in resources if one is not None)
    built = graph.build(local_files.resolve_local_files(found, SCOPE, report), SCOPE)
    world = refresh(built, backend, destroying=destroying)
    made = planning.plan(built, world, backend="local", destroying=destroying)
    return Planned(made, steps.work(made, built))


def carried_out(planned: Planned, backend: Backend) -> list[StepEvent]:
    """Every event of applying the plan; all must end well."""
    events = list(apply(planned.work, backend, parallelism=1, stop=threading.Event()))
    assert not [one for one in events if one.state is StepState.FAILED], events
    return events


def plan_case(folder: Path) -> str:
    """The plan of `after.yml` (or to destroy `destroy.yml`), where `before.yml` was applied."""
    before, after, gone = (folder / f"{name}.yml" for name in ("before", "after", "destroy"))
    backend = workspace()
    if before.exists():
        carried_out(_of(before, backend), backend)
    planned = _of(gone, backend, destroying=True) if gone.exists() else _of(after, backend)
    text = render.human(planned.plan, width=80, verbose=folder.name.startswith("verbose"))
    return text.replace(f"{folder}/", "")


def _of(file: Path, backend: Backend, *, destroying: bool = False) -> Planned:
    text = file.read_text(encoding="utf-8")
    return plan(text, backend=backend, name=str(file), destroying=destroying)
