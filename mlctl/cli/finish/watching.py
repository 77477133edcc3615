"""How a job that is being finished is shown as it goes on, with what is still to come."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from mlctl.backends.ports.backend import Backend
from mlctl.cli.finish.options import FinishFormat
from mlctl.cli.finish.records import Record, summary
from mlctl.cli.forecast.args import weather_of
from mlctl.cli.shell import Session, UsageError
from mlctl.render import finish as render
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import ServiceError

if TYPE_CHECKING:
    from mlctl.finishing.controller import Controller
    from mlctl.finishing.order import Order
    from mlctl.finishing.outlook import Outlook
    from mlctl.finishing.progress import Progress
    from mlctl.forecast.scenario import Scenario

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
        scenario = scenario_of(backend, progress.order)
        looked: float = -_LOOK_S
        last: Outlook | None = None

        def show(record: Record) -> None:
            nonlocal looked, last
            view.say(line(record))
            if monotonic() - looked >= _LOOK_S:
                last = outlook_of(scenario, progress, controller.cloud.now())
                looked = monotonic()
            view.show(summary(progress), last._asdict() if last is not None else None)

        yield show


def outlook_of(scenario: Scenario | None, progress: Progress, now: float) -> Outlook | None:
    """What is still to come of a job; None where the forecast knows nothing of it."""
    from mlctl.finishing.outlook import outlook

    return outlook(scenario, progress, now) if scenario is not None else None


def scenario_of(backend: Backend, order: Order) -> Scenario | None:
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
