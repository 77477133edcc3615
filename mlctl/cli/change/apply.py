"""`mlctl apply` and `mlctl destroy`: make the workspace as the files say, or undo what they say."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlctl import planfile
from mlctl.applying.lease import Wanted
from mlctl.applying.targets import stale_targets
from mlctl.backends.ports.backend import Backend
from mlctl.cli.change import replacing
from mlctl.cli.change.execution import (
    Execution,
    carry_out,
    planned_actions,
    planned_resources,
    stream,
)
from mlctl.cli.change.locking import LockArgs
from mlctl.cli.change.plan import ApplyFormat, Target, load_and_plan, show_plan, wait_until_settled
from mlctl.cli.change.pruning import PruneArgs
from mlctl.cli.change.replacing import ReplaceStrategy, Strategy
from mlctl.cli.change.resuming import Resume, check_flags, resumed_paths
from mlctl.cli.files.validate import Paths, PathsToApply
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.shell import console
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.project_paths import is_plan
from mlctl.cli.shell.rule_choice import Ignore, Strict, new_report
from mlctl.cli.shell.session import Session
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.diagnostics import Report
from mlctl.planning.model import Plan
from mlctl.pointer import Data
from mlctl.project.steps import Planned

if TYPE_CHECKING:
    pass

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Parallelism = Annotated[
    int,
    typer.Option(
        "--parallelism", metavar="N", min=1, max=64, help="How many resources to work on at once."
    ),
]
Output = Annotated[
    ApplyFormat, typer.Option("--output", "-o", help="human, or json: one event a line.")
]


def register(app: typer.Typer, verb: str) -> None:
    """Add `apply` or `destroy`."""
    command(app, verb)(apply if verb == "apply" else destroy)


def apply(
    session: Session,
    paths: PathsToApply = None,
    yes: Yes = False,
    resume: Resume = False,
    parallelism: Parallelism = 10,
    target: Target = None,
    pruning: PruneArgs = PruneArgs(),
    replace_strategy: ReplaceStrategy = Strategy.IN_PLACE,
    locks: LockArgs = LockArgs(),
    output: Output = ApplyFormat.HUMAN,
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Make the workspace as the files say: print the plan, ask, and carry it out.

    PATH may be a plan that `mlctl plan --out` saved: it is carried out as it stands, without
    asking, and refused if the workspace has moved since.
    """
    if resume:
        renames = replace_strategy is Strategy.BLUE_GREEN
        check_flags(target=target, prune=pruning.prune, renames=renames)
        paths = paths or resumed_paths(session)
        if paths is None:
            return Exit.OK
    elif not paths:
        raise UsageError("the following arguments are required: PATH...")
    lease = locks.wanted(session, "apply", paths)
    if len(paths) == 1 and is_plan(Path(paths[0])):
        if replace_strategy is Strategy.BLUE_GREEN:
            raise UsageError("a saved plan says itself how things are replaced")
        return _apply_saved(session, Path(paths[0]), parallelism, output, lease)
    report = new_report(session, ignore, strict=strict)
    with session.backend() as backend:
        planned = load_and_plan(
            session,
            backend,
            paths,
            report,
            targets=target or (),
            settled=True,
            pruning=pruning,
            strategy=replace_strategy,
            resuming=resume,
        )
        if planned is None:
            return _refuse(report, output, Exit.ERROR)
        if yes and planned.plan.pruned and pruning.prune_limit is None:
            session.say(_limitless(planned.plan))
            return Exit.REFUSED
        return carry_out_plan(
            session, backend, planned, yes, parallelism, output, lease, paths=paths
        )


def destroy(
    session: Session,
    paths: Paths,
    yes: Yes = False,
    parallelism: Parallelism = 10,
    target: Target = None,
    locks: LockArgs = LockArgs(),
    output: Output = ApplyFormat.HUMAN,
    ignore: Ignore = None,
) -> Exit:
    """Delete what the files declare: print the plan, ask, and carry it out."""
    report, targets = new_report(session, ignore), target or ()
    lease = locks.wanted(session, "destroy", paths)
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, destroying=True, targets=targets)
        if planned is None:
            return _refuse(report, output, Exit.ERROR)
        return carry_out_plan(
            *(session, backend, planned, yes, parallelism, output, lease), destroying=True
        )


