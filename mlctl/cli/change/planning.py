"""What the commands that plan files share: their flags, the plan, and its output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from mlctl.backends.ports.backend import Backend
from mlctl.cli.shell import Exit, InvalidValue, Session, UsageError, flag
from mlctl.cli.shell.new_names import write_down
from mlctl.cli.shell.workflow import plan_context
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report
from mlctl.inert import json_pieces
from mlctl.kinds import Resource
from mlctl.kinds.address import kind_of
from mlctl.planning.blue_green.successors import CannotRename
from mlctl.planning.model import Plan
from mlctl.planning.preflight.references import MISSING, missing
from mlctl.pointer import Data
from mlctl.schema.text import counted, listed
from mlctl.workflow import model
from mlctl.workflow.planning import plan_files

if TYPE_CHECKING:
    from mlctl.planning.cost import PlanCost

_REGISTRY = "azureml://registries/"

Target = Annotated[list[str] | None, flag("--target", metavar="ADDRESS")]
KeepGoing = Annotated[bool, flag()]
ReplaceStrategy = Annotated[model.Strategy, flag("--replace-strategy")]

PlanFormat: TypeAlias = Literal["human", "json", "markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneArgs:
    """The flags about ownership of the commands that plan files."""

    no_tags: bool = flag(default=False)
    prune: bool = flag(default=False)
    prune_limit: int | None = flag(metavar="N", min=0)

    def options(self, **settings: Any) -> model.PlanOptions:
        """Return how to plan, with these other settings; refuse a limit without pruning."""
        if self.prune_limit is not None and not self.prune:
            raise UsageError("--prune-limit needs --prune")
        tagged, limit = not self.no_tags, self.prune_limit
        return model.PlanOptions(tagged=tagged, prune=self.prune, prune_limit=limit, **settings)


def load_and_plan(
    session: Session,
    backend: Backend,
    paths: Sequence[str],
    report: Report,
    options: model.PlanOptions = model.PlanOptions(),
) -> model.Planned | None:
    """Plan the files; None if they cannot be planned, after printing why."""
    try:
        planned = plan_files(paths, backend, plan_context(session), report, options)
    except model.UnreadableFolder as error:
        session.show(error.report)
        raise InvalidValue(str(error), flag="--prune") from None
    except model.InvalidFiles:
        return None
    except CannotRename as error:
        report.add(error.found)
        session.show_findings([error.found])
        return None
    except model.InvalidOption as error:
        flag = f"--{error.option.replace('_', '-')}"
        raise InvalidValue(str(error), flag=flag) from None
    write_down(planned.plan, backend.location, session.environment)
    return planned


def _note_old_tables(session: Session, plan: Plan, costs: PlanCost | None) -> None:
    """Note which tables of facts behind a plan are old."""
    topics = [*_topics(plan)]
    if not topics:
        return
    from mlctl.catalog.prices import OLD_DAYS
    from mlctl.catalog.tables import Table, used_for

    tables = used_for(*topics)
    if costs is not None and "nodes" in topics:
        tables.insert(0, Table("the prices", costs.price_lists[0].as_of, ""))
        tables += used_for("low priority") if costs.has_low_priority else ()
    old = [f"{table.name}, {table.as_of}" for table in tables if table.is_old(session.today)]
    if old:
        session.note(
            f"note: facts of this plan are older than {OLD_DAYS} days: {'; '.join(old)}."
            " `mlctl catalog refresh` asks Azure for prices; a newer mlctl has the rest"
        )


def _topics(plan: Plan) -> Iterator[str]:
    """Return the topics of a plan that tables of facts cover."""
    if any(kind_of(change.address).quota.nodes for change in plan.pending):
        yield "nodes"
    if any(kind_of(change.address).content.job for change in plan.pending):
        yield "schedules"
    if plan.backend == "azure" and plan.pending:
        yield "azure"
    elif any(_names_registry(change.resource) for change in plan.pending if change.resource):
        yield "registries"  # on Azure the registry itself is asked


def _names_registry(resource: Resource) -> bool:
    values = resource.values.values()
    return any(isinstance(value, str) and value.startswith(_REGISTRY) for value in values)


def show_plan(
    session: Session,
    planned: model.Planned,
    output: PlanFormat = "human",
    forecast: dict[str, Data] | None = None,
) -> None:
    """Print the plan, and its forecast if requested; changes to files come first."""
    from mlctl.planning import cost

    plan, patch = planned.plan, ""
    costs = cost.of_plan(plan) if plan.pending else None
    _note_old_tables(session, plan, costs)
    if planned.texts:
        from mlctl.render.plan.patch import patch_of

        patch = patch_of({path: new.after for path, new in planned.texts.items()})
    if output == "json":
        from mlctl.render.plan import plan_json

        extra: dict[str, Data] = {} if forecast is None else {"forecast": forecast}
        extra |= {"patch": patch} if patch else {}
        session.out_pieces(json_pieces({**plan_json.lazy_document(plan, costs), **extra}, indent=2))
        return
    if patch:
        from mlctl.render.plan.patch import with_heading

        session.out(with_heading(patch, markdown=output == "markdown"))
    if output == "markdown":
        from mlctl.render.plan import markdown

        session.out(markdown.plan(plan))
    else:
        from mlctl.render.plan import blocks

        color = session.color(sys.stdout)
        verbose = session.flags.verbose
        text = blocks.human(plan, color=color, width=session.width, verbose=verbose, costs=costs)
        session.out(text)


def report_omissions(session: Session, planned: model.Planned, code: Exit) -> Exit:
    """Name the files with errors that the plan leaves out; with them, no exit code is 0."""
    if not planned.left_out:
        return code
    names = listed(sorted(planned.left_out), "and")
    count = counted(len(planned.left_out), "file")
    session.say(f"ERROR: {count} with errors left out: {names}.")
    return Exit.ERROR if code in (Exit.OK, Exit.CHANGES) else code


def suggest_next_steps(session: Session, planned: model.Planned, backend: Backend) -> None:
    """Say what to do if files name what lives in a workspace other than the simulated one."""
    rejections = [finding for finding in planned.plan.rejections if finding.rule is MISSING]
    if not rejections or backend.name != "local":
        return
    graph = planned.graph
    absent = {
        edge.target
        for address, resource in graph.resources.items()
        for edge in graph.edges_of(address)
        if missing(resource, edge) in rejections
    }
    supposed = " ".join(str(address) for address in sorted(absent))
    session.note(
        f"\nThe simulated workspace {backend.scope.workspace} has nothing of your real one. To"
        f" stand in for what lives there:\n    mlctl local suppose {supposed}\n"
        "To plan against the real one: --backend azure (docs/azure.md)."
    )
