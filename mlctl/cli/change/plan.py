"""`mlctl plan`: what would change, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import masking
from mlctl.cli.change import planning
from mlctl.cli.files.validate import Paths
from mlctl.cli.forecast import of_plan
from mlctl.cli.forecast.of_plan import PlanForecast, PlanForecastArgs
from mlctl.cli.local.flags import BatchFlags
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.rule_choice import RuleArgs
from mlctl.dataclasses import dataclass
from mlctl.planning.model import ActionReason
from mlctl.workflow.model import Planned, PlanOptions, Strategy

if TYPE_CHECKING:
    from mlctl.planfile_types import MadeFrom

_ORDINARY = (
    "\nThe ordinary plan of these files, with --prune, does the rest but this: what no file says"
    "\nof the old ones (tags, a default deployment) only a saved plan takes over (--out)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanArgs:
    """What to plan, and what to do with the plan."""

    output: planning.PlanFormat = flag("-o", default="human")
    out: Path | None = flag(metavar="FILE")
    detailed_exitcode: bool = flag(default=False)
    destroy: bool = flag(default=False)
    target: planning.Target = None
    keep_going: planning.KeepGoing = False
    replace_strategy: planning.ReplaceStrategy = Strategy.IN_PLACE
    write: bool = flag(default=False)

    def options(self, pruning: planning.PruneArgs) -> PlanOptions:
        """Return how to plan; refuse flags that exclude each other."""
        renames = self.replace_strategy is Strategy.BLUE_GREEN
        if self.destroy and pruning.prune:
            raise UsageError("--destroy deletes what the files declare, --prune what they do not")
        if self.keep_going and self.out is not None:
            raise UsageError(
                "a saved plan is checked against all files: --keep-going and --out exclude each "
                "other"
            )
        if self.write and not renames:
            raise UsageError(
                "--write writes new names, which --replace-strategy blue-green chooses"
            )
        if self.out is not None and renames and not self.write:
            raise UsageError(
                "a saved plan writes no files when it is applied, and blue-green writes new names"
                " into them: add --write, and commit the files with the plan"
            )
        return pruning.options(
            destroying=self.destroy,
            targets=self.target or (),
            strategy=self.replace_strategy,
            keep_going=self.keep_going,
        )


def plan(
    session: Session,
    paths: Paths,
    args: PlanArgs,
    pruning: planning.PruneArgs,
    rules: RuleArgs,
    forecast: PlanForecastArgs,
    work: BatchFlags,
) -> Exit:
    """Show what apply would change, and why, without writing to the workspace."""
    wanted_forecast = PlanForecast.of(session, forecast, work, destroying=args.destroy)
    options, report = args.options(pruning), rules.report(session)
    with session.backend() as backend:
        planned = planning.load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        document = None
        if wanted_forecast is not None:
            document = wanted_forecast.document(planned.plan, planned.graph, backend)
    planning.show_plan(session, planned, args.output, document)
    if document is not None and args.output != "json":
        of_plan.show(session, document, markdown=args.output == "markdown")
    planning.suggest_next_steps(session, planned, backend)
    if planned.texts and not planned.refused:
        _write_names(session, planned, args)
    if args.out is not None:
        _save(session, planned, args.out, _inputs_of(session, planned, args, pruning, paths))
    code = planning.report_omissions(session, planned, _exit_code(planned, args))
    if document is not None and code in (Exit.OK, Exit.CHANGES):
        breaches = session.policies.of_forecast(document)
        if breaches:
            session.show_findings(breaches)
        if of_plan.is_refused(session, document) or any(item.is_error for item in breaches):
            return Exit.REFUSED
    return code


def _write_names(session: Session, planned: Planned, args: PlanArgs) -> None:
    """Write the new names with `--write`; else note that they are not written yet."""
    if not args.write:
        session.note("\nThe files are unchanged: --write writes the new names, and so does apply.")
        return
    from mlctl.cli.shell.streams import OutputError
    from mlctl.workflow.renaming import WriteError, write_texts

    try:
        write_texts(planned.texts, session.note)
    except WriteError as error:
        raise OutputError(str(error)) from None
    if args.out is None:
        session.note(_ORDINARY)


def _inputs_of(
    session: Session,
    planned: Planned,
    args: PlanArgs,
    pruning: planning.PruneArgs,
    paths: Sequence[str],
) -> MadeFrom:
    """Return the inputs to plan again from; variables that may be secrets must be given then."""
    from mlctl.planfile_types import MadeFrom

    changes = planned.plan.changes
    return MadeFrom(
        paths=[*paths],
        folder=str(Path.cwd()),
        destroy=args.destroy,
        targets=args.target or (),
        tagged=not pruning.no_tags,
        prune=pruning.prune,
        prune_limit=pruning.prune_limit,
        successors={
            str(change.address): str(change.because)
            for change in changes
            if change.reason is ActionReason.SUPERSEDED
        },
        variables=[text for text in session.flags.var or () if not _holds_secret(text)],
        variable_files=[*(session.flags.var_file or ())],
    )


def _holds_secret(variable: str) -> bool:
    name, _, value = variable.partition("=")
    return masking.masked({name: value}) != {name: value} or masking.mask(variable) != variable


def _save(session: Session, planned: Planned, out: Path, made_from: MadeFrom) -> None:
    from mlctl import planfile

    project = session.settings.project.document
    project_file = project.source.name if project else None
    planfile.save(planned.plan, planned.work, out, project_file, made_from)
    session.note(f"\nSaved the plan to: {out}")
    session.note(f"\nTo perform exactly these actions, run:\n    mlctl apply {out}")


def _exit_code(planned: Planned, args: PlanArgs) -> Exit:
    if planned.plan.refusals:
        return Exit.REFUSED
    if planned.refused:
        return Exit.ERROR
    differs = not planned.plan.empty or planned.plan.in_motion
    return Exit.CHANGES if args.detailed_exitcode and differs else Exit.OK


COMMANDS = {"plan": plan}