def carry_out_plan(
    session: Session,
    backend: Backend,
    planned: Planned,
    yes: bool,
    parallelism: int,
    output: ApplyFormat,
    lease: Wanted | None,
    *,
    destroying: bool = False,
    paths: Sequence[str] = (),
) -> Exit:
    """Show a plan, ask unless `yes`, and carry it out."""
    plan = planned.plan
    if output is ApplyFormat.HUMAN:
        show_plan(session, plan, output, patch=replacing.patch(planned))
    if planned.refused:
        code = Exit.REFUSED if plan.refusals else Exit.REJECTED
        return _refuse(planned.refused, output, code)
    asked = Exit.OK
    if not (plan.empty or yes):
        asked = _ask(session, output, destroying=destroying, pruned=plan.pruned)
    if asked is not Exit.OK:
        return asked
    running = Execution(
        planned.work,
        planned_actions(plan),
        planned_resources(plan),
        parallelism,
        output,
        destroying=destroying,
        warnings=plan.warnings,
        lease=lease,
        texts=planned.texts,
        paths=paths,
        deleted=planned.graph.resources if destroying else (),
    )
    code = carry_out(session, backend, running)
    if planned.texts and code is not Exit.OK:
        for line in replacing.left_to_do(planned, backend):
            session.say(line)
    return code


def _refuse(report: Report, output: ApplyFormat, code: Exit) -> Exit:
    """The exit code; with `-o json`, after printing the findings that stopped the command."""
    if output is ApplyFormat.JSON:
        from mlctl.render.apply import json_lines

        json_lines.refuse(report, stream())
    return code


def _apply_saved(
    session: Session, path: Path, parallelism: int, output: ApplyFormat, lease: Wanted | None
) -> Exit:
    saved = planfile.load(path)
    with session.backend() as backend:
        if (saved.work.backend, saved.work.scope) != (backend.name, backend.scope):
            made_for = f"the {saved.work.backend} backend, workspace {saved.work.scope}"
            message = f"`{path}` was made for {made_for}, and this is another one"
            raise planfile.PlanFileError(message)
        gone = stale_targets(saved.work, backend)
        if gone and wait_until_settled(session, backend, backend.read(gone)):
            gone = stale_targets(saved.work, backend)  # what is in motion shows less than there is
        if gone:
            session.say("ERROR: Saved plan is stale. These have changed since the plan was made:")
            for address in gone:
                session.say(f"  {address}")
            session.say("Make a new plan: mlctl plan PATH... --out FILE")
            return Exit.STALE
        rejected = [one for one in saved.document["diagnostics"] if one["severity"] == "error"]
        if rejected:
            session.say("ERROR: this plan was refused when it was made:")
            for found in rejected:
                session.say(f"  {found['code']}: {found['summary']}")
            return Exit.REFUSED if saved.document.get("refused") else Exit.REJECTED
        work = planfile.fill_secrets(saved.work, _documents(session))
        paths = [str(path)]
        run = Execution(work, saved.actions, {}, parallelism, output, lease=lease, paths=paths)
        return carry_out(session, backend, run)


def _documents(session: Session) -> planfile.ReadDocument:
    """Reads documents as the plan did: with the overlays and variables of the project."""
    report = Report(select=frozenset({UNSET_VARIABLE.code}))
    loader = session.loader(report)

    def read(file: str, index: int) -> Mapping[str, Data] | None:
        document = loader.document(file, index)
        for unset in report:
            raise planfile.PlanFileError(f"`{file}`: {unset.message}", unset.hint or "")
        return document.data if document else None

    return read


def _limitless(plan: Plan) -> str:
    things = "resource" if plan.pruned == 1 else "resources"
    return (
        f"ERROR: {plan.pruned} {things} would be pruned, and nobody is asked: say how many may be,"
        f" with --prune-limit {plan.pruned}, or leave out --yes."
    )


def _ask(session: Session, output: ApplyFormat, *, destroying: bool, pruned: int = 0) -> Exit:
    """OK if the user types `yes`, or how many are `pruned`; an error without a terminal or with
    `-o json`."""
    if output is ApplyFormat.JSON or not sys.stdin.isatty():
        why = "-o json shows no plan to approve" if output is ApplyFormat.JSON else "no terminal"
        session.say(f"ERROR: nobody to ask for approval here ({why}); pass --yes to go on without.")
        return Exit.ERROR
    question = (
        "Do you really want to destroy all these resources?"
        if destroying
        else "Do you want to perform these actions?"
    )
    answer = str(pruned or "yes")
    if pruned:
        things = "resource" if pruned == 1 else "resources"
        question = f"{question}\n  They delete {pruned} {things} that no file declares any more."
        only = f"Only their number, {pruned}, will be accepted to approve."
    else:
        only = "Only 'yes' will be accepted to approve."
    prompt = f"\n{question}\n  {only}\n\n  Enter a value: "
    with suppress(KeyboardInterrupt):  # means no, like any answer but yes
        console.ask(prompt)
        if sys.stdin.readline().strip() == answer:
            return Exit.OK
    session.say("\nCancelled: nothing was changed.")
    return Exit.CANCELLED
