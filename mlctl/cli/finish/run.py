"""Begin, carry out, show and end a job, under the lease of its only controller."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from mlctl import files
from mlctl.applying.lease import LeaseRequest, holder, under_lease
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import FINISH, JournalStore, SupportsJournals
from mlctl.cli.az.job_verify import write_outputs
from mlctl.cli.az.jobs import jobs_of
from mlctl.cli.finish.options import FinishFormat, Offer, ReportArgs
from mlctl.cli.forecast.subject import with_live
from mlctl.cli.local.flags import weather_of
from mlctl.cli.shell import Exit, InvalidValue, Session, UsageError
from mlctl.config.graph import Graph
from mlctl.dataclasses import asdict, replace
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller
from mlctl.finishing.order import Order, merge
from mlctl.finishing.outlook import Outlook, build_job_study, forecast_outlook
from mlctl.finishing.progress import Progress, Record, RunState
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.batch.study import Study
from mlctl.forecast.fields import ForecastError, StatedPrices
from mlctl.kinds import Address
from mlctl.rehearsal.inputs import Inputs
from mlctl.rehearsal.scoring.verify import verify
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted
from mlctl.service_errors import NotFound, Permanent, ServiceError
from mlctl.workload import Workload


def get_journals(backend: Backend) -> JournalStore:
    """Return the journals of a workspace."""
    assert isinstance(backend, SupportsJournals)  # every backend has them
    return backend.journals


def read_records(journals: JournalStore, name: str) -> list[Record]:
    """Read the journal of a job."""
    records = journals.read(name)
    if not records:
        raise NotFound(
            "FinishNotFound", f"there is no job `{name}`: see mlctl finish list", status=404
        )
    return records


def get_cloud(backend: Backend) -> WorkspaceCloud:
    """Return the cloud of a workspace's backend."""
    return WorkspaceCloud(backend, jobs_of(backend))


def describe(records: list[Record], now: float) -> dict[str, Any]:
    """Return a job as data at a moment; its outlook is left empty."""
    forecast = records[0].get("forecast") or []
    return summarize(Progress.from_records(records)) | {
        "forecast": forecast,
        "now": now,
        "outlook": None,
    }


def summarize(progress: Progress, state: RunState | None = None) -> dict[str, Any]:
    """Return a job as data; `state`, if given, adds the steps in checkpoints of its run."""
    order, left = progress.order, progress.files_left
    if state is not None and state.saved:
        left = min(left, sum(order.sizes) - state.saved)
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
        "files": {"total": sum(order.sizes), "left": left},
        "unit": "step" if order.checkpoint else "run" if order.whole else "shard",
        "spent": progress.spent,
        "switches": progress.switches,
        "runs": [
            {**asdict(run), "tier": run.tier.value, "usd": order.cost(run.node_s, run.tier)}
            for run in progress.runs
        ],
        "made": list(progress.twins),
    }


OnRecord = Callable[[Record], None]
_LOOK_S = 1.0  # between two outlooks, which are slow to compute


@contextmanager
def show_progress(
    session: Session, backend: Backend, controller: Controller, output: FinishFormat
) -> Iterator[OnRecord]:
    """Yield a function that shows each record: as a line, and on a terminal in a live view."""
    progress = controller.progress

    def line(record: Record) -> str:
        return clean(render.live(record, summarize(progress)))

    if output == "json":
        yield lambda record: session.out_data(json.dumps(record))
        return
    if not sys.stderr.isatty():
        yield lambda record: session.say(line(record))
        return
    from mlctl.render.finish_view import viewing

    with viewing(sys.stderr, controller.cloud.now) as view:
        study = build_study(backend, progress.order)
        looked: float = -_LOOK_S
        last: Outlook | None = None

        def update(state: RunState | None = None) -> None:
            nonlocal looked, last
            is_due = monotonic() - looked >= _LOOK_S
            if is_due:
                last = read_outlook(study, progress, controller.cloud.now(), state)
                looked = monotonic()
            if is_due or state is None:
                view.show(summarize(progress, state), last._asdict() if last is not None else None)

        def show(record: Record) -> None:
            view.say(line(record))
            update()

        controller.cloud.on_state = update
        yield show


