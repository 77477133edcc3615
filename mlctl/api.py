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
from typing import TYPE_CHECKING, Any, TypeAlias

from mlctl.applying.events import StepEvent
from mlctl.applying.lease import LeaseRequest, holder
from mlctl.applying.outcome import Outcome, collect
from mlctl.backends import open_backend
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, ConnectionOptions
from mlctl.backends.ports.lease import LeaseHeld
from mlctl.config.loader import LoadedConfig, Loader
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Report
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.forecast.shape import Forecast
from mlctl.kinds import Address, Scope
from mlctl.masking import Secrets
from mlctl.planning.blue_green.successors import CannotRename
from mlctl.planning.unfinished.journal import Journals
from mlctl.pointer import Data
from mlctl.project.file import (
    Project,
    ProjectError,
    SeveralProjects,
    UnknownEnvironment,
    project_file,
)
from mlctl.project.load import VariableError, load_project, loader, policies_of
from mlctl.project.load import variables as declared_variables
from mlctl.service_errors import ServiceError
from mlctl.workflow.applying import PARALLELISM, Execution, apply_plan
from mlctl.workflow.model import (
    InvalidFiles,
    InvalidOption,
    NewLoader,
    PlanContext,
    Planned,
    PlanOptions,
    Strategy,
    ignore,
)
from mlctl.workflow.planning import plan_files
from mlctl.workflow.renaming import WriteError

if TYPE_CHECKING:
    from mlctl.forecast.weather.models import Weather

