"""`mlctl job`: showing, waiting for, streaming, downloading and cancelling jobs."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from mlctl import files
from mlctl.backends.ports import jobs as ports
from mlctl.backends.ports.backend import Backend
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.shell import Exit, InvalidValue, Session, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import ChartOutputFormat, OutputArgs, Query, print_data
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import NotFound, Permanent

if TYPE_CHECKING:
    from mlctl.serving.deployments import CodeSettings

Name = Annotated[str, flag("--name", "-n", metavar="NAME")]
Limit = Annotated[str, flag("--limit", metavar="DURATION")]
Web = Annotated[bool, flag("--web", "-e")]
EVER = "365d"
_QUIET = ("MB_START", "MB_DONE")  # events that are too many to print
_MOST_DIGITS = 6  # of seconds
POLLING = "MLCTL_LOCAL_POLLING"


@contextmanager
def open_jobs(session: Session) -> Iterator[ports.Jobs]:
    """Open the workspace, and return its jobs."""
    with session.backend() as backend:
        yield jobs_of(backend)


def jobs_of(backend: Backend) -> ports.Jobs:
    """Return the jobs of an open backend."""
    if not isinstance(backend, ports.SupportsJobs):
        text = f"the {backend.name} backend has no jobs"
        raise Permanent("NoJobs", text)
    return backend.jobs


def code_of(session: Session, runs: ports.Jobs, python: str) -> tuple[Any, CodeSettings]:
    """Return the handle of the simulated cloud, and how its jobs run the user's code."""
    from functools import partial

    from mlctl.serving.deployments import CodeSettings
    from mlctl.simulator.control_plane import local_paths

    handle: Any = getattr(runs, "handle")  # noqa: B009 - local jobs have it
    find = partial(local_paths.find, handle.store)
    return handle, CodeSettings(python, find, session.environment)


def show(session: Session, printing: OutputArgs, name: Name, web: Web = False) -> None:
    """Show a job: its settings, status and resource usage."""
    with open_jobs(session) as jobs:
        let_time_pass(session, jobs, name)
        job = jobs.show(name)
        print_job(session, job, printing)
        if web:
            show_page(session, job)


def list_(
    session: Session,
    printing: OutputArgs,
    max_results: int = flag("-r", default=50, min=1, metavar="N"),
    all_results: bool = flag(default=False),
    parent: str | None = flag("--parent-job-name", "-p", metavar="NAME"),
    archived_only: bool = flag(default=False),
    include_archived: bool = flag(default=False),
) -> None:
    """List the jobs of the workspace, newest first, or the child jobs of a job."""
    view = ports.JobListView.ALL if include_archived else ports.JobListView.ACTIVE
    if archived_only:
        view = ports.JobListView.ARCHIVED
    with open_jobs(session) as jobs:
        limit = None if all_results else max_results
        listed = (
            jobs.list(view=view, limit=limit) if parent is None else jobs.children(parent)[:limit]
        )
        print_job(session, listed, printing)


def wait(session: Session, printing: OutputArgs, name: Name, limit: Limit = EVER) -> Exit:
    """Wait until a job has ended, and show it. Exits with 1 unless it completed."""
    length = duration(limit)
    with open_jobs(session) as jobs:
        *_, last = jobs.follow(name, length, detail=False)
        job = last.job
        print_job(session, job, printing)
    return report_end(session, job)


def stream(
    session: Session,
    name: Name,
    events: Path | None = flag(metavar="FILE", panel=SIMULATED),
    limit: Limit = EVER,
) -> Exit:
    """Stream a job until it ends. Exits with 1 unless it completed."""
    length = duration(limit)
    with open_jobs(session) as jobs:
        if events is not None and not isinstance(jobs, ports.SupportsEventLog):
            raise Permanent("NoEventLog", "this backend keeps no event log of jobs")
        job = _stream(session, jobs, name, length)
        if events is not None and isinstance(jobs, ports.SupportsEventLog):
            write(files.expanded(events), (f"{line}\n" for line in jobs.event_log(name)))
    return report_end(session, job)


def _stream(session: Session, jobs: ports.Jobs, name: str, length: float) -> ports.Job:
    """Show the job's logs if there are any, else its events; return the job at the end."""
    if isinstance(jobs, ports.SupportsLogs):
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


def _lines(progress: ports.JobProgress) -> list[str]:
    """Return a line for each event, except for mini-batches that succeed."""
    from mlctl.render.cloud.jobs import line

    return [line(event) for event in progress.events if event.event not in _QUIET]


def download(
    session: Session,
    name: Name,
    every: bool = flag("--all", default=False),
    output_name: str | None = flag(metavar="NAME"),
    download_path: Path = flag("-p", default=Path(), metavar="FOLDER"),
) -> None:
    """Download the outputs of a job: by default its files and logs."""
    folder = files.expanded(download_path)
    with open_jobs(session) as jobs:
        if isinstance(jobs, ports.SupportsDownloads):
            jobs.download(name, folder, output_name, every=every)
            return
        outputs = jobs.outputs(name) if isinstance(jobs, ports.SupportsOutputs) else ()
        chosen = [(path, text) for path, text in outputs if _is_selected(path, output_name, every)]
    if output_name is not None and not chosen:
        missing = f"job {name} has no output `{output_name}`"
        if not session.as_az:
            raise NotFound("OutputNotFound", missing, status=404)
        session.say(f"WARNING: {missing}")  # az says nothing and goes on
    for path, text in chosen:
        write(folder / path, [text])
        session.note(f"{download_path / path}")


