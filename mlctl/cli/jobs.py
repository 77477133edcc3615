"""`mlctl job`: what runs in a workspace, and how it goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from mlctl.backends.base import Job, Jobs, Permanent, Progress, SupportsJobs
from mlctl.cli.command import command
from mlctl.cli.exits import Exit
from mlctl.cli.local import duration
from mlctl.cli.output import OutputFormat, Query, compiled, print_data
from mlctl.cli.session import Session

app = typer.Typer(help="Manage jobs.", no_args_is_help=True)

Name = Annotated[str, typer.Option("--name", "-n", metavar="NAME", help="Name of the job.")]
Output = Annotated[
    OutputFormat | None,
    typer.Option(
        "--output",
        "-o",
        help="Output format; json unless configured.",
        rich_help_panel="Global Arguments",
    ),
]
Limit = Annotated[
    str,
    typer.Option(
        "--limit",
        metavar="DURATION",
        help="Wait no longer than this (virtual) time: 90s, 15m, 6h, 30d.",
    ),
]
_EVER = "365d"
_QUIET = ("MB_START", "MB_DONE")  # as many as there are mini-batches, when all is well


@contextmanager
def opened(session: Session) -> Iterator[Jobs]:
    """The jobs of the workspace.

    Raises:
        Permanent: the backend has none.
    """
    with session.backend() as backend:
        if not isinstance(backend, SupportsJobs):
            raise Permanent(
                "NoJobs",
                f"jobs on the {backend.name} backend are not for mlctl yet: use `az ml job`",
            )
        yield backend.jobs


def show(session: Session, name: Name, output: Output = None, query: Query = None) -> Exit:
    """Show a job: what was asked for, how it stands, and what it has used.

    Exits with 3 when there is none.
    """
    checked(query)
    with opened(session) as jobs:
        print_job(session, jobs.show(name), output, query)
    return Exit.OK


def list_(
    session: Session,
    max_results: Annotated[
        int, typer.Option("--max-results", "-r", min=1, metavar="N", help="List no more than N.")
    ] = 50,
    all_results: Annotated[bool, typer.Option("--all-results", help="List all of them.")] = False,
    output: Output = None,
    query: Query = None,
) -> Exit:
    """List the jobs of the workspace, the newest first."""
    checked(query)
    with opened(session) as jobs:
        found = jobs.list()
        print_jobs(session, found if all_results else found[:max_results], output, query)
    return Exit.OK


def wait(
    session: Session,
    name: Name,
    limit: Limit = _EVER,
    output: Output = None,
    query: Query = None,
) -> Exit:
    """Wait until a job has ended, and show it. Exits with 1 unless it was completed.

    On the simulated cloud the clock advances; nothing sleeps.
    """
    checked(query)
    length = duration(limit)
    with opened(session) as jobs:
        job = _last(jobs.follow(name, length, detail=False)).job
        print_job(session, job, output, query)
    return ended(session, job)


def cancel(session: Session, name: Name, output: Output = None, query: Query = None) -> Exit:
    """Cancel a job. One that has ended cannot be cancelled."""
    checked(query)
    with opened(session) as jobs:
        print_job(session, jobs.cancel(name), output, query)
    return Exit.OK


def checked(query: str | None) -> None:
    """Find out that a query is none before anything happens.

    Raises:
        typer.BadParameter: it is no JMESPath.
    """
    if query is not None:
        compiled(query)


def print_job(session: Session, job: Job, output: OutputFormat | None, query: str | None) -> None:
    """One job on stdout."""
    from mlctl.render import jobs

    print_data(session, jobs.resource(job), output, query, jobs.LIST)


def print_jobs(
    session: Session, found: list[Job], output: OutputFormat | None, query: str | None
) -> None:
    """Several jobs on stdout."""
    from mlctl.render import jobs

    print_data(session, [jobs.resource(one) for one in found], output, query, jobs.LIST)


def ended(session: Session, job: Job) -> Exit:
    """Say what a job came to; 1 unless it was completed."""
    from mlctl.render import jobs

    for line in jobs.summary(job):
        session.note(line)
    if not job.ended:
        session.say(f"ERROR: job {job.name} has not ended: it is {job.status}.")
    return Exit.OK if job.status == "Completed" else Exit.ERROR


def _last(told: Iterator[Progress]) -> Progress:
    *_, last = told
    return last


command(app, "show")(show)
command(app, "list")(list_)
command(app, "wait")(wait)
command(app, "cancel")(cancel)
