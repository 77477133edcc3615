"""`mlctl apply` and `mlctl destroy`: make the workspace as the files say, or undo what they say."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlctl import planfile
from mlctl.applying.events import RetryOptions, StepEvent
from mlctl.applying.executor import apply as run_steps
from mlctl.applying.lease import Wanted, under_lease
from mlctl.applying.targets import stale_targets
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import LeaseHeld
from mlctl.cli import console, replacing
from mlctl.cli.exits import Exit
from mlctl.cli.locking import LockArgs
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.command import command
from mlctl.cli.plan import ApplyFormat, Target, load_and_plan, show_plan, wait_until_settled
from mlctl.cli.project_paths import is_plan
from mlctl.cli.pruning import PruneArgs
from mlctl.cli.replacing import ReplaceStrategy, Strategy
from mlctl.cli.resuming import Resume, check_flags, resumed_paths
from mlctl.cli.rule_choice import Ignore, Strict, new_report
from mlctl.cli.session import Session
from mlctl.cli.stopping import stop_on_signal
from mlctl.cli.validate import Paths, PathsToApply
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.model import Action, Plan
from mlctl.planning.steps import Work
from mlctl.pointer import Data
from mlctl.project.steps import NewText, Planned
from mlctl.render import outcome, owed
from mlctl.render.outcome import Outcome
from mlctl.render.places import with_places

if TYPE_CHECKING:
    from mlctl.render import json_lines

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
        from mlctl.render import json_lines

        json_lines.refuse(report, _stream())
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


def planned_actions(plan: Plan) -> dict[Address, Action]:
    """What a plan does to each resource."""
    return {change.address: change.action for change in plan.changes}


def planned_resources(plan: Plan) -> dict[Address, Resource]:
    """What files declare, by the addresses of a plan."""
    return {one.address: one.resource for one in plan.changes if one.resource is not None}


@dataclass(frozen=True, eq=False, slots=True)
class Execution:
    """Work to carry out, and how to report it; without `wait` a write is done once accepted.

    `resources` are those that files declare, by the addresses of the plan. `warnings` are those of
    the plan, where they are not shown with it. `lease` is the one to carry it out under, if any.
    `texts` are written into files before. `paths` are the files that were planned, or the plan.
    `deleted` is what shall be gone, whether it is there or not.
    """

    work: Work
    actions: Mapping[Address, Action]
    resources: Mapping[Address, Resource] = field(default_factory=dict)
    parallelism: int = 10
    output: ApplyFormat = ApplyFormat.HUMAN
    destroying: bool = False
    wait: bool = True
    warnings: tuple[Diagnostic, ...] = ()
    lease: Wanted | None = None
    texts: Mapping[Path, NewText] = field(default_factory=dict)
    paths: Sequence[str] = ()
    deleted: Collection[Address] = ()


def carry_out(session: Session, backend: Backend, run: Execution) -> Exit:
    """Do the steps, print the events and the summary, and return the exit code.

    Raises:
        LeaseHeld: another apply of the project runs; with `-o json` that is printed, too.
    """
    try:
        ended = perform(session, backend, run)
    except LeaseHeld as error:
        if run.output is ApplyFormat.JSON:
            from mlctl.render import json_lines

            json_lines.held(error, _stream())
        raise
    if run.output is ApplyFormat.HUMAN:
        stream = sys.stdout if ended.complete else sys.stderr
        text = outcome.summary(ended, color=session.color(stream), destroying=run.destroying)
        session.out("\n" + text) if ended.complete else session.say(text)
    if ended.stale:
        return Exit.STALE
    if ended.lease_lost:
        return Exit.LOCKED
    if ended.stopped:
        return Exit.CANCELLED
    if ended.timed_out:
        return Exit.TIMED_OUT
    if not ended.complete:
        return Exit.PARTIAL if ended.partial else Exit.ERROR
    return Exit.OK


def perform(session: Session, backend: Backend, run: Execution) -> Outcome:
    """Do the steps and print the events; the caller prints the summary.

    Raises:
        LeaseHeld: another apply of the project runs.
        OutputError: a file cannot be written.
    """
    journals = session.journals
    lease = run.lease if run.work.steps or journals.unfinished() else None
    with stop_on_signal() as stop, under_lease(backend, lease, stop) as leased:
        journal = journals.new(datetime.now(UTC), run.paths)
        if run.texts and not stop.is_set():  # else somebody stopped the wait for the lease
            replacing.write_and_keep(session, run.texts, run.work, journal)
        events = run_steps(
            run.work,
            leased,
            parallelism=run.parallelism,
            stop=stop,
            retry=RetryOptions(),
            wait=run.wait,
            journal=journal,
        )
        ended = _shown(session, run, with_places(events, run.resources))
        for left in journals.settle(backend, {*run.deleted, *ended.gone}):
            session.note(owed.left(left.owed, left.path, run.paths))
        return ended


def _shown(session: Session, run: Execution, events: Iterator[StepEvent]) -> Outcome:
    from mlctl.render import json_lines, progress

    if run.output is ApplyFormat.JSON:
        return json_lines.show(
            *(events, run.work, run.actions, _stream()),
            destroying=run.destroying,
            warnings=run.warnings,
        )
    if session.quiet:
        return outcome.collect(events, run.work, run.actions, lambda _event: None)
    if sys.stderr.isatty():
        return progress.watch(events, run.work, run.actions, sys.stderr, time.monotonic)
    return progress.show(events, run.work, run.actions, sys.stderr)


def _stream() -> json_lines.MessageStream:
    from mlctl.render import json_lines

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()  # programs read it line by line

    return json_lines.MessageStream(write, _now, time.monotonic)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _limitless(plan: Plan) -> str:
    return (
        f"ERROR: {plan.pruned} resources would be pruned, and nobody is asked: say how many may be,"
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
