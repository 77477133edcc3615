"""`mlctl compute metrics` and `mlctl local usage`: what nodes did, and what that costs."""

from __future__ import annotations

import inspect
import sys
from typing import Annotated, Any

import typer

from mlctl.backends.ports.metrics import USUAL, SupportsMetrics
from mlctl.cli.az.common_flags import QUERY
from mlctl.cli.durations import duration
from mlctl.cli.exits import Exit
from mlctl.cli.output import Drawn, OutputFormat, checked, print_data
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.command import add, flag_values, option
from mlctl.cli.session import Session
from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent

_RATIO = 0.20
_RATIO_SOURCE = "around 20% of the original price, as hi-ml's page on low-priority VMs says"
_METRICS = (
    inspect.Parameter(
        "cluster",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            str | None, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")
        ],
    ),
    option("name", "--name", "-n", metavar="NAME", help="Name of the cluster, as a flag."),
    option(
        "metric",
        "--metric",
        type_=list[str] | None,
        metavar="NAME ...",
        help="Active, Idle, Leaving, Preempted, Unusable or Total, each of Nodes or Cores; several"
        " with commas between. Preempted Nodes and Preempted Cores unless given.",
    ),
    option(
        "interval", "--interval", metavar="DURATION", help="Length of an interval: 1m, 5m, PT1H."
    ),
    option(
        "span", "--span", metavar="DURATION", help="How far back; to the first node unless given."
    ),
    option("output", "--output", "-o", type_=Drawn, help="Output format.", default=Drawn.TABLE),
    QUERY,
)
_METRICS_TEXT = (
    "Show what the nodes of a cluster did, as Azure Monitor counts it.\n\n"
    "In tables and charts a number is the total of an interval: of preempted nodes how many were"
    " lost, of the others what is measured every minute, summed up. JSON has averages, too."
)


def register(app: typer.Typer) -> None:
    """Add `metrics` to the commands of clusters."""
    add(app, "metrics", metrics, _METRICS, _METRICS_TEXT)


def metrics(session: Session, **words: Any) -> Exit:
    """Print the metrics of a cluster."""
    from mlctl.render import metrics as render

    checked(words["query"])
    cluster = words["cluster"] or words["name"]
    if cluster is None or (words["cluster"] and words["name"]):
        raise UsageError("name the cluster, once: mlctl compute metrics CLUSTER")
    said = [one.strip() for word in flag_values(words["metric"] or []) for one in word.split(",")]
    times = {
        name: None if words[name] is None else duration(words[name])
        for name in ("interval", "span")
    }
    with session.backend() as backend:
        if not isinstance(backend, SupportsMetrics):
            raise Permanent("NoMetrics", f"mlctl reads no metrics on the {backend.name} backend")
        names = [one for one in said if one] or USUAL
        found = backend.metrics(Address("compute", cluster), names, **times)
    match words["output"]:
        case Drawn.CHART:
            encoding = sys.stdout.encoding or ""
            plain = not encoding.casefold().startswith("utf")
            session.out(render.chart(found, width=session.width, plain=plain))
        case Drawn.TABLE if words["query"] is None:
            print_data(session, render.rows(found), OutputFormat.TABLE, None)
        case other:
            print_data(session, render.document(found), OutputFormat(other.value), words["query"])
    return Exit.OK
