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
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Annotated, Any

from mlctl import files
from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.backends.ports.folders import SupportsFolders
from mlctl.backends.ports.jobs import Jobs
from mlctl.backends.ports.journals import Journals, SupportsJournals
from mlctl.backends.ports.lease import FINISH
from mlctl.cli.az import invoke as batch_job
from mlctl.cli.az.job_verify import write_outputs
from mlctl.cli.az.jobs import jobs_of
from mlctl.cli.forecast.args import CloudArgs, FileArgs, SubjectArgs, settings_of, weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import read_subject
from mlctl.cli.local import workload_flags
from mlctl.cli.local.flag_text import DelayArgs
from mlctl.cli.local.workload_flags import BatchFlags, TrainingFlags
from mlctl.cli.shell import Exit, Group, InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.rule_choice import new_report
from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.files import expanded
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import NotFound, Permanent, ServiceError
from mlctl.simulator.control_plane.state.clock import EPOCH

if TYPE_CHECKING:
    from mlctl.finishing.order import Order
    from mlctl.finishing.outlook import Outlook
    from mlctl.finishing.progress import Outcome, Progress
    from mlctl.finishing.split import Split
    from mlctl.forecast.batch.policy import RecoveryPolicy
    from mlctl.forecast.batch.reading import Subject
    from mlctl.forecast.scenario import Scenario
    from mlctl.simulator.engine.model import SimulationSettings


class FinishFormat(StrEnum):
    """How it is told what happens."""

    HUMAN = "human"
    JSON = "json"


class ShowFormat(StrEnum):
    """How a job is shown."""

    HUMAN = "human"
    JSON = "json"
    HTML = "html"


FilesToApply = Annotated[
    list[str] | None,
    argument(
        "Files and folders that are applied first, with the batch deployment that takes the job.",
        metavar="PATH...",
    ),
]
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

    endpoint: str | None = flag("Name of the batch endpoint.", "-n", metavar="NAME")
    file: str | None = flag(
        "A command job to bring to its end instead; - for standard input.", "-f", metavar="FILE"
    )
    checkpoint: str | None = flag(
        "The job's output with checkpoints, and its input that the next run finds them in: of the"
        " same name unless given.",
        metavar="OUTPUT[:INPUT]",
    )
    deployment: str | None = flag(
        "The deployment for low priority; the endpoint's default one.", "-d", metavar="NAME"
    )
    input: str | None = flag("What to score: a local folder, or a URI.", metavar="URI")
    name: str | None = flag("What to call it, and its runs; made up.", metavar="NAME")
    deadline: str | None = flag(
        "When it has to be done: 6h from now, or 2026-11-24 06:00 (of this machine, unless a zone"
        " is given).",
        metavar="DURATION|DATE",
    )
    max_cost: float | None = flag(
        "Stop before a step that would cost more in all.", min=0, metavar="USD"
    )
    policy: str | None = flag(
        "What follows a lost run, as in simulate; the cheapest that keeps the deadline.",
        metavar="POLICY",
    )
    shards: str = flag("How many runs share the files, or auto.", default="auto", metavar="N")
    sure: str | None = flag(
        "The deployment on dedicated nodes, or of a command job the cluster; a twin is made and"
        " removed unless given.",
        metavar="NAME",
    )
    give_up_after: int = flag("End after so many equal failures.", default=2, min=1, metavar="N")
    weather: str = flag("The weather of the forecast.", default=DEFAULT_WEATHER, metavar="NAME")


