"""`mlctl apply` and `mlctl destroy`: make the workspace as the files say, or undo what they say."""

from __future__ import annotations

import glob
from pathlib import Path

from mlctl.cli.change.execution import ApplyArgs, carry_out_plan, refuse
from mlctl.cli.change.planning import (
    KeepGoing,
    PruneArgs,
    ReplaceStrategy,
    Target,
    load_and_plan,
    say_what_is_left_out,
)
from mlctl.cli.change.saved import Against, apply_saved
from mlctl.cli.files.validate import Paths, PathsToApply
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.project_paths import is_plan
from mlctl.cli.shell.rule_choice import Ignore, Strict, new_report
from mlctl.cli.shell.workflow import settle_s
from mlctl.dataclasses import dataclass
from mlctl.planning.model import Plan
from mlctl.schema.text import counted
from mlctl.workflow.model import PlanOptions, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatArgs:
    """What of the files is applied, and how replacing goes."""

    resume: bool = flag(
        "Only restore what an interrupted apply removed; with a saved plan, carry out the "
        "rest of that plan.",
        default=False,
    )
    target: Target = None
    keep_going: KeepGoing = False
    replace_strategy: ReplaceStrategy = Strategy.IN_PLACE
    plan_only: bool = flag("Apply a saved plan without the files it was made from.", default=False)

    def options(self, pruning: PruneArgs, settle: float) -> PlanOptions:
        """How the plan is made.

        Raises:
            UsageError: flags exclude each other.
        """
        pruning.check()
        if self.resume:
            renames = self.replace_strategy is Strategy.BLUE_GREEN
            flags = {"--target": self.target, "--prune": pruning.prune}
            for flag, value in {**flags, "--replace-strategy": renames}.items():
                if value:
                    raise UsageError(f"--resume ends what was begun, and takes no {flag}.")
        return PlanOptions(
            resuming=self.resume,
            targets=self.target or (),
            tagged=not pruning.no_tags,
            prune=pruning.prune,
            prune_limit=pruning.prune_limit,
            strategy=self.replace_strategy,
            settle_s=settle,
            keep_going=self.keep_going,
        )


def apply(
    session: Session,
    selection: WhatArgs,
    pruning: PruneArgs,
    args: ApplyArgs,
    paths: PathsToApply = None,
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Bring the workspace to the state in the files: print the plan, ask for approval, apply it.

    The first PATH may be a plan saved by `mlctl plan --out`. It is applied without asking, and
    refused if the workspace or the files it was made from have changed since. Further paths then
    name those files, and flags apply to them, regardless of what the plan recorded.
    """
    options = selection.options(pruning, settle_s(session))
    if selection.resume and not paths:
        paths = _resumed_paths(session)
        if paths is None:
            return Exit.OK
    elif not paths:
        raise UsageError("the following arguments are required: PATH...")
    lease = args.lease(session, "apply", paths)
    report = new_report(session, ignore, strict=strict)
    if paths and is_plan(Path(paths[0])):
        if selection.replace_strategy is Strategy.BLUE_GREEN:
            raise UsageError("a saved plan says itself how things are replaced")
        if selection.plan_only and paths[1:]:
            raise UsageError("--plan-only is without files")
        files, alone = Against(paths[1:], options, report), selection.plan_only
        return apply_saved(session, Path(paths[0]), args, lease, files, alone=alone)
    if selection.plan_only:
        raise UsageError("--plan-only is about a saved plan")
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return refuse(report, args.output, Exit.ERROR)
        if args.yes and planned.plan.pruned and pruning.prune_limit is None:
            session.say(_limitless(planned.plan))
            return Exit.REFUSED
        code = carry_out_plan(session, backend, planned, args, lease, paths=paths)
        say_what_is_left_out(session, planned)
        return Exit.ERROR if planned.left_out and code is Exit.OK else code


def destroy(
    session: Session,
    paths: Paths,
    args: ApplyArgs,
    target: Target = None,
    ignore: Ignore = None,
) -> Exit:
    """Delete the resources that the files declare: print the plan, ask for approval, delete."""
    report = new_report(session, ignore)
    lease = args.lease(session, "destroy", paths)
    options = PlanOptions(destroying=True, targets=target or ())
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return refuse(report, args.output, Exit.ERROR)
        return carry_out_plan(session, backend, planned, args, lease, destroying=True)


def _limitless(plan: Plan) -> str:
    return (
        f"ERROR: {counted(plan.pruned, 'resource')} would be pruned without confirmation: say how"
        f" many may be, with --prune-limit {plan.pruned}, or leave out --yes."
    )


def _resumed_paths(session: Session) -> list[str] | None:
    """What the applies that did not end were of: files, or one saved plan; None where all ended.

    Raises:
        JournalError: a journal is damaged, or cannot be read.
        UsageError: the files are not there any more.
    """
    unfinished = session.journals.unfinished()
    if not unfinished:
        folder = _short(str(session.journals.folder.absolute()))
        scope = session.journals.scope
        workspace = f"{scope.resource_group}/{scope.workspace}"
        session.note(
            f"Nothing to resume: no apply to {workspace} has left anything behind in `{folder}`."
            " Of files that have an mlctl.yml elsewhere: mlctl apply --resume PATH..."
        )
        return None
    paths = list(dict.fromkeys(path for journal in unfinished for path in journal.paths))
    missing = [path for path in paths if not (Path(path).exists() or glob.has_magic(path))]
    if missing:
        raise UsageError(
            f"`{missing[0]}`, the plan of an interrupted apply, no longer exists:"
            " name the files yourself, mlctl apply --resume PATH..."
        )
    files = [path for path in paths if not is_plan(Path(path))]
    return [_short(path) for path in files or paths[-1:]]


def _short(path: str) -> str:
    """The path as people would write it here."""
    whole, current = Path(path), Path.cwd()
    return str(whole.relative_to(current)) if whole.is_relative_to(current) else path


COMMANDS = {"apply": apply, "destroy": destroy}
