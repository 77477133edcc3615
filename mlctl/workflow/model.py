"""What a plan is asked for, the project that it is made for, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig, Loader
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.model import Plan
from mlctl.planning.ownership.owner import NOBODY, Ownership
from mlctl.planning.steps.work import Work, work
from mlctl.planning.unfinished.journal import Journals
from mlctl.project.file import Project
from mlctl.source.files import PROJECT_FILE

if TYPE_CHECKING:
    from mlctl.catalog.prices import PriceList
    from mlctl.project.policies import Policies

LONGEST_WAIT_S = 3600.0  # for an operation that somebody else has begun


class InvalidFiles(Exception):
    """Files have errors; `report` has the findings."""

    def __init__(self, report: Report, message: str = "") -> None:
        super().__init__(message or _cause(report).message)
        self.report = report


def _cause(report: Report) -> Diagnostic:
    """The first error; a variable without a value is why the others are there."""
    errors = [finding for finding in report if finding.is_error]
    unset = (finding for finding in errors if finding.rule is UNSET_VARIABLE)
    return next(unset, errors[0])


class UnreadableFolder(InvalidFiles):
    """A file of the project's folder cannot be read: it may declare what would be pruned."""


class InvalidOption(ValueError):
    """A plan cannot be made as it is asked for; `option` is the one that cannot be met."""

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

    `destroying` plans to delete what the files declare. If only `comparing`, the plan is no
    project's, and its policies about changes are not asked. `resuming` plans what an apply that
    did not end left unfinished, and what that needs. `targets` are addresses: only they, and what
    they need. Without `tagged`, nothing gets the project's tags. With `prune`, what the project
    owns and no file declares is deleted, at most `prune_limit`. With `settle_s`, operations that
    go on on what is planned are waited for, so many seconds. `successors` are the new names that
    blue-green has written into the files by now. Unless `looking_for_orphans`, what the project
    owns and no file declares is not looked for. With `keep_going`, files with errors are left out.
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
        """Whose the plan is.

        Raises:
            InvalidOption: the options exclude each other, or the project has not what they need.
        """
        if self.strategy is Strategy.BLUE_GREEN and (self.destroying or self.targets):
            why = "targets are a part of what" if self.targets else "destroy deletes what"
            message = f"blue-green renames in all files, and {why} they declare"
            raise InvalidOption("replace_strategy", message)
        if self.keep_going and (self.prune or self.strategy is Strategy.BLUE_GREEN):
            message = "what a file with errors declares would be taken for gone"
            raise InvalidOption("keep_going", message)
        ownership = project.ownership(tagged=self.tagged)
        if self.prune:
            self._check_pruning(ownership)
        return NOBODY if self.comparing else ownership

    def _check_pruning(self, ownership: Ownership) -> None:
        message = ""
        if ownership.project is None:
            message = (
                f"nothing says what is the project's: name it in {PROJECT_FILE} (`project: NAME`)"
            )
        elif not ownership.tagged:
            message = (
                "without tags what is declared is the project's, so nothing is owned that no file"
                " declares; `destroy` deletes what a file declares"
            )
        elif self.targets:
            message = "targets are a part of the files: prune with all of them"
        if message:
            raise InvalidOption("prune", message)


class NewLoader(Protocol):
    """Makes the loader of a project's documents."""

    def __call__(self, report: Report, **settings: Any) -> Loader:
        """A loader whose findings go to the report; `settings` are further ones of `Loader`."""


def ignore(_value: object) -> None:
    """Take no notice."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlanContext:
    """The project of a plan: how its files are read, what it demands, what is unfinished.

    `note` is given sentences for people while the plan is made, `show` what was loaded. The plan's
    nodes cost what `price_list` says (None: by that of mlctl).
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
    """What a file said when it was planned, and what it is to say."""

    before: bytes
    after: str


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan with the graph that it was made from; `strict` where warnings fail too.

    `project` is the one that it was made for, where it has a name. `texts` are those of files that
    are written before it is carried out: it is the plan of what they will say. `left_out` are files
    with errors, of which it says nothing.
    """

    plan: Plan
    graph: Graph
    strict: bool = False
    project: str | None = None
    texts: Mapping[Path, NewText] = field(default_factory=dict)
    left_out: Collection[str] = ()

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
