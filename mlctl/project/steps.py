"""The steps that every command goes: a loader for files, a plan of what was loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl.backends.ports.backend import Backend
from mlctl.config.graph import Graph
from mlctl.config.loader import Loader
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.kinds import Kind
from mlctl.kinds.address import Address
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Plan
from mlctl.planning.ownership.owner import NOBODY, Ownership
from mlctl.planning.ownership.pruning import Prune
from mlctl.planning.planner import plan
from mlctl.planning.running_jobs import with_running_jobs
from mlctl.planning.steps.work import Work, work
from mlctl.project.file import Project

if TYPE_CHECKING:
    from mlctl.project.policies import Policies


@dataclass(frozen=True, slots=True)
class NewText:
    """What a file said when it was planned, and what it is to say."""

    before: bytes
    after: str


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan with the graph that it was made from; `strict` where warnings fail too.

    `project` is the one that it was made for, where it has a name. `texts` are those of files that
    are written before it is carried out: it is the plan of what they will say.
    """

    plan: Plan
    graph: Graph
    strict: bool = False
    project: str | None = None
    texts: Mapping[Path, NewText] = field(default_factory=dict)

    @property
    def refused(self) -> Report:
        """What keeps the plan from being carried out."""
        report = Report(strict=self.strict)
        report.extend((*self.plan.errors, *(self.plan.warnings if self.strict else ())))
        return report

    @property
    def work(self) -> Work:
        """The writes that carry it out."""
        return work(self.plan, self.graph)


def loader(
    project: Project,
    report: Report,
    today: date,
    variables: Variables,
    policies: Callable[[], Policies],
    kind: Kind | None = None,
    **settings: Any,
) -> Loader:
    """A loader of documents as the project has them; `settings` are further ones of `Loader`.

    The `policies` are read only where the project has some.

    Raises:
        ProjectError: an overlay or a policy of `mlctl.yml` cannot be used.
    """
    settings["overlays"] = project.overlays()
    if project.policies or project.plugins:  # else their modules are not even imported
        settings["policies"] = policies().of_files
    return Loader(report, today, kind, variables=variables, **settings)


def policies_of(project: Project, today: date) -> Policies:
    """The project's own rules.

    Raises:
        ProjectError: a file of them cannot be used.
    """
    from mlctl.project.policies import Policies

    return Policies.of(project, today)


def plan_loaded(
    graph: Graph,
    live_state: LiveState,
    backend: Backend,
    report: Report,
    policies: Policies | None = None,
    *,
    destroying: bool = False,
    targets: Sequence[Address] = (),
    ownership: Ownership = NOBODY,
    prune: Prune | None = None,
    successors: Successors = NONE,
) -> Planned:
    """The plan for what was loaded, with the jobs that it hits, and what policies say of it.

    The backend is asked for jobs only where something that runs them is deleted or replaced.

    Warnings that the report leaves out are left out.
    """
    made = plan(
        graph,
        live_state,
        backend=backend.name,
        destroying=destroying,
        targets=list(targets),
        ownership=ownership,
        prune=prune,
        successors=successors,
    )
    made = with_running_jobs(made, live_state.used_by, backend)
    if policies is not None:
        made = policies.over(made, graph, report)
    told = Report(report.ignore, report.select)
    told.extend(made.warnings)
    made = replace(made, warnings=tuple(told))
    return Planned(made, graph, report.strict, ownership.project)
