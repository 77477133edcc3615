"""Carries out the work of a command: under a lease, with a journal, showing what happens."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.applying.events import RetryOptions, StepEvent
from mlctl.applying.executor import apply as run_steps
from mlctl.applying.lease import Wanted, under_lease
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import LeaseHeld
from mlctl.cli.change import replacing
from mlctl.cli.change.plan import ApplyFormat
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session
from mlctl.cli.shell.stopping import stop_on_signal
from mlctl.diagnostics import Diagnostic
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.model import Action, Plan
from mlctl.planning.steps.work import Work
from mlctl.project.steps import NewText
from mlctl.render.apply import outcome
from mlctl.render.apply.outcome import Outcome
from mlctl.render.findings.places import with_places
from mlctl.render.plan import owed

if TYPE_CHECKING:
    from mlctl.render.apply import json_lines


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
            from mlctl.render.apply import json_lines

            json_lines.held(error, stream())
        raise
    if run.output is ApplyFormat.HUMAN:
        told = sys.stdout if ended.complete else sys.stderr
        text = outcome.summary(ended, color=session.color(told), destroying=run.destroying)
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
    from mlctl.render.apply import json_lines, progress

    if run.output is ApplyFormat.JSON:
        return json_lines.show(
            *(events, run.work, run.actions, stream()),
            destroying=run.destroying,
            warnings=run.warnings,
        )
    if session.quiet:
        return outcome.collect(events, run.work, run.actions, lambda _event: None)
    if sys.stderr.isatty():
        return progress.watch(events, run.work, run.actions, sys.stderr, time.monotonic)
    return progress.show(events, run.work, run.actions, sys.stderr)


def stream() -> json_lines.MessageStream:
    """Where the events of `-o json` go: standard output, a line each."""
    from mlctl.render.apply import json_lines

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()  # programs read it line by line

    return json_lines.MessageStream(write, _now, time.monotonic)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