def finish(
    session: Session,
    paths: FilesToApply = None,
    *,
    order_args: OrderArgs,
    work: BatchFlags,
    training: TrainingFlags,
    prices: FileArgs,
    delays: DelayArgs,
    cloud: CloudArgs,
    results: Results = None,
    notify: Notify = None,
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
    output: Events = FinishFormat.HUMAN,
) -> Exit:
    """Bring a batch job or a training job to its end, whatever becomes of its nodes.

    Shows the forecast of what it will do, asks, and then stays: it submits shards of the files one
    after the other, again where a run is lost, on dedicated nodes where the policy says so. A run
    of a command job (-f) goes on from the checkpoint of the one before it. A journal in the
    workspace says what comes next before it is done: after a crash, `mlctl finish resume NAME` goes
    on, on any machine. Exits with 11 where the job is done late, 12 where it gets too dear, 13
    where it cannot be done.

    Files that are named are first applied, as by `mlctl apply`: their plan is shown, and it asks.
    The job is then that of their only batch deployment, unless -n names another one.
    """
    if paths:
        if order_args.file is not None:
            raise UsageError("PATH and -f FILE are different jobs: give one of them.")
        order_args = _of_files(session, paths, order_args)
    if (order_args.endpoint is None) is (order_args.file is None):
        raise UsageError("give -n ENDPOINT, files with one, or -f FILE of a command job.")
    if (order_args.checkpoint is None) is not (order_args.file is None):
        raise UsageError("-f FILE and --checkpoint OUTPUT need each other.")
    deadline_s = _deadline(session, order_args.deadline) if order_args.deadline else None
    with refusals():
        settings = settings_of(delays, cloud)
    if paths:
        code = _applied(session, paths, output, yes=yes)
        if code is not Exit.OK:
            return code
    if order_args.file is not None:
        with refusals():
            ordered = _order_of_job(session, order_args, training, prices, settings, deadline_s)
        if ordered is None:
            return Exit.ERROR
        return _begun(session, *ordered, results, notify, output, yes=yes)
    assert order_args.endpoint is not None
    split = _split(session, order_args.input, work) if session.backend_name != "local" else None
    if split is not None and split.files:
        work = replace(work, files=len(split.files))
    with refusals():
        about = (
            f"{order_args.endpoint}/{order_args.deployment}"
            if order_args.deployment
            else order_args.endpoint
        )
        subject_args = SubjectArgs(
            **asdict(prices),
            deployment=about,
            mini_batches=None,
            input=_folder(order_args.input, work),
        )
        subject = read_subject(session, (), subject_args, work, settings, None)
        if subject is None:
            return Exit.ERROR
        order, compared = _order(order_args, work, subject, deadline_s, split)
    if split is not None and split.reason and len(order.sizes) == 1 and order_args.shards == "auto":
        session.note(f"one shard: the input cannot be split, since {clean(split.reason)}")
    return _begun(session, order, compared, lambda _: None, results, notify, output, yes=yes)


def _of_files(session: Session, paths: list[str], order_args: OrderArgs) -> OrderArgs:
    """The order with the endpoint and the deployment of the files, where no flag names one.

    Raises:
        UsageError: they have none, or several.
    """
    if order_args.endpoint is not None:
        return order_args
    report = new_report(session, None)
    resources = session.loader(report).load([*paths]).graph.resources.values()
    deployments = [resource.address for resource in resources if resource.kind is BATCH_DEPLOYMENT]
    if len(deployments) != 1:
        names = ", ".join(address.name for address in deployments) or "none"
        raise UsageError(
            f"the files declare {len(deployments)} batch deployments ({names}):"
            " -n ENDPOINT -d DEPLOYMENT says which one takes the job."
        )
    [address] = deployments
    deployment = order_args.deployment or address.name
    return replace(order_args, endpoint=address.parent, deployment=deployment)


def _applied(session: Session, paths: list[str], output: FinishFormat, *, yes: bool) -> Exit:
    """Make the workspace as the files say, once somebody has agreed to their plan."""
    from mlctl.cli.change import apply
    from mlctl.cli.change.execution import ApplyArgs, ApplyFormat
    from mlctl.cli.change.planning import PruneArgs

    args = ApplyArgs(yes=yes, output=ApplyFormat(output.value))
    return apply.apply(session, apply.WhatArgs(), PruneArgs(), args, paths)


