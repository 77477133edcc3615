"""`mlctl finish`: runs of a batch job one after the other, until it is done, late or too dear."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.jobs import Jobs
from mlctl.backends.ports.journals import Journals, SupportsJournals
from mlctl.cli.az import invoke as batch_job
from mlctl.cli.az.job_verify import write_outputs
from mlctl.cli.az.jobs import jobs_of
from mlctl.cli.forecast.args import CloudArgs, FileArgs, SubjectArgs, settings_of, weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import read_subject
from mlctl.cli.local import workload_flags
from mlctl.cli.local.flag_text import DelayArgs
from mlctl.cli.local.workload_flags import BatchFlags
from mlctl.cli.shell import Exit, Group, InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import asdict, dataclass
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import NotFound, Permanent

if TYPE_CHECKING:
    from mlctl.finishing.order import Order
    from mlctl.finishing.progress import Outcome, Progress
    from mlctl.forecast.batch.reading import Subject

LEASE = "finish/"  # before the name of a job: what its lease is called


class FinishFormat(StrEnum):
    """How it is told what happens."""

    HUMAN = "human"
    JSON = "json"


class ShowFormat(StrEnum):
    """How a job is shown."""

    HUMAN = "human"
    JSON = "json"
    HTML = "html"


Name = Annotated[str, argument("The job that is finished.", metavar="NAME")]
Show = Annotated[ShowFormat, flag("How it is written; html is one page.", "--output", "-o")]
Events = Annotated[FinishFormat, flag("human, or json: an event a line.", "--output", "-o")]
Results = Annotated[
    Path | None,
    flag("Where the results of all runs are put together; NAME-results.", metavar="DIR"),
]
Notify = Annotated[
    str | None,
    flag("A command that gets the summary as JSON on its stdin at the end.", metavar="CMD"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderArgs:
    """What is to be finished, by when, and for how much."""

    endpoint: str = flag("Name of the batch endpoint.", "-n", metavar="NAME")
    deployment: str | None = flag(
        "The deployment for low priority; the endpoint's default one.", "-d", metavar="NAME"
    )
    input: str | None = flag("What to score: a local folder, or a URI.", metavar="URI")
    name: str | None = flag("What to call it, and its runs; made up.", metavar="NAME")
    deadline: str | None = flag("When it has to be done, from now: 6h.", metavar="DURATION")
    max_cost: float | None = flag(
        "Stop before a step that would cost more in all.", min=0, metavar="USD"
    )
    policy: str | None = flag(
        "What follows a lost run, as in simulate; the cheapest that keeps the deadline.",
        metavar="POLICY",
    )
    shards: str = flag("How many runs share the files, or auto.", default="auto", metavar="N")
    sure: str | None = flag(
        "The deployment on dedicated nodes; a twin is made and removed unless given.",
        metavar="DEPLOYMENT",
    )
    give_up_after: int = flag("End after so many equal failures.", default=2, min=1, metavar="N")
    weather: str = flag("The weather of the forecast.", default=DEFAULT_WEATHER, metavar="NAME")


def finish(
    session: Session,
    *,
    order_args: OrderArgs,
    work: BatchFlags,
    files: FileArgs,
    delays: DelayArgs,
    cloud: CloudArgs,
    results: Results = None,
    notify: Notify = None,
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
    output: Events = FinishFormat.HUMAN,
) -> Exit:
    """Bring a batch job to its end, whatever becomes of its nodes.

    Shows the forecast of what it will do, asks, and then stays: it submits shards of the files one
    after the other, again where a run is lost, on dedicated nodes where the policy says so. A
    journal in the workspace says what comes next before it is done: after a crash, `mlctl finish
    resume NAME` goes on, on any machine. Exits with 11 where the job is done late, 12 where it gets
    too dear, 13 where it cannot be done.
    """
    deadline_s = duration(order_args.deadline) if order_args.deadline is not None else None
    with refusals():
        settings = settings_of(delays, cloud)
        about = (
            f"{order_args.endpoint}/{order_args.deployment}"
            if order_args.deployment
            else order_args.endpoint
        )
        subject_args = SubjectArgs(
            **asdict(files),
            deployment=about,
            mini_batches=None,
            input=_folder(order_args.input, work),
        )
        subject = read_subject(session, (), subject_args, work, settings, None)
        if subject is None:
            return Exit.ERROR
        can_split = session.backend_name == "local"
        order, compared = _order(order_args, work, subject, deadline_s, can_split=can_split)
    if output is FinishFormat.HUMAN:
        session.out(render.offer(order.document(), compared, width=session.width))
    if not (yes or session.confirmed("Begin?")):
        return Exit.CANCELLED
    with session.backend() as backend, _held(session, backend, order.name) as leased:
        journals = _journals(leased)
        if journals.read(order.name):
            raise Permanent("NameTaken", f"`{order.name}` is there already: choose another --name")
        from mlctl.finishing.cloud import WorkspaceCloud

        first = {"at": WorkspaceCloud(leased, jobs_of(leased)).now(), "event": "begun"}
        record = {**first, "order": order.document(), "forecast": compared}
        journals.append(order.name, record)
        return _carry_out(session, leased, order.name, results, notify, output)


def resume(
    session: Session,
    name: Name,
    *,
    results: Results = None,
    notify: Notify = None,
    output: Events = FinishFormat.HUMAN,
) -> Exit:
    """Go on with a job whose controller has ended, from any machine.

    Exits with 10 where another controller is at work.
    """
    with session.backend() as backend, _held(session, backend, name) as leased:
        return _carry_out(session, leased, name, results, notify, output)


def cancel(
    session: Session,
    name: Name,
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
) -> Exit:
    """Cancel what runs of a job, remove what was made for it, and end it."""
    if not (yes or session.confirmed(f"Cancel `{name}`?")):
        return Exit.CANCELLED
    with session.backend() as backend, _held(session, backend, name) as leased:
        _controller(leased, name, lambda _: None).cancel()
    session.out(f"{clean(name)}: cancelled")
    return Exit.OK


def show(session: Session, name: Name, output: Show = ShowFormat.HUMAN) -> Exit:
    """Show how a job stands: shards, runs by tier, what is spent."""
    with session.backend() as backend:
        records = _records(_journals(backend), name)
        data = _document(records, jobs_of(backend), backend)
    match output:
        case ShowFormat.JSON:
            session.out_data(json.dumps(data, indent=2))
        case ShowFormat.HTML:
            session.out_data(render.page(data))
        case ShowFormat.HUMAN:
            session.out(render.human(data))
    return Exit.OK


def list_(session: Session, output: Events = FinishFormat.HUMAN) -> Exit:
    """List the jobs of the workspace that are being finished, or were."""
    with session.backend() as backend:
        journals, jobs = _journals(backend), jobs_of(backend)
        listed = [
            _document(journals.read(name), jobs, backend)  # one read each
            for name in journals.names()
        ]
    if output is FinishFormat.JSON:
        session.out_data(json.dumps(listed, indent=2))
    elif not listed:
        session.note("There are none: mlctl finish -n ENDPOINT --input FOLDER begins one.")
    for data in listed if output is FinishFormat.HUMAN else ():
        session.out(render.summary(data))
    return Exit.OK


def log(session: Session, name: Name, output: Events = FinishFormat.HUMAN) -> Exit:
    """Print the journal of a job: what was done, and when."""
    with session.backend() as backend:
        records = _records(_journals(backend), name)
    for record in records:
        if output is FinishFormat.JSON:
            session.out_data(json.dumps(record))
        else:
            session.out(render.event(record, records[0]["at"]))
    return Exit.OK


COMMANDS = {
    "finish": Group(
        "Batch jobs brought to their ends.",
        {"show": show, "list": list_, "log": log, "resume": resume, "cancel": cancel},
        finish,
    )
}


def _folder(text: str | None, work: BatchFlags) -> str | None:
    """The folder whose files are counted; none where flags say how many there are."""
    return text if work.files is None else None


def _order(
    order_args: OrderArgs,
    work: BatchFlags,
    subject: Subject,
    deadline_s: float | None,
    *,
    can_split: bool,
) -> tuple[Order, list[dict[str, Any]]]:
    from mlctl.finishing import begin
    from mlctl.forecast.batch.policy import WATCHFUL, parse

    if order_args.shards != "auto" and not (
        order_args.shards.isdecimal() and int(order_args.shards) > 0
    ):
        raise InvalidValue(f"`{order_args.shards}` is no number, nor auto", flag="--shards")
    try:
        policies = [parse(order_args.policy)] if order_args.policy else begin.considered(deadline_s)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    if deadline_s is None and policies[0].way in WATCHFUL:
        raise UsageError(f"--policy {policies[0]} needs a --deadline.")
    scenario = subject.scenario.under(weather_of(order_args.weather).processes())
    shards = int(order_args.shards) if order_args.shards.isdecimal() else None if can_split else 1
    if not can_split and shards != 1:
        why = "mlctl cannot split an input of Azure yet: each run scores all of it"
        raise InvalidValue(f"{why}; give 1, or auto", flag="--shards")
    compared = begin.options(
        scenario, policies, shards, deadline_s, makes_twin=order_args.sure is None
    )
    address = subject.deployment.address
    name = order_args.name or f"{order_args.endpoint}-{secrets.token_hex(3)}"
    no_flags = dict.fromkeys(batch_job.BatchJobArgs.__dataclass_fields__)
    job = batch_job.BatchJobArgs(**{**no_flags, "input": order_args.input})  # type: ignore[arg-type]
    workload = workload_flags.workload_of(work)
    order = begin.order_of(
        compared[0],
        deadline_s,
        name=name,
        endpoint=order_args.endpoint,
        deployment=address.name,
        dedicated=order_args.sure or f"{address.name}-dedicated",
        makes_twin=order_args.sure is None,
        inputs=batch_job.body(batch_job.document(job))["inputData"],
        files=_names(order_args.input),
        max_cost=order_args.max_cost,
        give_up_after=order_args.give_up_after,
        workload={key: part for key, part in asdict(workload).items() if part is not None},
    )
    return order, [option.document() for option in compared]


def _names(text: str | None) -> tuple[str, ...]:
    """The names of the files of a local folder."""
    from mlctl.rehearsal.inputs import Inputs

    if text is None or not Path(text).exists():
        return ()
    return Inputs.find(Path(text)).names


def _journals(backend: Backend) -> Journals:
    if not isinstance(backend, SupportsJournals):
        raise Permanent("NoJournals", f"the {backend.name} backend keeps no journals")
    return backend.journals


def _records(journals: Journals, name: str) -> list[Mapping[str, Any]]:
    records = journals.read(name)
    if not records:
        raise NotFound("FinishNotFound", f"there is no `{name}`: see mlctl finish list", status=404)
    return records


@contextmanager
def _held(session: Session, backend: Backend, name: str) -> Iterator[Backend]:
    """The backend as it writes under the lease of a job, which one controller has at a time."""
    from mlctl.applying.lease import LeaseRequest, holder, under_lease

    me = holder(f"mlctl finish {name}", session.environment)
    with under_lease(backend, LeaseRequest(LEASE + name, me), threading.Event()) as leased:
        yield leased


def _controller(backend: Backend, name: str, note: Callable[[Mapping[str, Any]], None]) -> Any:
    from mlctl.finishing.cloud import WorkspaceCloud
    from mlctl.finishing.controller import Controller
    from mlctl.finishing.progress import Progress

    journals = _journals(backend)
    progress = Progress.of(_records(journals, name))
    append = partial(journals.append, name)
    return Controller(progress, WorkspaceCloud(backend, jobs_of(backend)), append, note)


def _carry_out(
    session: Session,
    backend: Backend,
    name: str,
    results: Path | None,
    notify: str | None,
    output: FinishFormat,
) -> Exit:

    def note(record: Mapping[str, Any]) -> None:
        if output is FinishFormat.JSON:
            session.out_data(json.dumps(record))
        else:
            session.say(clean(render.live(record, _summary(controller.progress))))

    controller = _controller(backend, name, note)
    try:
        outcome: Outcome = controller.carry_out()
    except KeyboardInterrupt:
        if sys.stdin.isatty() and session.confirmed("\nCancel what runs? (n leaves it running)"):
            controller.cancel()
            return Exit.CANCELLED
        session.say(f"Left as it is: mlctl finish resume {name}")
        return Exit.CANCELLED
    progress: Progress = controller.progress
    code = _CODES[outcome.value]
    if progress.is_done:
        folder = results or Path(f"{name}-results")
        code = _merged(session, backend, progress, folder) or code
    data = _summary(progress)
    if notify is not None:
        subprocess.run(notify, shell=True, input=json.dumps(data), text=True, check=False)  # noqa: S602
    if output is FinishFormat.HUMAN:
        session.out(render.summary(data))
    return code


_CODES = {
    "done": Exit.OK,
    "late": Exit.LATE,
    "too dear": Exit.TOO_DEAR,
    "impossible": Exit.IMPOSSIBLE,
    "cancelled": Exit.CANCELLED,
}


def _merged(session: Session, backend: Backend, progress: Progress, folder: Path) -> Exit | None:
    """Put the results together, and hold them against the inputs; an exit code where they fail."""
    from mlctl.finishing.merge import merge

    order, jobs = progress.order, jobs_of(backend)
    if folder.exists() and any(folder.iterdir()):
        session.note(f"the results are in {clean(str(folder))} already")
        return None
    runs = sorted((run for run in progress.runs if run.completed), key=lambda run: run.shard)
    with tempfile.TemporaryDirectory(prefix="mlctl-finish-") as scratch:
        parts = [Path(scratch, run.name) for run in runs]
        for run, part in zip(runs, parts, strict=True):
            part.mkdir()
            write_outputs(jobs, run.name, part)
        batches = [-(-size // order.mini_batch_size) for size in order.sizes]
        merge(parts, batches, order.output_file, folder)
    session.note(f"the results of {len(runs)} shards are in {clean(str(folder))}")
    if not order.files:
        return None
    from mlctl.rehearsal.inputs import Inputs
    from mlctl.rehearsal.scoring.verify import verify

    findings = list(verify(folder, Inputs(Path(), order.files), size=order.mini_batch_size))
    for finding in findings:
        session.say(clean(f"ERROR: {finding.message}"))
    if not findings:
        session.note(f"every one of {len(order.files)} inputs has its rows, and no row twice")
    return Exit.ERROR if findings else None


def _document(records: list[Mapping[str, Any]], jobs: Jobs, backend: Backend) -> dict[str, Any]:
    from mlctl.finishing.cloud import WorkspaceCloud
    from mlctl.finishing.progress import Progress

    data = _summary(Progress.of(records))
    data["forecast"] = records[0].get("forecast") or []
    data["now"] = WorkspaceCloud(backend, jobs).now()
    return data


def _summary(progress: Progress) -> dict[str, Any]:
    """A job as data."""
    order = progress.order
    return {
        "name": order.name,
        "outcome": progress.outcome.value if progress.outcome else None,
        "reason": progress.reason,
        "policy": order.policy,
        "deadline_s": order.deadline_s,
        "max_cost": order.max_cost,
        "began": progress.began,
        "shards": {"total": len(order.sizes), "done": progress.shard},
        "files": {"total": sum(order.sizes), "left": progress.files_left},
        "spent": progress.spent,
        "switches": progress.switches,
        "runs": [
            {**asdict(run), "tier": run.tier.value, "usd": order.cost(run.node_s, run.tier)}
            for run in progress.runs
        ],
        "made": list(progress.twins),
    }