def metrics(
    session: Session,
    name: Name,
    output: ChartOutputFormat = flag("-o", default="table"),
    query: Query = None,
) -> None:
    """Show the logged metrics of a training job: with --run-code its own, otherwise its steps."""
    from mlctl.render.cloud.jobs import clock
    from mlctl.render.page import charts

    with open_jobs(session) as jobs:
        points = jobs.metrics(name)
    if output == "chart":
        values = [
            (f"{point.name} {point.step}", point.value)
            if point.name
            else (f"{clock(point.at)} run {point.run}", float(point.step))
            for point in points
            if isfinite(point.value)
        ]
        session.out(charts.bars(charts.thin(values), width=session.width))
        return
    data = [_log_row(point) for point in points]
    print_data(session, data, output, query)


def _log_row(point: ports.MetricPoint) -> dict[str, Data]:
    times: dict[str, Data] = {"at_s": round(point.at, 6), "step": point.step}
    if not point.name:
        return {"run": point.run, **times}
    value = point.value if isfinite(point.value) else str(point.value)
    return {"metric": point.name, **times, "value": value}


def cancel(session: Session, printing: OutputArgs, name: Name) -> None:
    """Cancel a job. A job that has ended cannot be cancelled."""
    with open_jobs(session) as jobs:
        print_job(session, jobs.cancel(name), printing)


def archive(session: Session, name: Name) -> None:
    """Archive a job. Lists leave it out unless asked for archived jobs."""
    with open_jobs(session) as jobs:
        jobs.change(name, {"isArchived": True})


def restore(session: Session, name: Name) -> None:
    """Restore an archived job."""
    with open_jobs(session) as jobs:
        jobs.change(name, {"isArchived": False})


def show_page(session: Session, job: ports.Job) -> None:
    """Print the address of a job's page, and open it on a terminal.

    On Azure it is the service's studio; for the simulated cloud `mlctl studio`, if one runs in this
    folder.
    """
    services = job.body["properties"].get("services") or {}
    address = (services.get("Studio") or {}).get("endpoint") or _own_page(session, job.name)
    if address is None:
        session.note("--web: no studio shows this workspace; start one with `mlctl studio`")
        return
    session.note(clean(f"the job's page: {address}"))
    if sys.stdout.isatty() and str(address).startswith(("http://", "https://")):
        import webbrowser

        webbrowser.open(str(address))


def _own_page(session: Session, name: str) -> str | None:
    """Return the address of a job in this folder's running studio; None if none runs."""
    from mlctl.emulator.instance_file import find_running
    from mlctl.studio import FILE

    running = find_running(FILE)
    if running is None or running.scope != session.scope:
        return None
    return f"{running.url}/{running.token}/jobs/{name}"


def let_time_pass(session: Session, jobs: ports.Jobs, name: str) -> None:
    """Advance a simulated clock by `MLCTL_LOCAL_POLLING` seconds, until a job has ended.

    Scripts that ask again and again until a job has ended wait in vain for a clock that stands. A
    job that is older than that gets twice as old: they sleep between, and a job may take days.
    """
    seconds = session.environment.get(POLLING)
    if not seconds or not jobs.simulated:
        return
    if not seconds.isdecimal() or len(seconds) > _MOST_DIGITS:
        raise InvalidValue(f"it is not a number of seconds: `{seconds}`", flag=POLLING)
    age = next(jobs.follow(name, 0, detail=False)).at
    deque(jobs.follow(name, max(float(seconds), age), detail=False), maxlen=0)


def print_job(session: Session, job: ports.Job | list[ports.Job], printing: OutputArgs) -> None:
    """Print a job on stdout, or a list of jobs."""
    from mlctl.render.cloud import jobs

    scope = session.scope
    if isinstance(job, list):
        data: Data = [jobs.resource(item, scope) for item in job]
    else:
        data = jobs.resource(job, scope)
    printing.print(session, data, jobs.LIST)


def report_end(session: Session, job: ports.Job) -> Exit:
    """Print the outcome of a job; return 1 unless it completed."""
    from mlctl.render.cloud import jobs

    for line in jobs.summary(job):
        session.note(line)
    if not job.ended:
        session.say(f"ERROR: job {job.name} has not ended: it is {job.status}.")
    return Exit.OK if job.status == "Completed" else Exit.ERROR


def write(file: Path, texts: Iterable[str]) -> None:
    """Write a file, and create the folders above it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, "".join(texts).encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise Permanent("CannotWrite", f"cannot write `{file}`: {error.strerror}") from None


def _is_selected(path: PurePosixPath, output_name: str | None, every: bool) -> bool:
    first, second, *_ = path.parts
    if every:
        return True
    if output_name in (None, "default"):  # the name that azure-ai-ml has for it
        return first == "artifacts"
    return (first, second) == ("named-outputs", output_name)
