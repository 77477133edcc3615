"""`mlctl apply` and `mlctl destroy`: make the workspace as the files say, or undo what they say."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlctl import planfile
from mlctl.applying.lease import LeaseRequest
from mlctl.applying.targets import stale_targets
from mlctl.backends.ports.backend import Backend
from mlctl.cli.change import planning
from mlctl.cli.change.execution import ApplyArgs, carry_out, carry_out_plan, refuse
from mlctl.cli.change.verification import ask_policies, check_against_files, check_alone, plan_again
from mlctl.cli.files.validate import Paths, SomePaths
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.new_names import write_down
from mlctl.cli.shell.rule_choice import Ignore, Strict, new_report
from mlctl.cli.shell.scope import is_plan
from mlctl.cli.shell.workflow import settle_s
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report
from mlctl.kinds import Address
from mlctl.planning.model import Plan
from mlctl.pointer import Data
from mlctl.schema.text import counted
from mlctl.workflow.applying import Execution
from mlctl.workflow.model import PlanOptions, Strategy, wait_until_settled


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatArgs:
    """What of the files is applied, and how resources are replaced."""

    resume: bool = flag(default=False)
    target: planning.Target = None
    keep_going: planning.KeepGoing = False
    replace_strategy: planning.ReplaceStrategy = Strategy.IN_PLACE
    plan_only: bool = flag(default=False)

    def options(self, pruning: planning.PruneArgs, settle: float) -> PlanOptions:
        """Return how to plan."""
        if self.resume:
            renames = self.replace_strategy is Strategy.BLUE_GREEN
            flags = {"--target": self.target, "--prune": pruning.prune}
            for flag, value in {**flags, "--replace-strategy": renames}.items():
                if value:
                    raise UsageError(f"--resume finishes an earlier apply, and takes no {flag}.")
        return pruning.options(
            resuming=self.resume,
            targets=self.target or (),
            strategy=self.replace_strategy,
            settle_s=settle,
            keep_going=self.keep_going,
        )


def apply(
    session: Session,
    selection: WhatArgs,
    pruning: planning.PruneArgs,
    args: ApplyArgs,
    paths: SomePaths = None,
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Bring the workspace to the state in the files: print the plan, ask for approval, apply it."""
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
            raise UsageError("a saved plan already says how resources are replaced")
        if selection.plan_only and paths[1:]:
            raise UsageError("--plan-only takes no files")
        files, alone = Against(paths[1:], options, report), selection.plan_only
        return apply_saved(session, Path(paths[0]), args, lease, files, alone=alone)
    if selection.plan_only:
        raise UsageError("--plan-only needs a saved plan")
    with session.backend() as backend:
        planned = planning.load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return refuse(report, args.output, Exit.ERROR)
        if args.yes and planned.plan.pruned and pruning.prune_limit is None:
            session.say(_refuse_unlimited_pruning(planned.plan))
            return Exit.REFUSED
        code = carry_out_plan(session, backend, planned, args, lease, paths=paths)
        return planning.report_omissions(session, planned, code)


def destroy(
    session: Session,
    paths: Paths,
    args: ApplyArgs,
    target: planning.Target = None,
    keep_going: planning.KeepGoing = False,
    ignore: Ignore = None,
) -> Exit:
    """Delete the resources that the files declare: print the plan, ask for approval, delete."""
    report = new_report(session, ignore)
    lease = args.lease(session, "destroy", paths)
    options = PlanOptions(destroying=True, targets=target or (), keep_going=keep_going)
    with session.backend() as backend:
        planned = planning.load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return refuse(report, args.output, Exit.ERROR)
        code = carry_out_plan(session, backend, planned, args, lease, destroying=True)
        return planning.report_omissions(session, planned, code)


def _refuse_unlimited_pruning(plan: Plan) -> str:
    return (
        f"ERROR: {counted(plan.pruned, 'resource')} would be pruned without confirmation: say how"
        f" many may be, with --prune-limit {plan.pruned}, or leave out --yes."
    )