__all__ = [
    "Address",
    "Backend",
    "CannotRename",
    "Diagnostic",
    "Forecast",
    "InvalidFiles",
    "InvalidOption",
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
    "WriteError",
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
    project = load_project(file) if file else Project()
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
    """Open a workspace, and close it at the end: `local` (`path` is its state), `azure`, or other.

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
    """Load the resources that files declare, with their graph and the findings (`.report`).

    `variables` are over those of the project, `environment` is what `${{ env.NAME }}` stands for.
    With a `scope` local files are read as for a plan in that workspace.

    Raises:
        ProjectError: a file of the project cannot be used.
        VariableError: a variable is given that the project does not declare.
    """
    report = Report((project or Project()).ignore, strict=strict)
    new_loader = _new_loader(project, variables, environment, today)
    loader = new_loader(report, scope=scope, planning=scope is not None)
    return loader.load(_listed(paths))


def validate(paths: Paths, *, project: Project | None = None, **settings: Data) -> Report:
    """Return findings about files, as `mlctl validate` prints them; `settings` as for `load`."""
    return load(paths, project=project, **settings).report


def plan(
    paths: Paths,
    workspace: Backend,
    *,
    project: Project | None = None,
    variables: Mapping[str, Data] | None = None,
    environment: Mapping[str, str] | None = None,
    today: date | None = None,
    strict: bool = False,
    destroy: bool = False,
    targets: Sequence[str] = (),
    prune: bool = False,
    prune_limit: int | None = None,
    replace_strategy: str = Strategy.IN_PLACE,
    resume: bool = False,
    journal: str | Path | None = None,
) -> Planned:
    """Plan what apply would change in a workspace; files are read as by `load`.

    `prune` deletes, too, what the project owns and no file declares, at most `prune_limit`. By the
    strategy `blue-green` what must be replaced gets a successor of another name: `apply` writes it
    into the files (`.texts`). `journal` is a folder in which applies note what they have taken away
    and not yet restored; what one that did not end has left there is restored, with `resume`
    nothing else.

    Raises:
        InvalidFiles: the files have errors.
        CannotRename: something cannot be replaced under a new name.
        InvalidOption: what is asked for cannot be planned; it is a ValueError.
        ServiceError: the workspace cannot be read.
    """
    new_loader = _new_loader(project, variables, environment, today)
    project, today = project or Project(), today or datetime.now(UTC).date()
    options = PlanOptions(
        destroying=destroy,
        targets=targets,
        prune=prune,
        prune_limit=prune_limit,
        strategy=Strategy(replace_strategy),
        resuming=resume,
    )
    context = PlanContext(
        project=project,
        new_loader=new_loader,
        policies=partial(policies_of, project, today),
        journals=_journals(journal, workspace) if journal else None,
        price_list=project.price_list,
    )
    report = Report(project.ignore, strict=strict)
    return plan_files(_listed(paths), workspace, context, report, options)


def apply(
    planned: Planned,
    workspace: Backend,
    *,
    on_event: Callable[[StepEvent], None] = ignore,
    parallelism: int = PARALLELISM,
    stop: threading.Event | None = None,
    lock_timeout: float | None = 0.0,
    journal: str | Path | None = None,
) -> Outcome:
    """Carry out a plan; `on_event` is called as steps start and end.

    Once `stop` is set nothing new starts. The outcome says what was done, what failed and what was
    left: a failure of a step is no exception. The plan of a project that has a name is carried out
    under its lease, for which `lock_timeout` seconds are waited while another has it; None is
    without one. In the folder `journal` there is a file as long as something is to be restored: the
    program may be killed.

    Raises:
        Refused: the plan has errors; nothing was begun.
        LeaseHeld: another apply of the project runs; nothing was begun.
        WriteError: a file that gets new names cannot be written; nothing was begun.
        ServiceError: the workspace's store, which keeps the lease, cannot be reached.
    """
    if planned.refused:
        raise Refused(planned.refused)
    lease = None
    if planned.project and lock_timeout is not None:
        lease = LeaseRequest(planned.project, holder("mlctl.apply", {}), lock_timeout)

    def show(events: Iterator[StepEvent], execution: Execution) -> Outcome:
        return collect(events, execution.work, execution.actions, on_event)

    execution = Execution.of(planned, parallelism=parallelism, lease=lease)
    journals = _journals(journal, workspace) if journal else None
    return apply_plan(execution, workspace, journals, stop or threading.Event(), show=show)


def _new_loader(
    given: Project | None,
    variables: Mapping[str, Data] | None,
    environment: Mapping[str, str] | None,
    today: date | None,
) -> NewLoader:
    """Return a function that loads the project's documents, with these variables, as of a day."""
    project = given or Project()
    values = replace(
        declared_variables(project, variables or {}, environment=environment, secrets=Secrets()),
        has_project=given is not None,
    )
    day = today or datetime.now(UTC).date()
    policies = partial(policies_of, project, day)

    def new_loader(report: Report, **settings: Any) -> Loader:
        return loader(project, report, day, values, policies, **settings)

    return new_loader


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
) -> Forecast:
    """Forecast a batch job, in the shape of `schemas/output/forecast.schema.json`.

    Times are in seconds, costs in USD; `settings` are those of `load`.

    Raises:
        InvalidFiles: the files have errors.
        ValueError: there is no weather of that name, or the deployment is no address.
        ForecastError: the files describe nothing that can be forecast.
    """
    # The engine takes longer to import than all else.
    from mlctl.forecast.batch import report
    from mlctl.forecast.batch.policy import RecoveryPolicy
    from mlctl.forecast.batch.reading import Wanted, read
    from mlctl.simulator.engine.model import Tier
    from mlctl.workload import Workload

    loaded = load(paths, project=project, **settings)
    if loaded.report.failed:
        raise InvalidFiles(loaded.report)
    models = [_weather(name) for name in dict.fromkeys(("calm", weather, "stress"))]
    main = models[1].name
    workload = Workload(files=files, seconds_per_file=seconds_per_file)
    address = Address.parse(deployment) if deployment else None
    subject = read(loaded.graph, Wanted(workload, deployment=address))
    tiers = (Tier.LOW_PRIORITY, Tier.DEDICATED)
    rows = report.rows(subject.scenario, models, tiers, [RecoveryPolicy()], str(seed), main)
    summaries = [(row, row.study.summary(row.study.histories(range(runs)))) for row in rows]
    return report.document(subject, summaries, main, seed)


def _weather(name: str) -> Weather:
    from mlctl.forecast.weather import models

    model = models.by_name(name)
    if model is None:
        raise ValueError(f"there is no weather `{name}`")
    return model


def _listed(paths: Paths) -> list[str]:
    return [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