def _begun(
    session: Session,
    order: Order,
    compared: list[dict[str, Any]],
    prepare: Callable[[Backend], None],
    results: Path | None,
    notify: str | None,
    output: FinishFormat,
    *,
    yes: bool,
) -> Exit:
    """Show what will be done, ask, and carry it out; `prepare` comes before the first run."""
    if output is FinishFormat.HUMAN:
        session.out(render.offer(order.document(), compared, width=session.width))
    if not (yes or session.confirmed("Begin?")):
        return Exit.CANCELLED
    with session.backend() as backend, _held(session, backend, order.name) as leased:
        journals = _journals(leased)
        if journals.read(order.name):
            raise Permanent("NameTaken", f"`{order.name}` is there already: choose another --name")
        from mlctl.finishing.cloud import WorkspaceCloud

        there = WorkspaceCloud(leased, jobs_of(leased))
        if there.find(order.name) is not None:
            raise Permanent("NameTaken", f"there is a job `{order.name}`: choose another --name")
        prepare(leased)
        if order.job is None:
            order = replace(order, version=there.version(order))
        first = {"at": there.now(), "event": "begun"}
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
        data = _document(records, jobs_of(backend), backend, forecasts=True)
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


def _policies(order_args: OrderArgs, deadline_s: float | None) -> list[RecoveryPolicy]:
    """The policy that is asked for, or those that are compared.

    Raises:
        UsageError: there is none of that name, or it needs a deadline.
    """
    from mlctl.finishing import begin
    from mlctl.forecast.batch.policy import WATCHFUL, parse

    try:
        policies = [parse(order_args.policy)] if order_args.policy else begin.considered(deadline_s)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    if deadline_s is None and policies[0].way in WATCHFUL:
        raise UsageError(f"--policy {policies[0]} needs a --deadline.")
    return policies


def _order_of_job(
    session: Session,
    order_args: OrderArgs,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
    deadline_s: float | None,
) -> tuple[Order, list[dict[str, Any]], Callable[[Backend], None]] | None:
    from mlctl.cli.finish import job

    assert order_args.file is not None
    assert order_args.checkpoint is not None
    return job.ordered(
        session,
        order_args.file,
        order_args.checkpoint,
        work=work,
        prices=prices,
        settings=settings,
        weather=weather_of(order_args.weather).processes(),
        policies=_policies(order_args, deadline_s),
        deadline_s=deadline_s,
        sure=order_args.sure,
        facts={
            "name": order_args.name or f"{job.stem(order_args.file)}-{secrets.token_hex(3)}",
            "max_cost": order_args.max_cost,
            "give_up_after": order_args.give_up_after,
            "weather": order_args.weather,
        },
    )


def _order(
    order_args: OrderArgs,
    work: BatchFlags,
    subject: Subject,
    deadline_s: float | None,
    split: Split | None,
) -> tuple[Order, list[dict[str, Any]]]:
    from mlctl.finishing import begin

    if order_args.shards != "auto" and not (
        order_args.shards.isdecimal() and int(order_args.shards) > 0
    ):
        raise InvalidValue(f"`{order_args.shards}` is no number, nor auto", flag="--shards")
    policies = _policies(order_args, deadline_s)
    scenario = subject.scenario.under(weather_of(order_args.weather).processes())
    shards = int(order_args.shards) if order_args.shards.isdecimal() else None
    if split is not None and not split.source:
        shards = _folders(split, shards)
    compared = begin.options(
        scenario, policies, shards, deadline_s, makes_twin=order_args.sure is None
    )
    name = order_args.name or f"{order_args.endpoint}-{secrets.token_hex(3)}"
    no_flags = dict.fromkeys(batch_job.BatchJobArgs.__dataclass_fields__)
    job = batch_job.BatchJobArgs(**{**no_flags, "input": order_args.input})  # type: ignore[arg-type]
    workload = workload_flags.workload_of(work)
    address = subject.deployment.address
    order = begin.order_of(
        compared[0],
        deadline_s,
        name=name,
        endpoint=order_args.endpoint,
        deployment=address.name,
        dedicated=order_args.sure or f"{address.name}-dedicated",
        makes_twin=order_args.sure is None,
        inputs=batch_job.body(batch_job.document(job))["inputData"],
        files=split.files if split is not None else _names(order_args.input),
        max_cost=order_args.max_cost,
        give_up_after=order_args.give_up_after,
        weather=order_args.weather,
        workload={key: part for key, part in asdict(workload).items() if part is not None},
    )
    if split is not None and split.source:
        order = replace(order, source=split.source, upload=f"mlctl-finish/{name}")
        at = "azureml://datastores/workspaceblobstore/paths/"
        shards_at = tuple(at + order.folder(shard) for shard in range(len(order.sizes)))
        order = replace(order, folders=shards_at)
    elif split is not None and len(order.sizes) > 1:
        order = replace(order, folders=split.folders, sizes=split.sizes)
    return order, [option.document() for option in compared]


