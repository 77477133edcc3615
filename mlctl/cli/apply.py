"""`mlctl apply` and `mlctl destroy`: make the workspace as the files say, or take away what they declare."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from mlctl import planfile
from mlctl.apply import Retry, moved
from mlctl.apply import apply as run_steps
from mlctl.backends.base import Backend
from mlctl.cli.command import command
from mlctl.cli.exits import Exit
from mlctl.cli.plan import Format, Planned, Target, load_and_plan, show_plan
from mlctl.cli.session import Session
from mlctl.cli.validate import Ignore, Paths, Strict, new_report
from mlctl.steps import Work

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Parallelism = Annotated[
    int, typer.Option("--parallelism", metavar="N", min=1, max=64, help="How many resources to work on at once.")
]
Output = Annotated[Format, typer.Option("--output", "-o", help="human, or json: one event a line.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "apply")(apply)
    command(app, "destroy")(destroy)


def apply(
    session: Session,
    paths: Paths,
    yes: Yes = False,
    parallelism: Parallelism = 10,
    target: Target = None,
    output: Output = Format.HUMAN,
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Make the workspace as the files say: print the plan, ask, and carry it out.

    PATH may be a plan that `mlctl plan --out` saved: it is carried out as it stands, without asking, and refused
    if the workspace has moved since.
    """
    if len(paths) == 1 and planfile.is_plan(Path(paths[0])):
        return _apply_saved(session, Path(paths[0]), parallelism, output)
    report = new_report(ignore, None, strict=strict)
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, targets=target or ())
        return Exit.ERROR if planned is None else _carry_out(session, backend, planned, yes, parallelism, output)


def destroy(
    session: Session,
    paths: Paths,
    yes: Yes = False,
    parallelism: Parallelism = 10,
    target: Target = None,
    output: Output = Format.HUMAN,
    ignore: Ignore = None,
) -> Exit:
    """Delete what the files declare: print the plan, ask, and carry it out."""
    report = new_report(ignore, None, strict=False)
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, destroying=True, targets=target or ())
        if planned is None:
            return Exit.ERROR
        return _carry_out(session, backend, planned, yes, parallelism, output, destroying=True)


def _carry_out(
    session: Session,
    backend: Backend,
    planned: Planned,
    yes: bool,
    parallelism: int,
    output: Format,
    *,
    destroying: bool = False,
) -> Exit:
    if output is Format.HUMAN:
        show_plan(session, planned.plan, output)
    if planned.plan.rejections:
        if output is Format.JSON:
            session.show_rejections(planned.plan)
        return Exit.REJECTED
    if not planned.plan.empty and not yes and not _approved(session, destroying=destroying):
        return Exit.ERROR
    return carry_out(session, backend, planned.work, parallelism, output, destroying=destroying)


def _apply_saved(session: Session, path: Path, parallelism: int, output: Format) -> Exit:
    saved = planfile.load(path)
    with session.backend() as backend:
        planfile.check(saved, backend.name, backend.scope)
        gone = moved(saved.work, backend)
        if gone:
            session.say("ERROR: Saved plan is stale. These have changed since the plan was made:")
            for address in gone:
                session.say(f"  {address}")
            session.say("Make a new plan: mlctl plan ... --out FILE")
            return Exit.STALE
        if not saved.applyable:
            session.say("ERROR: this plan was predicted to be rejected when it was made; see its diagnostics.")
            return Exit.REJECTED
        return carry_out(session, backend, planfile.with_secrets(saved.work), parallelism, output)


def carry_out(
    session: Session,
    backend: Backend,
    work: Work,
    parallelism: int,
    output: Format,
    *,
    destroying: bool = False,
    summary: bool = True,
) -> Exit:
    """Do the steps, show what happens, and say how it ended."""
    from mlctl.render import progress

    with stopping(session) as stop:
        events = run_steps(work, backend, parallelism=parallelism, stop=stop, retry=Retry())
        outcome = progress.show(
            events,
            work,
            json_lines=output is Format.JSON,
            quiet=session.flags.only_show_errors,
            color=session.color(sys.stderr),
            destroying=destroying,
            summary=summary,
        )
    if outcome.stale:
        return Exit.STALE
    if outcome.cancelled:
        return Exit.CANCELLED
    if outcome.failed:
        return Exit.PARTIAL if outcome.done else Exit.ERROR
    return Exit.OK


@contextmanager
def stopping(session: Session) -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second ends the process at once."""
    stop = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            session.say("Stopped at once. What was being written may be half done; the next apply goes on from there.")
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()
        session.say("Stopping: nothing new starts, what runs is finished. Once more to stop at once.")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _approved(session: Session, *, destroying: bool) -> bool:
    """Ask; only `yes` counts, and nobody to ask is a no."""
    if not sys.stdin.isatty():
        session.say("ERROR: nobody to ask for approval here (no terminal); pass --yes to go on without asking.")
        return False
    question = (
        "Do you really want to destroy all these resources?" if destroying else "Do you want to perform these actions?"
    )
    sys.stderr.write(f"\n{question}\n  Only 'yes' will be accepted to approve.\n\n  Enter a value: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() == "yes":
        return True
    session.say("\nCancelled: nothing was changed.")
    return False
