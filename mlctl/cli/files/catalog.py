"""`mlctl catalog show`: what nodes cost, as far as it is known, since when and from where."""

from __future__ import annotations

from typing import Annotated

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.declare import ArgumentSpec, CommandGroup, OptionSpec
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data
from mlctl.schema.text import nearest


def register(app: CommandGroup, verb: str) -> None:
    """Add the command."""
    group = CommandGroup(help="Dated facts about Azure: what nodes cost.")
    command(group, "show")(show)
    app.groups[verb] = group


def show(
    session: Session,
    size: Annotated[
        str | None, ArgumentSpec(metavar="[SIZE]", help="A VM size; all unless given.")
    ] = None,
    region: Annotated[
        str | None, OptionSpec("--region", metavar="REGION", help="A region; all unless given.")
    ] = None,
    output: Output = OutputFormat.TABLE,
    query: Query = None,
) -> Exit:
    """List the prices of VM sizes by region, USD an hour, dedicated and as Spot.

    Low-priority nodes are Spot VMs. The list is that of mlctl.yml (`prices: FILE`), else the one
    that mlctl brings along; plans, forecasts and the simulated cloud read it. What is not known is
    null.
    """
    own = session.settings.project.price_list()
    price_list = own or prices.listed()
    sizes = {name for name, _ in price_list.prices}
    if size is not None and size.casefold() not in sizes:
        near = nearest(size.casefold(), sorted(sizes))
        hint = f"; did you mean `{near}`?" if near else ""
        raise InvalidValue(f"no price of `{size}` is known{hint}", flag="SIZE")
    place = None if region is None else catalog.region(region)
    data: list[Data] = [
        {
            "size": known.name if (known := catalog.find_size(name)) else name,
            "region": at,
            "dedicated": price.dedicated,
            "spot": price.spot,
        }
        for (name, at), price in price_list.prices.items()
        if size is None or size.casefold() == name
        if place in (None, at)
    ]
    session.note(f"USD, {prices.OF}, {price_list.as_of.isoformat()}: {price_list.source}")
    print_data(session, data, output, query)
    return Exit.OK