def _deadline(session: Session, text: str) -> float:
    """Seconds from now until a deadline: after a duration, or at a date.

    Raises:
        InvalidValue: it is neither, or a date that has passed.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return duration(text)
    with session.backend() as backend:
        now = (
            backend.now() + EPOCH.timestamp()
            if isinstance(backend, SupportsVirtualTime)
            else time()
        )
    seconds = moment.astimezone().timestamp() - now
    if seconds <= 0:
        raise InvalidValue(f"`{text}` has passed", flag="--deadline")
    return seconds


def _split(session: Session, text: str | None, work: BatchFlags) -> Split:
    """How an input that Azure reads can be split.

    Raises:
        ServiceError: its files cannot be listed, and no flag says how many there are.
    """
    from mlctl.finishing.split import Split, by_folders
    from mlctl.kinds.resource import is_local, local_path
    from mlctl.rehearsal.inputs import Inputs

    if text is None:
        return Split((), reason="there is none")
    if is_local(text):
        with refusals():
            inputs = Inputs.find(expanded(local_path(text)))
        return Split(inputs.names, str(inputs.root.resolve()))
    try:
        with session.backend() as backend:
            assert isinstance(backend, SupportsFolders)  # as all but the simulated cloud
            uri = backend.folders.locate(text)
            return by_folders(uri, backend.folders.files(uri))
    except Permanent as error:
        if work.files is None:
            text = f"{error.message}; --files N says how many there are, and they stay in one shard"
            raise Permanent(error.code, text, status=error.status) from None
        return Split((), reason=error.message)


def _folders(split: Split, shards: int | None) -> int:
    """How many shards a stored input has.

    Raises:
        InvalidValue: it cannot have so many.
    """
    if shards == 1:
        return 1
    if not split.folders:
        if shards is None:
            return 1
        why = f"the input cannot be split, since {split.reason}"
        hint = "give 1 or auto, a local folder, or put the files into folders beneath it"
        raise InvalidValue(f"{why}; {hint}", flag="--shards")
    if shards not in (None, len(split.folders)):
        why = f"a shard is a folder beneath the input, of which there are {len(split.folders)}"
        raise InvalidValue(f"{why}: give that number, 1 or auto", flag="--shards")
    return len(split.folders)


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
    with under_lease(backend, LeaseRequest(FINISH + name, me), threading.Event()) as leased:
        yield leased


def _controller(backend: Backend, name: str, note: Callable[[Mapping[str, Any]], None]) -> Any:
    from mlctl.finishing.cloud import WorkspaceCloud
    from mlctl.finishing.controller import Controller
    from mlctl.finishing.progress import Progress

    journals = _journals(backend)
    progress = Progress.of(_records(journals, name))
    there = WorkspaceCloud(backend, jobs_of(backend))

    def append(record: Mapping[str, Any]) -> None:
        there.patiently(lambda: journals.append(name, record))

    return Controller(progress, there, append, note)


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
            tell(record)

    controller = _controller(backend, name, note)
    _check_source(controller.progress)
    try:
        with _shown(session, backend, controller, output) as tell:
            outcome: Outcome = controller.carry_out()
    except KeyboardInterrupt:
        if sys.stdin.isatty() and session.confirmed("\nCancel what runs? (n leaves it running)"):
            controller.cancel()
            return Exit.CANCELLED
        session.say(f"Left as it is: mlctl finish resume {name}")
        return Exit.CANCELLED
    except ServiceError:
        session.say(f"Left as it is, with what runs: mlctl finish resume {name}")
        raise
    progress: Progress = controller.progress
    code = _CODES[outcome.value]
    if progress.is_done and progress.order.job is not None:
        last = progress.runs[-1].name
        session.note(f"its outputs are those of its last run: mlctl job download -n {last} --all")
    elif progress.is_done:
        folder = results or Path(f"{name}-results")
        code = _merged(session, backend, progress, folder) or code
    data = _summary(progress)
    if notify is not None:
        subprocess.run(notify, shell=True, input=json.dumps(data), text=True, check=False)  # noqa: S602
    if output is FinishFormat.HUMAN:
        session.out(render.summary(data))
    return code


@contextmanager
def _shown(
    session: Session, backend: Backend, controller: Any, output: FinishFormat
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """What shows each record to people: a line, and on a terminal how the job stands then."""
    progress: Progress = controller.progress

    def line(record: Mapping[str, Any]) -> str:
        return clean(render.live(record, _summary(progress)))

    if output is FinishFormat.JSON or not sys.stderr.isatty():
        yield lambda record: session.say(line(record))
        return
    from mlctl.render.finish_view import viewing

    with viewing(sys.stderr, controller.cloud.now) as view:
        scenario = _scenario(backend, progress.order)
        looked: float = -_LOOK_S
        last: Outlook | None = None

        def show(record: Mapping[str, Any]) -> None:
            nonlocal looked, last
            view.say(line(record))
            if monotonic() - looked >= _LOOK_S:
                last = _outlook(scenario, progress, controller.cloud.now())
                looked = monotonic()
            view.show(_summary(progress), last._asdict() if last is not None else None)

        yield show


_LOOK_S = 1.0  # between two outlooks, which take a while


def _outlook(scenario: Scenario | None, progress: Progress, now: float) -> Outlook | None:
    from mlctl.finishing.outlook import outlook

    return outlook(scenario, progress, now) if scenario is not None else None


def _scenario(backend: Backend, order: Order) -> Scenario | None:
    """What the forecast knows of the job, as its deployment is now; None where it knows nothing."""
    if order.job is not None:
        return None
    from mlctl.cli.forecast.subject import with_live
    from mlctl.config.graph import Graph
    from mlctl.forecast.batch.reading import Wanted, read
    from mlctl.forecast.fields import ForecastError, StatedPrices
    from mlctl.kinds import Address
    from mlctl.workload import Workload

    address = Address("batch-deployment", order.deployment, order.endpoint)
    workload = Workload(**{**order.workload, "files": sum(order.sizes)})
    prices = StatedPrices(order.dedicated_price, order.low_price / order.dedicated_price)
    try:
        graph = with_live(Graph({}, ()), backend, address)
        subject = read(graph, Wanted(workload, deployment=address, prices=prices))
        return subject.scenario.under(weather_of(order.weather).processes())
    except (ForecastError, ServiceError, UsageError, ZeroDivisionError):
        return None


def _check_source(progress: Progress) -> None:
    """Refuse to go on where files are to be sent that are on another machine.

    Raises:
        Permanent: so it is.
    """
    order = progress.order
    is_whole = progress.uploaded or progress.outcome is not None
    if order.upload and not is_whole and not files.is_folder(Path(order.source)):
        text = (
            f"the files of `{order.source}` were not all sent when the controller ended, and there"
            f" is no such folder here: go on where it is, or `mlctl finish cancel {order.name}`"
        )
        raise Permanent("FilesElsewhere", text)


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


def _document(
    records: list[Mapping[str, Any]], jobs: Jobs, backend: Backend, *, forecasts: bool = False
) -> dict[str, Any]:
    """A job as data; with `forecasts` what is still to come of one that goes on."""
    from mlctl.finishing.cloud import WorkspaceCloud
    from mlctl.finishing.progress import Progress

    progress = Progress.of(records)
    data, now = _summary(progress), WorkspaceCloud(backend, jobs).now()
    data |= {"forecast": records[0].get("forecast") or [], "now": now, "outlook": None}
    if forecasts and progress.outcome is None:
        coming = _outlook(_scenario(backend, progress.order), progress, now)
        data["outlook"] = coming._asdict() if coming is not None else None
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
        "nodes": order.nodes,
        "began": progress.began,
        "shards": {"total": len(order.sizes), "done": progress.shard},
        "files": {"total": sum(order.sizes), "left": progress.files_left},
        "unit": "shard" if order.job is None else "step",
        "spent": progress.spent,
        "switches": progress.switches,
        "runs": [
            {**asdict(run), "tier": run.tier.value, "usd": order.cost(run.node_s, run.tier)}
            for run in progress.runs
        ],
        "made": list(progress.twins),
    }
