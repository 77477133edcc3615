"""The options of a plan, its project and result, and the wait for operations of others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mlctl.backends.ports.backend import Backend, Live
from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig, Loader
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds import Address
from mlctl.kinds.values import moving, state
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Plan
from mlctl.planning.ownership.owner import NOBODY, Ownership
from mlctl.planning.refresh import refresh
from mlctl.planning.steps.work import Work, work
from mlctl.planning.unfinished.journal import Journals
from mlctl.project.file import Project
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import TIMED_OUT, Permanent
from mlctl.source.files import PROJECT_FILE

if TYPE_CHECKING:
    from mlctl.catalog.prices import PriceList
    from mlctl.project.policies import Policies


LONGEST_WAIT_S = 3600.0  # for somebody else's operation


class InvalidFiles(Exception):
    """Files have errors; `report` has the findings."""

    def __init__(self, report: Report, message: str = "") -> None:
        super().__init__(message or _cause(report).message)
        self.report = report


def _cause(report: Report) -> Diagnostic:
    """Return the first error, preferably a variable without a value, which causes others."""
    errors = [finding for finding in report if finding.is_error]
    unset = (finding for finding in errors if finding.rule is UNSET_VARIABLE)
    return next(unset, errors[0])


class UnreadableFolder(InvalidFiles):
    """A file in the project's folder cannot be read, so what may be pruned is unknown."""


class InvalidOption(ValueError):
    """The plan cannot be made with `option`."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


class Strategy(StrEnum):
    """How a resource is replaced: delete and create, or create under a new name, then delete."""

    IN_PLACE = "in-place"
    BLUE_GREEN = "blue-green"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """How a plan is made.

    `destroying` plans to delete what the files declare. If only `comparing`, the plan belongs to no
    project, and its policies about changes are not checked. `resuming` plans what an interrupted
    apply left unfinished, and what that needs. `targets` are addresses: only they, and what they
    need. Without `tagged`, nothing gets the project's tags. With `prune`, what the project owns and
    no file declares is deleted, at most `prune_limit`. With `settle_s`, running operations on
    planned resources are waited for, for so many seconds. `successors` are the new names that
    blue-green has written into the files. Unless `looking_for_orphans`, what the project owns and
    no file declares is not searched. With `keep_going`, files with errors are left out.
    """

    destroying: bool = False
    comparing: bool = False
    resuming: bool = False
    targets: Sequence[str] = ()
    tagged: bool = True
    prune: bool = False
    prune_limit: int | None = None
    strategy: Strategy = Strategy.IN_PLACE
    settle_s: float | None = None
    successors: Successors = field(default_factory=lambda: NONE)
    looking_for_orphans: bool = True
    keep_going: bool = False

    def ownership(self, project: Project) -> Ownership:
        """Return the ownership for the plan.

        Raises:
            InvalidOption: the options exclude each other, or the project lacks what they need.
        """
        if self.strategy is Strategy.BLUE_GREEN and (self.destroying or self.targets):
            why = "targets are only part of" if self.targets else "destroy deletes"
            message = f"blue-green renames in all files, and {why} what they declare"
            raise InvalidOption("replace_strategy", message)
        if self.keep_going and (self.prune or self.strategy is Strategy.BLUE_GREEN):
            message = "resources in files with errors would count as removed"
            raise InvalidOption("keep_going", message)
        ownership = project.ownership(tagged=self.tagged)
        if self.prune:
            self._check_pruning(ownership)
        return NOBODY if self.comparing else ownership

    def _check_pruning(self, ownership: Ownership) -> None:
        message = ""
        if ownership.project is None:
            message = f"the project has no name: set `project: NAME` in {PROJECT_FILE}"
        elif not ownership.tagged:
            message = (
                "without tags the project only owns what its files declare;"
                " `destroy` deletes what a file declares"
            )
        elif self.targets:
            message = "targets are only part of the files: prune with all of them"
        if message:
            raise InvalidOption("prune", message)


class NewLoader(Protocol):
    """Makes loaders of a project's documents."""

    def __call__(self, report: Report, **settings: Any) -> Loader:
        """Return a loader whose findings go to the report; `settings` are passed to `Loader`."""


def ignore(_value: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlanContext:
    """The project of a plan: how its files are read, what it requires, what is unfinished.

    `note` receives sentences for people while the plan is made, `show` what was loaded.
    `price_list` has the prices of nodes (None: mlctl's own list).
    """

    project: Project
    new_loader: NewLoader
    policies: Callable[[], Policies]
    journals: Journals | None = None
    note: Callable[[str], object] = ignore
    show: Callable[[LoadedConfig], object] = ignore
    price_list: Callable[[], PriceList | None] = lambda: None


@dataclass(frozen=True, slots=True)
class NewText:
    """A file's text when it was planned, and its new text."""

    before: bytes
    after: str


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan with the graph that it was made from; if `strict`, warnings fail too.

    `project` is the one that it was made for, if it has a name. `texts` are written to files before
    the plan is applied: it is the plan of these new texts. `left_out` are files with errors, which
    it does not cover.
    """

    plan: Plan
    graph: Graph
    strict: bool = False
    project: str | None = None
    texts: Mapping[Path, NewText] = field(default_factory=dict)
    left_out: Collection[str] = ()

    @property
    def refused(self) -> Report:
        """Return what keeps the plan from being applied."""
        report = Report(strict=self.strict)
        report.extend((*self.plan.errors, *(self.plan.warnings if self.strict else ())))
        return report

    @property
    def work(self) -> Work:
        """Return the writes of the plan."""
        return work(self.plan, self.graph)


_POLL_S = 5.0  # between two polls of an operation


def refresh_settled(
    graph: Graph,
    backend: Backend,
    *,
    timeout: float,
    note: Callable[[str], object],
    read: Callable[[Graph, Backend], LiveState] = refresh,
) -> LiveState:
    """Return what is `read` once no operation is running on a resource of the graph or project.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    live_state = read(graph, backend)
    ours = {*graph.resources, *live_state.unfinished}
    declared = {address: live for address, live in live_state.live.items() if address in ours}
    declared |= {live.address: live for live in live_state.owned}
    if not wait_until_settled(backend, declared, timeout=timeout, note=note):
        return live_state
    return read(graph, backend)


def wait_until_settled(
    backend: Backend, live: Mapping[Address, Live], *, timeout: float, note: Callable[[str], object]
) -> bool:
    """Wait for running operations on live resources; return whether there were any.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    states = _find_moving(live)
    for address, now in states.items():
        note(clean(f"{address} is {now}: waiting for it to end..."))
    waited = 0.0
    while states:
        if waited >= timeout:
            address, now = next(iter(states.items()))
            raise Permanent(TIMED_OUT, f"{address} is still {now} after {waited:g} seconds")
        backend.wait(_POLL_S)
        waited += _POLL_S
        states = _find_moving(backend.read(states.keys()))
    return waited > 0.0


def _find_moving(live: Mapping[Address, Live]) -> dict[Address, str]:
    """Return the states of resources with a running operation."""
    return {
        address: state(resource.body) for address, resource in live.items() if moving(resource.body)
    }
