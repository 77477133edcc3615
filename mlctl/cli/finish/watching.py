"""Show a job by its records while it is carried out, with a forecast of the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Journals, SupportsJournals
from mlctl.cli.az.jobs import jobs_of
from mlctl.cli.finish.options import FinishFormat
from mlctl.cli.forecast.args import weather_of
from mlctl.cli.forecast.subject import with_live
from mlctl.cli.shell import Session, UsageError
from mlctl.config.graph import Graph
from mlctl.dataclasses import asdict, replace
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller, RunState
from mlctl.finishing.order import Order
from mlctl.finishing.outlook import Outlook, build_job_study, forecast_outlook
from mlctl.finishing.progress import Progress, Record
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.batch.study import Study
from mlctl.forecast.fields import ForecastError, StatedPrices
from mlctl.forecast.scenario import Scenario
from mlctl.kinds import Address
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import NotFound, ServiceError
from mlctl.workload import Workload


def get_journals(backend: Backend) -> Journals:
    """Return the journals of a workspace."""
    assert isinstance(backend, SupportsJournals)  # every backend has them
    return backend.journals


def read_records(journals: Journals, name: str) -> list[Record]:
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
        return Study(_read_scenario(backend, order).under(weather))
    except (ForecastError, ServiceError, UsageError, ZeroDivisionError):
        return None


def _read_scenario(backend: Backend, order: Order) -> Scenario:
    address = Address("batch-deployment", order.deployment, order.endpoint)
    workload = Workload(**{**order.workload, "files": sum(order.sizes)})
    prices = StatedPrices(order.dedicated_price, order.low_price / order.dedicated_price)
    graph = with_live(Graph({}, ()), backend, address)
    return read(graph, Wanted(workload, deployment=address, prices=prices)).scenario
