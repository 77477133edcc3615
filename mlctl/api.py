"""mlctl as a library: what its commands do, as functions.

    import mlctl

    with mlctl.open_workspace() as workspace:          # a simulated one, in memory
        planned = mlctl.plan(["infra"], workspace)
        for change in planned.plan.pending:
            print(change.address, change.action.name)
        mlctl.apply(planned, workspace)

Nothing is printed, nothing is read but what is named, and no state is kept between calls: the
project, variables and the environment are arguments. Errors of files are findings
(`mlctl.Diagnostic`, with file, line and column); those of a service are exceptions
(`mlctl.ServiceError`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from mlctl.applying.events import StepEvent
from mlctl.applying.executor import apply as carry_out
from mlctl.applying.lease import Wanted, holder, under_lease
from mlctl.backends import open_backend
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, ConnectionOptions
from mlctl.backends.ports.lease import LeaseHeld
from mlctl.config.loader import LoadedConfig
from mlctl.diagnostics import Diagnostic, Report
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.journal import Journals
from mlctl.kinds.address import Address, Scope
from mlctl.planning.refresh import refresh
from mlctl.pointer import Data
from mlctl.project.file import Project, ProjectError, UnknownEnvironment
from mlctl.project.place import SeveralProjects, project_file
from mlctl.project.steps import Planned, loader, plan_loaded, policies_of
from mlctl.project.variables import VariableError
from mlctl.project.variables import variables as declared_variables
from mlctl.render.apply.outcome import Outcome, collect
from mlctl.service_errors import ServiceError

__all__ = [
    "Address",
    "Backend",
    "Diagnostic",
    "InvalidFiles",
    "LeaseHeld",
    "LoadedConfig",
    "Outcome",
    "Planned",
    "Project",
    "ProjectError",
    "Refused",
    "Report",
    "ServiceError",
    "SeveralProjects",
    "UnknownEnvironment",
    "VariableError",
    "apply",
    "load",
    "open_workspace",
    "plan",
    "read_project",
    "simulate",
    "validate",
]

Paths: TypeAlias = str | Path | Sequence[str | Path]
_LOCAL = Scope("00000000-0000-0000-0000-000000000000", "local", "local")
_PARALLEL = 10


class InvalidFiles(Exception):
    """Files have errors; `report` has the findings."""

    def __init__(self, report: Report) -> None:
        first = next(one for one in report if one.is_error)
        super().__init__(first.message)
        self.report = report


class Refused(Exception):
    """A plan has errors and cannot be carried out; `report` says why."""

    def __init__(self, report: Report) -> None:
        super().__init__(next(iter(report)).message)
        self.report = report


def read_project(paths: Paths = ".", env: str | None = None) -> Project:
    """What the `mlctl.yml` of files or folders says, in one of its environments.

    It is the nearest at or above them; without one the project says nothing.

    Raises:
        SeveralProjects: they belong to several projects.
        ProjectError: it cannot be used.
        UnknownEnvironment: it has no such environment.
    """
    file = project_file(_listed(paths))
    project = Project.read(file) if file else Project()
    return project.within(env) if env else project


@contextmanager
def open_workspace(
    backend: str = "local",
    *,
    path: str | Path = ":memory:",
    subscription: str = "",
    resource_group: str = "",
    workspace: str = "",
    environment: Mapping[str, str] | None = None,
    options: ConnectionOptions | None = None,
) -> Iterator[Backend]:
    """A workspace, closed at the end: `local` (simulated; `path` is its state), `azure`, or other.

    On the local backend each part of the name has a default. `environment` are the variables that
    other backends may look for credentials in.

    Raises:
        ServiceError: it cannot be opened.
    """
    scope = Scope(
        subscription or (_LOCAL.subscription if backend == "local" else ""),
        resource_group or (_LOCAL.resource_group if backend == "local" else ""),
        workspace or (_LOCAL.workspace if backend == "local" else ""),
    )
    if backend == "local":
        opened: Backend = LocalBackend(path, scope)
    else:
        opened, _ = open_backend(backend, scope, environment or {}, options)
    try:
        yield opened
    finally:
        opened.close()


def load(
    paths: Paths,
    *,
    project: Project | None = None,
    variables: Mapping[str, Data] | None = None,
    environment: Mapping[str, str] | None = None,
    today: date | None = None,
    strict: bool = False,
    scope: Scope | None = None,
) -> LoadedConfig:
    """The resources that files declare, with the graph of them and the findings (`.report`).

    `variables` are over those of the project, `environment` is what `${{ env.NAME }}` stands for.
    With a `scope` local files are read as for a plan in that workspace.

    Raises:
        ProjectError: a file of the project cannot be used.
        VariableError: a variable is given that the project does not declare.
    """
    project = project or Project()
    report = Report(project.ignore, strict=strict)
    given = declared_variables(project, variables or {}, environment=environment)
    planning = scope is not None
    on = today or datetime.now(UTC).date()
    rules = partial(policies_of, project, on)
    reading = loader(project, report, on, given, rules, scope=scope, planning=planning)
    return reading.load([str(one) for one in _listed(paths)])


def validate(paths: Paths, *, project: Project | None = None, **settings: Data) -> Report:
    """The findings about files, as `mlctl validate` prints them; `settings` are those of `load`."""
    return load(paths, project=project, **settings).report


def plan(
    paths: Paths,
    workspace: Backend,
    *,
    project: Project | None = None,
    destroy: bool = False,
    targets: Sequence[str] = (),
    journal: str | Path | None = None,
    **settings: Data,
) -> Planned:
    """What apply would change in a workspace; `settings` are those of `load`.

    `journal` is a folder in which applies say what they have yet to put back: what one that did not
    end has left there is put back.

    Raises:
        InvalidFiles: the files have errors.
        ServiceError: the workspace cannot be read.
        ValueError: a target is no address.
    """
    project = project or Project()
    owed = _journals(journal, workspace).owed().values() if journal and not destroy else ()
    settings["today"] = settings.get("today") or datetime.now(UTC).date()
    found = load(paths, project=project, scope=workspace.scope, **settings)
    if found.report.failed:
        raise InvalidFiles(found.report)
    return plan_loaded(
        found.graph,
        refresh(found.graph, workspace, destroying=destroy, owed=list(owed)),
        workspace,
        found.report,
        policies_of(project, settings["today"]),
        destroying=destroy,
        targets=[Address.parse(one) for one in targets],
        ownership=project.ownership(),
    )


def apply(
    planned: Planned,
    workspace: Backend,
    *,
    on_event: Callable[[StepEvent], None] = lambda _event: None,
    parallelism: int = _PARALLEL,
    stop: threading.Event | None = None,
    lock_timeout: float | None = 0.0,
    journal: str | Path | None = None,
) -> Outcome:
    """Carry out a plan; `on_event` is called as steps start and end.

    Once `stop` is set nothing new starts. The outcome says what was done, what failed and what was
    left: a failure of a step is no exception. The plan of a project that has a name is carried out
    under its lease, for which `lock_timeout` seconds are waited while another has it; None is
    without one. In the folder `journal` there is a file as long as something is to be put back: the
    program may be killed.

    Raises:
        Refused: the plan has errors; nothing was begun.
        LeaseHeld: another apply of the project runs; nothing was begun.
        ServiceError: the workspace's store, which keeps the lease, cannot be reached.
    """
    refused = planned.refused
    if refused:
        raise Refused(refused)
    actions = {change.address: change.action for change in planned.plan.changes}
    work = planned.work
    signal = stop or threading.Event()
    lease = None
    if planned.project and work.steps and lock_timeout is not None:
        lease = Wanted(planned.project, holder("mlctl.apply", {}), lock_timeout)
    journals = _journals(journal, workspace) if journal else None
    with under_lease(workspace, lease, signal) as leased:
        events = carry_out(
            work,
            leased,
            parallelism=parallelism,
            stop=signal,
            journal=journals.new(datetime.now(UTC)) if journals else None,
        )
        outcome = collect(events, work, actions, on_event)
        if journals:
            journals.settle(leased, outcome.gone)
        return outcome


def _journals(folder: str | Path, workspace: Backend) -> Journals:
    return Journals(Path(folder), workspace.name, workspace.scope)


def simulate(
    paths: Paths,
    *,
    files: int,
    seconds_per_file: float = 1.0,
    weather: str = DEFAULT_WEATHER,
    runs: int = 1000,
    seed: int = 0,
    deployment: str | None = None,
    project: Project | None = None,
    **settings: Data,
) -> dict[str, Data]:
    """A forecast of a batch job, in the shape of `schemas/output/forecast.schema.json`.

    Times are in seconds, costs in USD; `settings` are those of `load`.

    Raises:
        InvalidFiles: the files have errors.
        ValueError: there is no weather of that name, or the deployment is no address.
        ForecastError: the files describe nothing that can be forecast.
    """
    # The engine takes longer to import than all else.
    from mlctl.forecast.batch import report
    from mlctl.forecast.batch.policy import Policy
    from mlctl.forecast.batch.reading import Wanted, read
    from mlctl.forecast.batch.summary import Summary
    from mlctl.forecast.weather import models as known
    from mlctl.simulator.engine.model import Tier
    from mlctl.workload import Workload

    found = load(paths, project=project, **settings)
    if found.report.failed:
        raise InvalidFiles(found.report)
    named = {name: known.by_name(name) for name in dict.fromkeys(("calm", weather, "stress"))}
    unknown = [name for name, one in named.items() if one is None]
    if unknown:
        raise ValueError(f"there is no weather `{unknown[0]}`")
    workload = Workload(files=files, seconds_per_file=seconds_per_file)
    address = Address.parse(deployment) if deployment else None
    subject = read(found.graph, Wanted(workload, deployment=address))
    there = [one for one in named.values() if one is not None]
    main = there[min(1, len(there) - 1)].name
    tiers = (Tier.LOW_PRIORITY, Tier.DEDICATED)
    rows = report.rows(subject.scenario, there, tiers, [Policy()], str(seed), main)
    done = [(row, Summary(row.study.scenario, row.study.histories(range(runs)))) for row in rows]
    return report.document(subject, done, main, {"seed": seed, "deadline_s": None})


def _listed(paths: Paths) -> Sequence[str | Path]:
    return [paths] if isinstance(paths, str | Path) else paths
