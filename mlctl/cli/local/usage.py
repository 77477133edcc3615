"""`mlctl local usage`: node-hours and what they cost."""

from __future__ import annotations

from typing import Annotated

import typer

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.cli.local.cloud import opened
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data


def usage(
    session: Session,
    ratio: Annotated[
        float,
        typer.Option(
            "--low-priority-ratio",
            min=0,
            max=1,
            metavar="R",
            help="Price of a low-priority node to that of a dedicated one (0.20: hi-ml).",
        ),
    ] = prices.LOW_PRIORITY_RATIO,
    output: Output = OutputFormat.TABLE,
    query: Query = None,
) -> Exit:
    """List node-hours and cost by tier of every cluster, pool and job.

    A job's are part of its cluster's. Prices are those of the catalog, dedicated, pay as you go; a
    price that is not known is "unknown", never 0.
    """
    from mlctl.simulator.control_plane import billing

    with opened(session) as cloud:
        data: list[Data] = [
            {
                "kind": row.kind,
                "name": row.name,
                "tier": row.tier,
                "node_hours": round(row.node_hours, 6),
                "cost": "unknown" if row.cost is None else round(row.cost, 6),
                "gone": row.gone,
            }
            for row in billing.summarize(cloud.handle, ratio)
        ]
    session.note(
        f"USD, {prices.OF}, {catalog.PRICES_AS_OF.isoformat()}; low priority at {ratio:g} of that"
        + (f" ({prices.LOW_PRIORITY_SOURCE})" if ratio == prices.LOW_PRIORITY_RATIO else "")
    )
    print_data(session, data, output, query)
    return Exit.OK
