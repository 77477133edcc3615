"""`mlctl job stream`: what happens to a job, as it happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from mlctl.backends.ports.jobs import (
    Job,
    JobProgress,
    Jobs,
    SupportsEventLog,
    SupportsLogs,
)
from mlctl.cli.az.jobs import EVER, Limit, Name, ended, opened, write
from mlctl.cli.durations import duration
from mlctl.cli.exits import Exit
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.session import Session
from mlctl.service_errors import Permanent

_QUIET = ("MB_START", "MB_DONE")  # as many as there are mini-batches, when all is well


def stream(
    session: Session,
    name: Name,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write all that happened to the job and its cluster, a JSON line each: the same"
            " lines for one seed.",
            rich_help_panel=SIMULATED,
        ),
    ] = None,
    limit: Limit = EVER,
) -> Exit:
    """Show what happens to a job until it has ended. Exits with 1 unless it was completed.

    On Azure its logs. On the simulated cloud a progress bar and the nodes on a terminal, lines
    elsewhere; the clock advances, and nothing sleeps.
    """
    length = duration(limit)
    with opened(session) as jobs:
        if events is not None and not isinstance(jobs, SupportsEventLog):
            raise Permanent("NoEventLog", "this backend keeps no event log of jobs")
        job = _streamed(session, jobs, name, length)
        if events is not None and isinstance(jobs, SupportsEventLog):
            _write_story(jobs, name, events)
    return ended(session, job)


def _streamed(session: Session, jobs: Jobs, name: str, length: float) -> Job:
    """Show the job's logs where there are any, else what happens to it; the job at the end."""
    if isinstance(jobs, SupportsLogs):
        if length != duration(EVER):
            raise InvalidValue(
                "--limit: logs are streamed until the job has ended; `mlctl job wait` has a limit"
            )
        jobs.stream(name)
        return jobs.show(name)
    told = jobs.follow(name, length, detail=True)
    on_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    return (_watched(told) if on_terminal else _said(session, told)).job


def _said(session: Session, told: Iterator[JobProgress]) -> JobProgress:
    """A line for each thing that happened, but for mini-batches that go well."""
    from mlctl.render import jobs

    progress = None
    for progress in told:
        for event in progress.events:
            if event.event not in _QUIET:
                session.out(jobs.line(event))
    assert progress is not None
    return progress


def _watched(told: Iterator[JobProgress]) -> JobProgress:
    """The same lines, above a bar that shows how far the job is and what its nodes do."""
    from mlctl.render import watch

    def shown(progress: JobProgress) -> list[str]:
        from mlctl.render import jobs

        return [jobs.line(event) for event in progress.events if event.event not in _QUIET]

    return watch.watch(told, shown, sys.stderr)


def _write_story(jobs: SupportsEventLog, name: str, file: Path) -> None:
    write(file.expanduser(), (f"{line}\n" for line in jobs.event_log(name)))
