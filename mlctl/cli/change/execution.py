"""Carry out a plan: flags, approval, events, summary, exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from mlctl.applying.events import StepEvent
from mlctl.applying.lease import LeaseRequest, holder
from mlctl.applying.outcome import Outcome
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Lease, LeaseHeld
from mlctl.cli.change.planning import show_plan
from mlctl.cli.shell import Exit, Session, flag, streams
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.workflow import perform
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Report
from mlctl.planning.model import ActionReason
from mlctl.render.apply import leases, outcome
from mlctl.schema.text import counted
from mlctl.service_errors import ServiceError
from mlctl.source.files import PROJECT_FILE
from mlctl.workflow.applying import PARALLELISM, Execution
from mlctl.workflow.model import Planned

if TYPE_CHECKING:
    from mlctl.render.apply import json_lines

Yes = Annotated[bool, flag("--yes", "-y")]

ApplyFormat: TypeAlias = Literal["human", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyArgs:
    """How a plan is carried out."""

    yes: Yes = False
    parallelism: int = flag(default=PARALLELISM, metavar="N", min=1, max=64)
    lock_timeout: str | None = flag(metavar="DURATION")
    no_lock: bool = flag(default=False)
    check: bool = flag(default=False)
    in_order: bool = flag(default=False)
    output: ApplyFormat = flag("-o", default="human")

    def lease(self, session: Session, verb: str, paths: Sequence[str]) -> LeaseRequest | None:
        """Return the lease of the project in `mlctl.yml`; None without one, and with --no-lock."""
        timeout = duration(self.lock_timeout) if self.lock_timeout is not None else 0.0
        project = session.settings.project.text("project")
        if project is None and self.lock_timeout is not None:
            session.note(f"{PROJECT_FILE} names no `project`: there is no lease to wait for.")
        if project is None or self.no_lock:
            return None

        def waiting(lease: Lease) -> None:
            session.note(f"Waiting up to {self.lock_timeout} for the lease of `{project}`:")
            for fact in leases.facts(lease):
                session.note(f"  {fact}")

        me = holder(" ".join(["mlctl", verb, *paths]), session.environment)
        return LeaseRequest(project, me, timeout, waiting)


def refuse(report: Report, output: ApplyFormat, code: Exit) -> Exit:
    """Return the exit code, after printing the findings with `-o json`."""
    if output == "json":
        from mlctl.render.apply import json_lines

        json_lines.refuse(report, _stream())
    return code


def carry_out_plan(
    session: Session,
    backend: Backend,
    planned: Planned,
    args: ApplyArgs,
    lease: LeaseRequest | None,
    *,
    destroying: bool = False,
    paths: Sequence[str] = (),
) -> Exit:
    """Show a plan, ask unless `--yes`, and carry it out."""
    plan = planned.plan
    if args.output == "human":
        show_plan(session, planned)
    if planned.refused:
        code = Exit.REFUSED if plan.refusals else Exit.REJECTED
        return refuse(planned.refused, args.output, code)
    if args.check:
        return Exit.OK
    if not (plan.empty or args.yes):
        answer = _ask(session, args.output, destroying=destroying, pruned=plan.pruned)
        if answer is not Exit.OK:
            return answer
    execution = Execution.of(
        planned, parallelism=args.parallelism, lease=lease, paths=paths, destroying=destroying
    )
    code = carry_out(
        session, backend, execution, args.output, destroying=destroying, warnings=plan.warnings
    )
    if planned.texts and code is not Exit.OK:
        for line in _list_leftovers(planned, backend):
            session.say(line)
    return code


def carry_out(
    session: Session,
    backend: Backend,
    execution: Execution,
    output: ApplyFormat,
    *,
    destroying: bool = False,
    warnings: Sequence[Diagnostic] = (),
) -> Exit:
    """Run the steps, print the events and the summary, and return the exit code.

    `warnings` are those of the plan; with `-o json` they are printed here.
    """
    if output == "json":
        show = partial(_print_json, destroying=destroying, warnings=warnings)
        try:
            return _exit_code(perform(session, backend, execution, show))
        except LeaseHeld as error:
            from mlctl.render.apply import json_lines

            json_lines.blocked_line(error, _stream())
            raise
    ended = perform(session, backend, execution)
    stream = sys.stdout if ended.complete else sys.stderr
    text = outcome.summary(ended, color=session.color(stream), destroying=destroying)
    session.out("\n" + text) if ended.complete else session.say(text)
    return _exit_code(ended)


def _exit_code(ended: Outcome) -> Exit:
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


def _print_json(
    events: Iterator[StepEvent],
    execution: Execution,
    *,
    destroying: bool,
    warnings: Sequence[Diagnostic],
) -> Outcome:
    from mlctl.render.apply import json_lines

    return json_lines.show(
        events,
        execution.work,
        execution.actions,
        _stream(),
        destroying=destroying,
        warnings=warnings,
    )


def _stream() -> json_lines.MessageStream:
    """Return the stream for events of `-o json`: standard output, a line each."""
    from mlctl.render.apply import json_lines

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()  # programs read it line by line

    return json_lines.MessageStream(write, _now, time.monotonic)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ask(session: Session, output: ApplyFormat, *, destroying: bool, pruned: int = 0) -> Exit:
    """Return OK if the user types `yes`, or the number of `pruned`; an error if nobody can."""
    if output == "json" or not sys.stdin.isatty():
        why = "-o json shows no plan to approve" if output == "json" else "no terminal"
        session.say(
            f"ERROR: cannot ask for approval here ({why}); pass --yes to proceed without it."
        )
        return Exit.ERROR
    question = (
        "Do you really want to destroy all these resources?"
        if destroying
        else "Do you want to perform these actions?"
    )
    answer = str(pruned or "yes")
    if pruned:
        resources = counted(pruned, "resource")
        question = f"{question}\n  They delete {resources} that no file declares any more."
        only = f"Only their number, {pruned}, will be accepted to approve."
    else:
        only = "Only 'yes' will be accepted to approve."
    prompt = f"\n{question}\n  {only}\n\n  Enter a value: "
    with suppress(KeyboardInterrupt):  # any other answer means no
        streams.ask(prompt)
        if sys.stdin.readline().strip() == answer:
            return Exit.OK
    session.say("\nCancelled: nothing was changed.")
    return Exit.CANCELLED


def _list_leftovers(planned: Planned, backend: Backend) -> Iterator[str]:
    """List the resources of old names that a failed apply leaves, and what to do."""
    yield "The files have the new names: apply them again for the rest, then run:"
    changes = planned.plan.changes
    old = [change for change in changes if change.reason is ActionReason.SUPERSEDED]
    try:
        live = backend.read([change.address for change in old])
    except ServiceError:
        live = {change.address: change.live for change in old if change.live is not None}
    for address in sorted(live, reverse=True):
        above = f" -e {address.parent}" if address.parent else ""
        yield f"  mlctl {address.kind} delete -n {address.name}{above}"
    if live and planned.project is not None:
        yield f"`mlctl apply --prune` deletes what the project `{planned.project}` owns."