def read_outlook(
    study: Study | None, progress: Progress, now: float, state: RunState | None = None
) -> Outlook | None:
    """Forecast the rest of a job; None if the job cannot be forecast."""
    return forecast_outlook(study, progress, now, state) if study is not None else None


def build_study(backend: Backend, order: Order) -> Study | None:
    """Build the study of the job as its deployment is now; None if it cannot be forecast."""
    try:
        weather = weather_of(order.weather).processes()
        if order.job is not None or order.whole:
            study: Study = build_job_study(order)
            return replace(study, scenario=study.scenario.under(weather))
        address = Address("batch-deployment", order.deployment, order.endpoint)
        workload = Workload(**{**order.workload, "files": sum(order.sizes)})
        prices = StatedPrices(order.dedicated_price, order.low_price / order.dedicated_price)
        graph = with_live(Graph({}, ()), backend, address)
        return Study(
            read(graph, Wanted(workload, deployment=address, prices=prices)).scenario.under(weather)
        )
    except (ForecastError, ServiceError, UsageError, ZeroDivisionError):
        return None


def results_folder(order: Order, stated: Path | None, *, is_new: bool = False) -> Path:
    """Return the folder for a job's results; a new job needs an empty or missing one."""
    folder = stated or Path(f"{order.name}-results")
    if folder.exists() and not (folder.is_dir() and not (is_new and any(folder.iterdir()))):
        raise InvalidValue(f"`{folder}` exists and is not an empty folder", flag="--results")
    return folder


def collect_results(
    session: Session, backend: Backend, progress: Progress, folder: Path
) -> Exit | None:
    """Merge the results into a folder, and verify them; return an exit code if that fails."""
    if folder.is_dir() and any(folder.iterdir()):
        session.note(f"the results are already in {clean(str(folder))}")
        return None
    count = _merge(backend, progress, folder)
    session.note(f"the results of {counted(count, 'shard')} are in {clean(str(folder))}")
    return _verify(session, progress.order, folder) if progress.order.files else None


