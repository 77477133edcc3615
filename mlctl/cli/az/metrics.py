"""`mlctl compute metrics`: what the nodes of a cluster did."""

from __future__ import annotations

import sys

from mlctl.backends.ports.monitor import DEFAULT_METRICS, Series, SupportsMetrics
from mlctl.cli.shell import Session, TypedFlag, UsageError, argument, flag
from mlctl.cli.shell.command import duration, flag_values
from mlctl.cli.shell.output import ChartOutputFormat, Query, print_data
from mlctl.kinds import Address
from mlctl.service_errors import Permanent


def metrics(
    session: Session,
    cluster: str | None = argument(default=None, metavar="CLUSTER"),
    name: str | None = flag("-n", metavar="NAME"),
    metric: list[TypedFlag] | None = flag(metavar="NAME ..."),
    interval: str | None = flag(metavar="DURATION"),
    span: str | None = flag(metavar="DURATION"),
    output: ChartOutputFormat = flag("-o", default="table"),
    query: Query = None,
) -> None:
    """Show node metrics of a cluster, as in Azure Monitor."""
    compute = cluster or name
    if compute is None or (cluster and name):
        raise UsageError("name the cluster, once: mlctl compute metrics CLUSTER")
    typed = [name_.strip() for text in flag_values(metric or ()) for name_ in text.split(",")]
    names = [name_ for name_ in typed if name_] or DEFAULT_METRICS
    interval_s, span_s = (None if text is None else duration(text) for text in (interval, span))
    with session.backend() as backend:
        if not isinstance(backend, SupportsMetrics):
            raise Permanent("NoMetrics", f"mlctl cannot read metrics on the {backend.name} backend")
        series = backend.metrics(
            Address("compute", compute), names, interval=interval_s, span=span_s
        )
    _print(session, series, output, query)


def _print(
    session: Session, series: list[Series], output: ChartOutputFormat, query: str | None
) -> None:
    from mlctl.render.cloud import metrics as render

    match output:
        case "chart":
            encoding = sys.stdout.encoding or ""
            plain = not encoding.casefold().startswith("utf")
            session.out(render.chart(series, width=session.width, plain=plain))
        case "table" if query is None:
            print_data(session, render.rows(series), "table", None)
        case _:
            print_data(session, render.document(series), output, query)
