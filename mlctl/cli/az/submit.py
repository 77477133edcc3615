"""`mlctl job create` and `mlctl batch-pool submit`: jobs that no endpoint makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, SupportsUpload
from mlctl.cli.az import common_flags as flags
from mlctl.cli.az import documents, jobs
from mlctl.cli.az.documents import Typed
from mlctl.cli.az.jobs import Output
from mlctl.cli.az.stream import stream
from mlctl.cli.durations import duration
from mlctl.cli.exits import Exit
from mlctl.cli.local import workload_flags
from mlctl.cli.output import Query, checked
from mlctl.cli.parser.command import add, command, option, switch
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.session import Session
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds import JOB, Resource, Scope
from mlctl.kinds.values import complete, encode
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.source import dump
from mlctl.workload import DEFAULT_NAME

_CREATE = (
    option(
        "file",
        "--file",
        "-f",
        metavar="FILE",
        help="The YAML file; - for standard input.",
        default=...,
    ),
    option("name", "--name", "-n", metavar="NAME", help="Name of the job; over what it says."),
    flags.SET,
    switch("stream", "--stream", "-s", help="Show what happens to it until it has ended."),
    option("save_as", "--save-as", "-a", metavar="FILE", help="Write the job to a file, as YAML."),
    *flags.POLICY,
    option(
        "workload",
        "--workload",
        metavar="NAME",
        help="What `mlctl local workload set NAME` said of the work.",
        panel=SIMULATED,
        default=DEFAULT_NAME,
    ),
    *workload_flags.TRAINING,
    flags.OUTPUT,
    flags.QUERY,
)
_CREATE_TEXT = (
    "Submit a command job: a YAML file, with what is typed over it.\n\n"
    "On the simulated cloud the command is not run: the job is a number of equal steps, with"
    " checkpoints in `outputs`. Preempted, it is started again from the last complete one."
)


def register(app: typer.Typer) -> None:
    """Add `create` to the commands of jobs."""
    add(app, "create", create, _CREATE, _CREATE_TEXT)


def register_pool(app: typer.Typer) -> None:
    """Add `submit` to the commands of Batch Pools."""
    command(app, "submit")(submit)


def create(session: Session, **words: Any) -> Exit:
    """Submit a command job, and print it."""
    checked(words["query"])
    load = workload_flags.load(words)
    with session.backend() as backend:
        runs = jobs.of(backend)
        workload_flags.check(runs, words)
        found = _resources(session, backend.scope, words)
        if found is None:
            return Exit.ERROR
        resource, assets = found
        for asset in assets:
            _register(backend, asset)
        body = _body(resource, backend.scope)
        name = words["name"] or resource.get("name")
        job = runs.create(name, body, load, words["workload"])
        if words["save_as"]:
            data = {**resource.document.data, "name": job.name}
            jobs.write(Path(words["save_as"]).expanduser(), [dump(data)])
        jobs.print_job(session, job, words["output"], words["query"])
    return stream(session, job.name) if words["stream"] else Exit.OK


def submit(
    session: Session,
    time: Annotated[
        str,
        typer.Option("--duration", metavar="DURATION", help="How long it takes a VM: 90s, 1h30m."),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name", "-n", metavar="NAME", help="The pool; the shared queue unless given."
        ),
    ] = None,
    job_name: Annotated[
        str | None,
        typer.Option("--job-name", metavar="NAME", help="Name of the job; made up unless given."),
    ] = None,
    output: Output = None,
    query: Query = None,
) -> Exit:
    """Submit a job of the classic batch service, as its clients did with a pool's id.

    It starts at once where the pool has a free VM, and waits its turn otherwise. Without a pool it
    goes to the queue that all share.
    """
    checked(query)
    length = duration(time)
    with session.backend() as backend:
        if not isinstance(backend, LocalBackend):
            raise Permanent("RetiredService", "the classic batch service has been retired")
        job = backend.jobs.submit(name, length, job_name)
        jobs.print_job(session, job, output, query)
    return Exit.OK


def _resources(
    session: Session, scope: Scope, words: Mapping[str, Any]
) -> tuple[Resource, list[Resource]] | None:
    """The job of the file, and the assets that are written inline in it or are local.

    None where something is wrong with it, which has been said.
    """
    typed, report = Typed.of(JOB, (), words), Report()
    loader = Loader(
        report,
        session.today,
        JOB,
        scope,
        planning=True,
        edit=lambda document, _kind: documents.created(document, typed),
    )
    loaded = loader.load([words["file"]])
    session.show(report)
    if report.failed:
        return None
    found = loaded.graph.resources.values()
    wanted = [one for one in found if one.kind is JOB]
    if len(wanted) != 1:
        raise Permanent("NotOneJob", f"`{words['file']}` has {len(wanted)} jobs: one at a time")
    return wanted[0], [one for one in found if one.owner == wanted[0].address]


def _register(backend: Backend, asset: Resource) -> None:
    """Have an asset that the job needs; the same content is the same asset."""
    if asset.address in backend.read([asset.address]):
        return
    body: Mapping[str, Data] = _body(asset, backend.scope)
    if isinstance(backend, SupportsUpload):
        for upload in asset.uploads:
            body = backend.upload(asset.address, body, upload)
    backend.put(asset.address, body).wait()


def _body(resource: Resource, scope: Scope) -> dict[str, Data]:
    return encode(complete(resource.values, resource.form), resource.form, scope)
