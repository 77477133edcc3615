"""How a job that is being finished is shown as it goes on, with what is still to come."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from mlctl.backends.ports.backend import Backend
from mlctl.cli.finish.options import FinishFormat
from mlctl.cli.finish.records import summary
from mlctl.cli.forecast.args import weather_of
from mlctl.cli.forecast.subject import with_live
from mlctl.cli.shell import Session, UsageError
from mlctl.config.graph import Graph
from mlctl.dataclasses import replace
from mlctl.finishing.controller import Controller, Look
from mlctl.finishing.order import Order
from mlctl.finishing.outlook import Outlook, outlook, study_of_job
from mlctl.finishing.progress import Progress, Record
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.batch.study import Study
from mlctl.forecast.fields import ForecastError, StatedPrices
from mlctl.forecast.scenario import Scenario
from mlctl.kinds import Address
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import ServiceError
from mlctl.workload import Workload

Tell = Callable[[Record], None]
_LOOK_S = 1.0  # between two outlooks, which take a while


@contextmanager
def shown(
    session: Session, backend: Backend, controller: Controller, output: FinishFormat
) -> Iterator[Tell]:
    """What shows each record to people: a line, and on a terminal how the job stands then."""
    progress = controller.progress

    def line(record: Record) -> str:
        return clean(render.live(record, summary(progress)))

    if output is FinishFormat.JSON:
        yield lambda record: session.out_data(json.dumps(record))
        return
    if not sys.stderr.isatty():
        yield lambda record: session.say(line(record))
        return
    from mlctl.render.finish_view import viewing

    with viewing(sys.stderr, controller.cloud.now) as view:
        study = study_of(backend, progress.order)
        looked: float = -_LOOK_S
        last: Outlook | None = None

        def update(look: Look | None = None) -> None:
            nonlocal looked, last
            is_due = monotonic() - looked >= _LOOK_S
            if is_due:
                last = outlook_of(study, progress, controller.cloud.now(), look)
                looked = monotonic()
            if is_due or look is None:
                view.show(summary(progress, look), last._asdict() if last is not None else None)

        def show(record: Record) -> None:
            view.say(line(record))
            update()

        controller.cloud.looked = update
        yield show


def outlook_of(
    study: Study | None, progress: Progress, now: float, look: Look | None = None
) -> Outlook | None:
    """What is still to come of a job; None where the forecast knows nothing of it."""
    return outlook(study, progress, now, look) if study is not None else None


def study_of(backend: Backend, order: Order) -> Study | None:
    """What the forecast knows of the job, as its deployment is now; None where it knows nothing."""
    try:
        weather = weather_of(order.weather).processes()
        if order.job is not None or order.whole:
            study: Study = study_of_job(order)
            return replace(study, scenario=study.scenario.under(weather))
        return Study(_scenario(backend, order).under(weather))
    except (ForecastError, ServiceError, UsageError, ZeroDivisionError):
        return None


def _scenario(backend: Backend, order: Order) -> Scenario:
    address = Address("batch-deployment", order.deployment, order.endpoint)
    workload = Workload(**{**order.workload, "files": sum(order.sizes)})
    prices = StatedPrices(order.dedicated_price, order.low_price / order.dedicated_price)
    graph = with_live(Graph({}, ()), backend, address)
    return read(graph, Wanted(workload, deployment=address, prices=prices)).scenario
