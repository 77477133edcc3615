"""Builders: declarations to plans, plans to events."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mlctl.applying import executor
from mlctl.applying.events import RetryOptions, StepEvent
from mlctl.assets.local_files import resolve_local_files
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.config import graph
from mlctl.config.graph import Graph
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning import planner
from mlctl.planning.model import Plan, Unfinished
from mlctl.planning.ownership.owner import NOBODY, Ownership, Prune
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import work as steps
from mlctl.planning.steps.work import Work
from mlctl.planning.unfinished.snapshots import Journal
from mlctl.render.plan import blocks as render
from tests.builders.resources import parsed
from tests.builders.workspace import cloud


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan, and what it was made from."""

    plan: Plan
    graph: Graph

    @cached_property
    def work(self) -> Work:
        """The writes that carry it out."""
        return steps.work(self.plan, self.graph)

    def step(self, address: str, role: steps.StepRole | None = None) -> steps.PlanStep:
        """The step of a target; of those that do something, where there are several."""
        target = Address.parse(address)
        return next(
            one for one in self.work.steps if one.target == target and role in (None, one.role)
        )


def planned(
    backend: Backend,
    *resources: Resource,
    destroying: bool = False,
    targets: Collection[Address] = (),
    ownership: Ownership = NOBODY,
    prune: Prune | None = None,
    unfinished: Collection[Unfinished] = (),
    overwriting: bool = False,
) -> Planned:
    """The plan that makes the workspace as declared."""
    report = Report()
    scope = backend.scope
    built = graph.build(resolve_local_files(resources, scope, report), scope)
    assert not report.failed
    of = ownership.project if prune else None
    world = refresh(built, backend, destroying=destroying, of=of, unfinished=unfinished)
    made = planner.plan(
        built,
        world,
        backend="local",
        destroying=destroying,
        targets=targets,
        ownership=ownership,
        prune=prune,
        overwriting=overwriting,
    )
    return Planned(made, built)


def plan(
    *texts: str,
    backend: Backend | None = None,
    name: str = "main.yml",
    destroying: bool = False,
    overwriting: bool = False,
) -> Planned:
    """The plan of the documents of one file, against an empty workspace or a given one."""
    resources = parsed(*texts, name=name)
    there = backend or workspace()
    return planned(there, *resources, destroying=destroying, overwriting=overwriting)


def workspace(*texts: str) -> LocalBackend:
    """A workspace with the quotas of a new subscription, in which `texts` are applied."""
    backend = cloud(limited=True)
    applied(backend, *parsed(*texts))
    return backend


def carried_out(
    work: Work,
    backend: Backend,
    *,
    parallelism: int = 4,
    stop: threading.Event | None = None,
    retry: RetryOptions = RetryOptions(),
    journal: Journal | None = None,
) -> list[StepEvent]:
    """Everything that happened when the work was done."""
    events = executor.apply(
        work,
        backend,
        parallelism=parallelism,
        stop=stop or threading.Event(),
        retry=retry,
        journal=journal,
    )
    return list(events)


def succeeded(work: Work, backend: Backend) -> list[StepEvent]:
    """Everything that happened when the work was done, one step at a time; all must end well."""
    events = carried_out(work, backend, parallelism=1)
    errors = [str(event.error) for event in events if event.error]
    assert errors == [], errors
    return events


def applied(
    backend: Backend, *resources: Resource, ownership: Ownership = NOBODY
) -> list[StepEvent]:
    """What happened when the workspace was made as declared; nothing may go wrong."""
    made = planned(backend, *resources, ownership=ownership)
    assert [found.message for found in made.plan.rejections] == []
    events = carried_out(made.work, backend)
    errors = [str(event.error) for event in events if event.error]
    assert errors == [], errors
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


def plan_case(folder: Path) -> str:
    """The plan of `after.yml` (or to destroy `destroy.yml`), where `before.yml` was applied."""
    before, after, gone = (folder / f"{name}.yml" for name in ("before", "after", "destroy"))
    backend = workspace()
    if before.exists():
        succeeded(_of(before, backend).work, backend)
    planned = _of(gone, backend, destroying=True) if gone.exists() else _of(after, backend)
    text = render.human(planned.plan, width=80, verbose=folder.name.startswith("verbose"))
    return text.replace(f"{folder}/", "")


def _of(file: Path, backend: Backend, *, destroying: bool = False) -> Planned:
    text = file.read_text(encoding="utf-8")
    return plan(text, backend=backend, name=str(file), destroying=destroying, overwriting=True)
