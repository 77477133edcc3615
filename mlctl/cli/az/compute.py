"""`mlctl compute start | stop | restart` of compute instances, and `metrics` of clusters."""

from __future__ import annotations

import sys
from typing import Annotated

from mlctl.backends.ports.backend import SupportsPower
from mlctl.backends.ports.monitor import DEFAULT_METRICS, SupportsMetrics
from mlctl.cli.az.args import PolicyArgs
from mlctl.cli.az.read import read_live
from mlctl.cli.shell import Session, TypedFlag, UsageError, argument, flag
from mlctl.cli.shell.command import Commands, duration, flag_values
from mlctl.cli.shell.output import ChartOutputFormat, Query, print_data
from mlctl.cli.shell.workflow import settle_s
from mlctl.kinds import Address, kind_of
from mlctl.service_errors import Permanent
from mlctl.workflow.model import wait_until_settled

_Name = Annotated[str, flag("--name", "-n", metavar="NAME")]
_NoWait = Annotated[bool, flag("--no-wait", default=False)]


def start(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> None:
    """Start a compute instance."""
    _run(session, name, "start", wait=not no_wait)


def stop(session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs) -> None:
    """Stop a compute instance; its disk is kept."""
    _run(session, name, "stop", wait=not no_wait)


def restart(
    session: Session, name: _Name, *, no_wait: _NoWait = False, _policy: PolicyArgs
) -> None:
    """Restart a compute instance."""
    _run(session, name, "restart", wait=not no_wait)


def _run(session: Session, name: str, action: str, *, wait: bool) -> None:
    with session.backend() as backend:
        if not isinstance(backend, SupportsPower):
            text = f"the {backend.name} backend has no compute instances"
            raise Permanent("NoInstances", text)
        live = read_live(backend, Address("compute", name))
        if not kind_of(live.address).arm.within:
            text = f"{name} is a cluster, which scales by itself: there is nothing to {action}"
            raise Permanent("NotAnInstance", text)
        # A script starts what it has stopped without waiting.
        wait_until_settled(
            backend, {live.address: live}, timeout=settle_s(session), note=session.note
        )
        operation = backend.power(live.address, action)
        if wait:
            operation.wait()


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


COMMANDS: dict[str, Commands] = {
    "compute": {"metrics": metrics, "start": start, "stop": stop, "restart": restart}
}
