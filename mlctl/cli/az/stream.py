"""`mlctl job stream`: the events or logs of a job while it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from mlctl.backends.ports.jobs import Job, JobProgress, Jobs, SupportsEventLog, SupportsLogs
from mlctl.cli.az.jobs import EVER, Limit, Name, open_jobs, report_end, write
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.shell import Exit, InvalidValue, Session, flag
from mlctl.cli.shell.command import duration
from mlctl.files import expanded
from mlctl.service_errors import Permanent

_QUIET = ("MB_START", "MB_DONE")  # too many to print


def stream(
    session: Session,
    name: Name,
    events: Path | None = flag(metavar="FILE", panel=SIMULATED),
    limit: Limit = EVER,
) -> Exit:
    """Stream a job until it ends. Exits with 1 unless it completed."""
    length = duration(limit)
    with open_jobs(session) as jobs:
        if events is not None and not isinstance(jobs, SupportsEventLog):
            raise Permanent("NoEventLog", "this backend keeps no event log of jobs")
        job = _stream(session, jobs, name, length)
        if events is not None and isinstance(jobs, SupportsEventLog):
            write(expanded(events), (f"{line}\n" for line in jobs.event_log(name)))
    return report_end(session, job)


def _stream(session: Session, jobs: Jobs, name: str, length: float) -> Job:
    """Show the job's logs if there are any, else its events; return the job at the end."""
    if isinstance(jobs, SupportsLogs):
        if length != duration(EVER):
            raise InvalidValue(
                "--limit: logs are streamed until the job has ended; `mlctl job wait` has a limit"
            )
        jobs.stream(name)
        return jobs.show(name)
    progresses = jobs.follow(name, length, detail=True)
    on_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    return (_watch_events(progresses) if on_terminal else _print_events(session, progresses)).job


def _print_events(session: Session, progresses: Iterator[JobProgress]) -> JobProgress:
    """Print a line for each event, except for mini-batches that succeed."""
    from mlctl.render.cloud import jobs

    progress = None
    for progress in progresses:
        for event in progress.events:
            if event.event not in _QUIET:
                session.out(jobs.line(event))
    assert progress is not None
    return progress


def _watch_events(progresses: Iterator[JobProgress]) -> JobProgress:
    """Print the same lines above a progress bar with the states of the nodes."""
    from mlctl.render.cloud import watch

    def shown(progress: JobProgress) -> list[str]:
        from mlctl.render.cloud import jobs

        return [jobs.line(event) for event in progress.events if event.event not in _QUIET]

    return watch.watch(progresses, shown, sys.stderr)
