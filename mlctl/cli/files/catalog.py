"""`mlctl catalog`: what nodes cost, as far as it is known, since when and from where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlctl import catalog, files
from mlctl.catalog import prices
from mlctl.catalog.prices import Price, pair_of
from mlctl.cli.shell import Group, InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.cli.shell.rule_choice import new_report
from mlctl.cli.shell.scope import LOCATION, price_cache
from mlctl.cli.shell.streams import OutputError
from mlctl.kinds.values import effective
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted, nearest

_NAMED = 5  # sizes that a note names
_NOT_ALLOWED = (401, 403)


def show(
    session: Session,
    size: str | None = argument(default=None, metavar="SIZE"),
    region: str | None = flag(metavar="REGION"),
    output: Output = "table",
    query: Query = None,
) -> None:
    """List VM prices by region in USD per hour, dedicated and Spot, with Spot eviction rates."""
    price_list = session.price_list
    sizes = {name for name, _ in price_list.every_price}
    if size is not None and size.casefold() not in sizes:
        near = nearest(size.casefold(), sorted(sizes))
        hint = f"; did you mean `{near}`?" if near else ""
        raise InvalidValue(f"no price of `{size}` is known{hint}", flag="SIZE")
    place = None if region is None else catalog.region(region)
    shown = {
        (name, at): price
        for (name, at), price in sorted(price_list.every_price.items())
        if size is None or size.casefold() == name
        if place in (None, at)
    }
    data: list[Data] = [
        {
            "size": vm_size.name if (vm_size := catalog.find_size(name)) else name,
            "region": at,
            "dedicated": price.dedicated,
            "spot": price.spot,
            "eviction_rate": price.eviction_rate or None,
        }
        for (name, at), price in shown.items()
    ]
    for origin in dict.fromkeys(price_list.of(*pair).origin for pair in shown):
        day, _, source = origin.partition(", ")
        session.note(clean(f"USD, {prices.OF}, {day}: {source}"))
    print_data(session, data, output, query)


def refresh(
    session: Session,
    sizes: list[str] | None = argument(default=None, metavar="SIZE..."),
    region: list[str] | None = flag(metavar="REGION"),
    every: bool = flag("--all", default=False),
    out: Path | None = flag(metavar="FILE"),
) -> None:
    """Fetch current VM prices from Azure and write them to a price list."""
    from mlctl.catalog import retail, spot_tables

    if every and sizes:
        raise UsageError("--all and SIZE exclude each other.")
    names, places = list(sizes or ()), [catalog.region(name) for name in region or ()]
    if every:
        names = [size.name for size in catalog.sizes().values()]
    elif not names:
        names, used = _used(session)
        places = places or used
    _check(names, "SIZE")
    _check(places, "--region")
    fetched = _fetch(session, names, places)
    sources = [retail.SOURCE]
    spot = _fetch_spot(session, names, places)
    if spot is not None:
        sources.append(spot_tables.SOURCE)
        fetched = {
            pair: _with_spot(price, spot.get(pair_of(*pair))) for pair, price in fetched.items()
        }
    path = price_cache(session.environment) if out is None else files.expanded(out)
    rows = ((*pair, price) for pair, price in sorted(fetched.items()))
    text = prices.dump(" and ".join(sources), session.today, rows)
    prices.parse(text)  # what is written must be readable
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write `{path}`: {error.strerror or error}") from None
    _report(session, path, names, fetched)


def _used(session: Session) -> tuple[list[str], list[str]]:
    """Return the sizes of nodes that local files declare, and their regions."""
    report = new_report(session)
    graph = session.loader(report).load(["."]).graph
    sizes: list[str] = []
    configured = session.settings.configured(LOCATION)
    regions = [configured] if configured else []
    for resource in graph.resources.values():
        nodes_of = resource.kind.quota.nodes
        values = effective(resource.values, resource.form)
        nodes = nodes_of(values) if nodes_of is not None else None
        if nodes is not None:
            sizes.append(nodes.size)
            regions += [str(values("location"))] if values("location") else []
    if not sizes:
        raise UsageError("no file here declares nodes: name sizes, or use --all.")
    return sorted({*sizes}), sorted({catalog.region(name) for name in regions})


def _check(names: Sequence[str], flag: str) -> None:
    """Refuse what cannot be the name of a size or a region."""
    for name in names:
        if not re.fullmatch(r"[\w-]{1,80}", name, re.ASCII):
            raise InvalidValue(f"`{clean(name)}` is not a name", flag=flag)


def _fetch(
    session: Session, sizes: Sequence[str], regions: Sequence[str]
) -> Mapping[tuple[str, str], Price]:
    """Fetch Azure's prices."""
    from mlctl import backends
    from mlctl.catalog import retail
    from mlctl.service_errors import Permanent

    url = session.environment.get(retail.URL_VARIABLE) or retail.URL
    fetched = backends.fetch_prices(url, sizes, regions, session.today)
    if not fetched:
        place = f" in {', '.join(regions)}" if regions else ""
        raise Permanent(
            "NoPrices", f"{url} has no price of {', '.join(sizes[:_NAMED])}{place}; nothing written"
        )
    return fetched


def _fetch_spot(
    session: Session, sizes: Sequence[str], regions: Sequence[str]
) -> Mapping[tuple[str, str], Price] | None:
    """Fetch Spot prices from Azure Resource Graph; None, with a note, if nobody is logged in."""
    from mlctl import backends
    from mlctl.catalog.spot_tables import SOURCE
    from mlctl.service_errors import Permanent

    why = "it needs the azure backend: --backend azure"
    if session.backend_name == "azure":
        try:
            return backends.fetch_spot_tables(session.environment, session.options, sizes, regions)
        except Permanent as error:
            if error.status not in _NOT_ALLOWED:
                raise
            why = str(error)
    session.note(clean(f"note: {SOURCE}, for eviction rates, is not asked: {why}"))
    return None


def _with_spot(price: Price, spot: Price | None) -> Price:
    """Add the eviction rate of Spot to a price, and its price if unknown."""
    if spot is None:
        return price
    amount = spot.spot if price.spot is None else price.spot
    if amount is not None and price.dedicated is not None and amount > price.dedicated:
        amount = None
    return Price(price.dedicated, amount, spot.eviction_rate)


def _report(
    session: Session, path: Path, sizes: Sequence[str], fetched: Mapping[tuple[str, str], Price]
) -> None:
    """Report what was written, and which sizes have no price."""
    priced, regions = ({*names} for names in zip(*fetched, strict=True))
    of = f"{counted(len(priced), 'size')} in {counted(len(regions), 'region')}"
    session.out(clean(f"Wrote the prices of {of}, of {session.today.isoformat()}, to {path}"))
    priced_names = {size.casefold() for size in priced}
    for text, lacking in (
        ("price", {size for size in sizes if size.casefold() not in priced_names}),
        ("price of Spot", {size for (size, _), price in fetched.items() if price.spot is None}),
    ):
        if lacking:
            names = ", ".join(sorted(lacking)[:_NAMED]) + (", ..." if len(lacking) > _NAMED else "")
            session.note(clean(f"note: Azure says no {text} of {names}"))


COMMANDS = {
    "catalog": Group(
        "Dated facts about Azure: what nodes cost.", {"show": show, "refresh": refresh}
    )
}
