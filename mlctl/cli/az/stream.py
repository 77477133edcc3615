"""`mlctl job stream`: the events or logs of a job while it runs."""

from __future__ import annotations

import sys
from pathlib import Path

from mlctl.backends.ports.jobs import Job, JobProgress, Jobs, SupportsEventLog, SupportsLogs
from mlctl.cli.az.jobs import EVER, Limit, Name, ended, opened, write
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
    with opened(session) as jobs:
        if events is not None and not isinstance(jobs, SupportsEventLog):
            raise Permanent("NoEventLog", "this backend keeps no event log of jobs")
        job = _stream(session, jobs, name, length)
        if events is not None and isinstance(jobs, SupportsEventLog):
            write(expanded(events), (f"{line}\n" for line in jobs.event_log(name)))
    return ended(session, job)


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
    if sys.stdout.isatty() and sys.stderr.isatty():
        from mlctl.render.cloud import watch

        return watch.watch(progresses, _lines, sys.stderr).job
    for progress in progresses:
        for line in _lines(progress):
            session.out(line)
    return progress.job


def _lines(progress: JobProgress) -> list[str]:
    """Return a line for each event, except for mini-batches that succeed."""
    from mlctl.render.cloud import jobs

    return [jobs.line(event) for event in progress.events if event.event not in _QUIET]
