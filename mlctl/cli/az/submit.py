"""`mlctl job create`, `batch-pool submit` and `schedule trigger`: jobs without an endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from mlctl.backends.ports.backend import Backend, SupportsSchedules, SupportsUpload
from mlctl.backends.ports.jobs import Job, Jobs
from mlctl.cli.az import documents, jobs
from mlctl.cli.az.args import EditArgs, PolicyArgs, SetFlag
from mlctl.cli.az.documents import ResourceFlags
from mlctl.cli.az.jobs import Web
from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.flags import TrainingFlags, WorkloadName
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.code import CodeArgs, backend_is_local, python_of
from mlctl.cli.shell.command import Commands, duration
from mlctl.cli.shell.output import OutputArgs
from mlctl.cli.shell.rule_choice import Ignore, ignored, new_report
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass
from mlctl.files import expanded
from mlctl.kinds import Resource, Scope, kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.records.job import KIND as JOB
from mlctl.kinds.values import complete, encode
from mlctl.planning.preflight import references
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.source import dump
from mlctl.workload import DEFAULT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArgs:
    """The arguments of `job create` that describe the job."""

    file: str = flag("-f", default=..., metavar="FILE")
    name: str | None = flag("-n", metavar="NAME")
    set_: SetFlag = None
    stream: bool = flag("-s", default=False)
    web: Web = False
    ignore: Ignore = None
    save_as: Path | None = flag("-a", metavar="FILE")


def create(
    session: Session,
    *,
    args: JobArgs,
    _policy: PolicyArgs,
    workload: WorkloadName = DEFAULT_NAME,
    work: TrainingFlags,
    running: CodeArgs,
    printing: OutputArgs,
) -> Exit:
    """Submit a job: a command, pipeline or sweep from a YAML file. Flags override the file."""
    workload_ = workload_flags.workload_of(work)
    with session.backend() as backend:
        runs = jobs.jobs_of(backend)
        workload_flags.check(runs, workload, work)
        python = python_of(session, running) if backend_is_local(session, running) else None
        declared = resources(session, backend, args, runs_here=python is not None)
        if declared is None:
            return Exit.ERROR
        resource, assets = declared
        refuse(resource)
        for asset in assets:
            register(backend, asset)
        properties = body(resource, backend.scope)
        request = (args.name or resource.get("name"), properties, workload_, workload)
        if python is None:
            job = runs.create(*request)
        else:
            job = _run(session, runs, python, request, resource.document.folder)
        if args.save_as:
            data = {**resource.document.data, "name": job.name}
            jobs.write(expanded(args.save_as), [dump(data)])
        jobs.let_time_pass(session, runs, job.name)
        shown = runs.show(job.name)
        jobs.print_job(session, shown, printing)
        if args.web:
            jobs.show_page(session, shown)
    return jobs.stream(session, job.name, None) if args.stream else Exit.OK


def validate(
    session: Session,
    _policy: PolicyArgs,
    printing: OutputArgs,
    file: str = flag("-f", default=..., metavar="FILE"),
    set_: SetFlag = None,
    ignore: Ignore = None,
) -> Exit:
    """Check the file of a job as `job create` does; submit nothing. Exits with 1 on an error."""
    args = JobArgs(file=file, name=None, set_=set_, stream=False, web=False, ignore=ignore)
    with session.backend() as backend:
        failed = resources(session, backend, args) is None
    result = "Failed" if failed else "Succeeded"
    printing.print(session, {"result": result})
    return Exit.ERROR if failed else Exit.OK


def _run(session: Session, runs: Jobs, python: str, request: tuple[Any, ...], folder: Path) -> Job:
    """Run the code of a job whose file is in a folder, and submit it with the results."""
    from mlctl.serving import jobs as serving_jobs
    from mlctl.simulator.control_plane.jobs.workloads import JobRequest

    handle, code = jobs.code_of(session, runs, python)
    name, data, *work = request
    record = serving_jobs.create(
        handle, JobRequest(name, data["properties"], *work), code, folder.absolute()
    )
    return Job(record.row.name, record.body(handle.scope))


def submit(
    session: Session,
    printing: OutputArgs,
    time: str = flag("--duration", default=..., metavar="DURATION"),
    name: str | None = flag("-n", metavar="NAME"),
    job_name: str | None = flag(metavar="NAME"),
) -> None:
    """Submit a job to the classic batch service, as its clients did with a pool id."""
    from mlctl.backends.local.backend import LocalBackend

    length = duration(time)
    with session.backend() as backend:
        if not isinstance(backend, LocalBackend):
            raise Permanent("RetiredService", "the classic batch service has been retired")
        job = backend.jobs.submit(name, length, job_name)
        jobs.print_job(session, job, printing)


def resources(
    session: Session, backend: Backend, args: JobArgs, *, runs_here: bool = False
) -> tuple[Resource, list[Resource]] | None:
    """Return the job of the file, and its inline or local assets.

    None if the file has errors, which have been reported.
    """
    typed = ResourceFlags.of(JOB, (), EditArgs(name=args.name, set_=args.set_))
    report = new_report(session, args.ignore)
    report.previews = runs_here
    loader = session.loader(
        report,
        JOB,
        scope=backend.scope,
        planning=True,
        edit=lambda document, _kind: documents.document_to_create(document, typed),
    )
    loaded = loader.load([args.file])
    session.show(report)
    if report.failed:
        return None
    _look_for_datastores(session, backend, loaded.graph, args)
    read = loaded.graph.resources.values()
    job_resources = [resource for resource in read if resource.kind is JOB]
    if len(job_resources) != 1:
        raise Permanent("NotOneJob", f"`{args.file}` has {len(job_resources)} jobs: one at a time")
    return job_resources[0], [resource for resource in read if resource.owner is not None]


def _look_for_datastores(session: Session, backend: Backend, graph: Graph, args: JobArgs) -> None:
    """Warn of paths into missing datastores before nodes are started."""
    edges = [edge for edge in graph.edges if kind_of(edge.target).arm.own_names]
    live = backend.read({edge.target for edge in edges}) if edges else {}
    absent = [edge for edge in edges if edge.target not in live]
    findings = [references.missing(graph.resources[edge.source], edge) for edge in absent]
    session.show_findings(findings, ignored(session, args.ignore))


def refuse(job: Resource) -> None:
    """Refuse a job that can be checked, but not run."""
    why = job.kind.not_run.get(job.form.name)
    if why:
        title = str(job.form.schema["title"])
        raise Permanent(
            "NotRun",
            f"mlctl checks {title}s, but does not run them: {why}."
            f" `az ml job create -f {job.document.source.name}` submits it to Azure",
        )


def register(backend: Backend, asset: Resource) -> None:
    """Register an asset that the job needs, unless it exists."""
    if asset.address in backend.read([asset.address]):
        return
    sent: Mapping[str, Data] = body(asset, backend.scope)
    if isinstance(backend, SupportsUpload):
        for upload in asset.uploads:
            sent = backend.upload(asset.address, sent, upload)
    backend.put(asset.address, sent).wait()


def body(resource: Resource, scope: Scope) -> dict[str, Data]:
    """Return a resource as ARM has it."""
    return encode(complete(resource.values, resource.form), resource.form, scope)


def trigger(
    session: Session,
    name: Annotated[str, flag("--name", "-n", metavar="NAME")],
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> None:
    """Start a job of a schedule now, regardless of its next time."""
    with session.backend() as backend:
        if not isinstance(backend, SupportsSchedules):
            text = f"the {backend.name} backend cannot start jobs of schedules"
            raise Permanent("NotSupported", text)
        job = backend.trigger(Address("schedule", name))
    printing.print(session, {"job_name": job})


COMMANDS: Mapping[str, Commands] = {
    "batch-pool": {"submit": submit},
    "schedule": {"trigger": trigger},
}