def _resumed_paths(session: Session) -> list[str] | None:
    """Return the paths of unfinished applies: files, or a saved plan; None if all have ended."""
    unfinished = session.journals.unfinished()
    if not unfinished:
        folder = _display_path(str(session.journals.folder.absolute()))
        scope = session.journals.scope
        workspace = f"{scope.resource_group}/{scope.workspace}"
        session.note(
            f"Nothing to resume: no apply to {workspace} has left anything behind in `{folder}`."
            " For files with an mlctl.yml elsewhere: mlctl apply --resume PATH..."
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
    return [_display_path(path) for path in files or paths[-1:]]


def _display_path(path: str) -> str:
    """Return the path as people would write it here."""
    whole, current = Path(path), Path.cwd()
    return str(whole.relative_to(current)) if whole.is_relative_to(current) else path


COMMANDS = {"apply": apply, "destroy": destroy}


@dataclass(frozen=True, slots=True)
class Against:
    """What a saved plan is checked against: files, with flags; or those it was made from."""

    paths: Sequence[str]
    options: PlanOptions
    report: Report


def apply_saved(
    session: Session,
    path: Path,
    args: ApplyArgs,
    lease: LeaseRequest | None,
    files: Against,
    *,
    alone: bool,
) -> Exit:
    """Carry out a saved plan, unless the workspace has moved since, or it was refused.

    It is held against the `files`, unless it is to be carried out `alone`.
    """
    saved = planfile.load(path)
    with session.backend() as backend:
        if (saved.work.backend, saved.work.scope) != (backend.name, backend.scope):
            made_for = f"the {saved.work.backend} backend, workspace {saved.work.scope}"
            message = f"`{path}` was made for {made_for}, and this is another one"
            raise planfile.PlanFileError(message)
        code = _check_stale(session, saved, backend) or _check_refused(session, saved)
        if code:
            return code
        if alone:
            return _apply_alone(session, backend, saved, path, args, lease, files.report)
        for step in saved.work.steps:
            planfile.check_uploads(step)
        planned = plan_again(session, backend, saved, files.report, files.options, files.paths)
        if planned.refused:
            session.show_findings(planned.refused)
            code = Exit.REFUSED if planned.plan.refusals else Exit.REJECTED
            return refuse(planned.refused, args.output, code)
        check_against_files(saved, planned, backend)
        write_down(planned.plan, backend.location, session.environment)
        if args.check:
            return Exit.OK
        execution = Execution.of(
            planned, parallelism=args.parallelism, lease=lease, paths=[str(path)]
        )
        return carry_out(session, backend, execution, args.output)


def _apply_alone(
    session: Session,
    backend: Backend,
    saved: planfile.SavedPlan,
    path: Path,
    args: ApplyArgs,
    lease: LeaseRequest | None,
    report: Report,
) -> Exit:
    """Carry out a saved plan without the files that it was made from."""
    check_alone(saved, session)
    ask_policies(saved, session, backend, report)
    if report.failed:
        session.show_findings(report)
        return refuse(report, args.output, Exit.REFUSED)
    if args.check:
        return Exit.OK
    execution = Execution(
        work=planfile.fill_secrets(saved.work, _read_document(session)),
        actions=saved.actions,
        parallelism=args.parallelism,
        lease=lease,
        paths=[str(path)],
    )
    return carry_out(session, backend, execution, args.output)


def _check_stale(session: Session, saved: planfile.SavedPlan, backend: Backend) -> Exit:
    """Return OK if the targets are unchanged since planning; else report the others."""
    stale: list[Address] = stale_targets(saved.work, backend)
    if stale and wait_until_settled(
        backend, backend.read(stale), timeout=settle_s(session), note=session.note
    ):
        stale = stale_targets(saved.work, backend)  # while a resource changes, it shows only a part
    if not stale:
        return Exit.OK
    session.say("ERROR: Saved plan is stale. These have changed since the plan was made:")
    for address in stale:
        session.say(f"  {address}")
    session.say("Make a new plan: mlctl plan PATH... --out FILE")
    return Exit.STALE


def _check_refused(session: Session, saved: planfile.SavedPlan) -> Exit:
    """Return OK if the plan was not refused when it was made; else report why it was."""
    diagnostics = saved.document["diagnostics"]
    errors = [diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"]
    if not errors:
        return Exit.OK
    session.say("ERROR: this plan was refused when it was made:")
    for error in errors:
        session.say(f"  {error['code']}: {error['summary']}")
    return Exit.REFUSED if saved.document.get("refused") else Exit.REJECTED


def _read_document(session: Session) -> planfile.ReadDocument:
    """Return a reader of documents with the project's overlays and variables, as for the plan."""
    report = Report(select=frozenset({UNSET_VARIABLE.code}))
    loader = session.loader(report)

    def read(file: str, index: int) -> Mapping[str, Data] | None:
        document = loader.document(file, index)
        for unset in report:
            raise planfile.PlanFileError(f"`{file}`: {unset.message}", unset.hint or "")
        return document.data if document else None

    return read
