"""`mlctl local usage`: node-hours and what they cost."""

from __future__ import annotations

from typing import Annotated

import typer

from mlctl import catalog
from mlctl.cli.exits import Exit
from mlctl.cli.local.cloud import opened
from mlctl.cli.output import Output, OutputFormat, Query, print_data
from mlctl.cli.session import Session
from mlctl.pointer import Data

_RATIO = 0.20
_RATIO_SOURCE = "around 20% of the original price, as hi-ml's page on low-priority VMs says"


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
    ] = _RATIO,
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
                "kind": one.kind,
                "name": one.name,
                "tier": one.tier,
                "node_hours": round(one.node_hours, 6),
                "cost": "unknown" if one.cost is None else round(one.cost, 6),
                "gone": one.gone,
            }
            for one in billing.of_workspace(cloud.handle, ratio)
        ]
    session.note(
        f"USD, of {catalog.PRICES_AS_OF.isoformat()}, eastus; low priority at {ratio:g} of that"
        + (f": {_RATIO_SOURCE}" if ratio == _RATIO else "")
    )
    print_data(session, data, output, query)
    return Exit.OK