def _merge(backend: Backend, progress: Progress, folder: Path) -> int:
    """Merge the results of all shards; return their number."""
    order, jobs = progress.order, jobs_of(backend)
    runs = sorted((run for run in progress.runs if run.completed), key=lambda run: run.shard)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mlctl-finish-", dir=folder.parent) as scratch:
        parts = [Path(scratch, run.name) for run in runs]
        for run, part in zip(runs, parts, strict=True):
            part.mkdir()
            write_outputs(jobs, run.name, part)
        batches = [-(-size // order.mini_batch_size) for size in order.sizes]
        whole = Path(scratch, "whole")
        whole.mkdir()
        merge(parts, batches, order.output_file, whole)
        whole.rename(folder)  # all of it or nothing
    return len(runs)


def _verify(session: Session, order: Order, folder: Path) -> Exit | None:
    findings = list(verify(folder, Inputs(Path(), order.files), size=order.mini_batch_size))
    for finding in findings:
        session.say(clean(f"ERROR: {finding.message}"))
    if not findings:
        session.note(f"each of {len(order.files)} inputs has its rows, and no row occurs twice")
    return Exit.ERROR if findings else None


_CODES = {
    "done": Exit.OK,
    "late": Exit.LATE,
    "over budget": Exit.OVER_BUDGET,
    "impossible": Exit.IMPOSSIBLE,
    "cancelled": Exit.CANCELLED,
}


def begin(session: Session, offer: Offer, report_args: ReportArgs, *, yes: bool) -> Exit:
    """Show the offer, ask, and carry it out."""
    order = offer.order
    if report_args.output == "human":
        session.out(render.offer(order.document(), offer.compared, width=session.width))
    if not (yes or session.confirmed("Begin?")):
        return Exit.CANCELLED
    with hold_lease(session, order.name) as backend:
        _begin_journal(backend, offer, report_args)
        return carry_out(session, backend, order.name, report_args)


def _begin_journal(backend: Backend, offer: Offer, report_args: ReportArgs) -> None:
    """Check that the name is free, prepare the workspace, and begin the journal."""
    order, journals, cloud = offer.order, get_journals(backend), get_cloud(backend)
    if journals.read(order.name):
        raise Permanent("NameTaken", f"`{order.name}` already exists: choose another --name")
    if cloud.find(order.name) is not None:
        raise Permanent("NameTaken", f"a job `{order.name}` already exists: choose another --name")
    if order.job is None and not order.whole:
        results_folder(order, report_args.results, is_new=True)
    offer.prepare(backend)
    if order.job is None:
        order = replace(order, version=cloud.version(order))
    first = {"at": cloud.now(), "event": "begun", "order": order.document()}
    journals.append(order.name, {**first, "forecast": offer.compared})


@contextmanager
def hold_lease(session: Session, name: str) -> Iterator[Backend]:
    """Yield a backend that writes under the job's lease, which one controller holds at a time."""
    request = LeaseRequest(FINISH + name, holder(f"mlctl finish {name}", session.environment))
    with session.backend() as backend, under_lease(backend, request, threading.Event()) as leased:
        yield leased


def build_controller(backend: Backend, name: str) -> Controller:
    """Build the controller of a job from its journal."""
    journals, cloud = get_journals(backend), get_cloud(backend)

    def append(record: Record) -> None:
        cloud.retry_transient(lambda: journals.append(name, record))

    return Controller(Progress.from_records(read_records(journals, name)), cloud, append)


def carry_out(session: Session, backend: Backend, name: str, report_args: ReportArgs) -> Exit:
    """Run a job to its end, and collect its results."""
    controller = build_controller(backend, name)
    _check_source(controller.progress)
    results_folder(controller.progress.order, report_args.results)
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        with show_progress(
            session, backend, controller, report_args.output
        ) as controller.on_record:
            controller.carry_out()
    except KeyboardInterrupt as interrupt:
        asks = sys.stdin.isatty() and not isinstance(interrupt, _Terminated)
        if asks and session.confirmed("\nCancel the run? (n leaves it running)"):
            controller.cancel()
        else:
            session.say(f"The run continues. To resume: mlctl finish resume {name}")
        return Exit.CANCELLED
    except ServiceError:
        session.say(f"Stopped; a run may continue. To resume: mlctl finish resume {name}")
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)
    return _report_end(session, backend, controller.progress, report_args)


class _Terminated(KeyboardInterrupt): ...


def _terminate(*_: object) -> None:
    """Stop on SIGTERM without a question; the lease is released, runs continue."""
    raise _Terminated


def _report_end(
    session: Session, backend: Backend, progress: Progress, report_args: ReportArgs
) -> Exit:
    """Fetch the results of a job that has ended, and report its outcome."""
    assert progress.outcome is not None
    code = _CODES[progress.outcome.value]
    if progress.is_done and (progress.order.job is not None or progress.order.whole):
        last = progress.runs[-1].name
        session.note(f"its outputs are those of its last run: mlctl job download -n {last} --all")
    elif progress.is_done:
        folder = results_folder(progress.order, report_args.results)
        code = collect_results(session, backend, progress, folder) or code
    data = summarize(progress)
    if report_args.notify is not None:
        subprocess.run(  # noqa: S602 - what the user wants to be run
            report_args.notify, shell=True, input=json.dumps(data), text=True, check=False
        )
    if report_args.output == "human":
        session.out(render.summary(data))
    return code


def _check_source(progress: Progress) -> None:
    """Refuse to resume if files still to be uploaded are on another machine."""
    order = progress.order
    is_whole = progress.uploaded or progress.outcome is not None
    if order.upload and not is_whole and not files.is_folder(Path(order.source)):
        text = (
            f"not all files of `{order.source}` were uploaded when the controller stopped, and the"
            f" folder is missing here: resume where it is, or `mlctl finish cancel {order.name}`"
        )
        raise Permanent("FilesElsewhere", text)
