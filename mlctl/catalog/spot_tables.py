"""Azure Resource Graph's tables of Spot VMs: prices of 90 days, eviction rates of 28.

Tables and queries: azure-compute-docs, articles/virtual-machines/spot-vms.md. Paging needs the
`id`: "Working with large Azure resource data sets", of Resource Graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlctl.catalog.prices import EVICTION_RATES, MOST_PRICE, Price, PriceList, pair_of

PATH = "/providers/Microsoft.ResourceGraph/resources"
VERSION = "2022-10-01"
PAGE = 1000  # rows, at most
SOURCE = "Azure Resource Graph"

PRICES = "microsoft.compute/skuspotpricehistory/ostype/location"
RATES = "microsoft.compute/skuspotevictionrate/location"
_PRICE = "todouble(properties.spotPrices[0].priceUSD)"
_RATE = "tostring(properties.evictionRate)"


class RowError(ValueError):
    """A row of a table does not have the documented form; the message says how."""


def queries(sizes: Iterable[str], regions: Iterable[str]) -> tuple[str, str]:
    """Build the queries of both tables for sizes and regions (none: all); names have no quotes."""
    clauses = []
    for name, values in (("sku.name", sizes), ("location", regions)):
        names = ", ".join(f"'{value.casefold()}'" for value in values)
        clauses += [f"where {name} in~ ({names})"] if names else []
    columns = "project id, skuName = tostring(sku.name), location"
    order = "order by id asc"
    linux = "where properties.osType =~ 'linux'"
    prices = ["SpotResources", f"where type =~ '{PRICES}'", linux, *clauses]
    rates = ["SpotResources", f"where type =~ '{RATES}'", *clauses]
    return (
        " | ".join([*prices, f"{columns}, priceUSD = {_PRICE}", order]),
        " | ".join([*rates, f"{columns}, evictionRate = {_RATE}", order]),
    )


def read(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Price]:
    """Return the prices and rates in rows of either table, by lower-cased size and region.

    Unknown rates are left out. Raises RowError if a row lacks a column, or has one of a wrong type.
    """
    prices: dict[tuple[str, str], Price] = {}
    for row in rows:
        size, region = row.get("skuName"), row.get("location")
        if not isinstance(size, str) or not isinstance(region, str):
            raise RowError(f"a row lacks `skuName` or `location` as text: {row!r:.60}")
        pair, rate, amount = pair_of(size, region), row.get("evictionRate"), row.get("priceUSD")
        if not isinstance(rate, str | None) or not _is_amount(amount):
            raise RowError(f"a row has neither a price nor a rate, but {amount or rate!r:.40}")
        earlier = prices.get(pair, Price())
        eviction_rate = rate if rate in EVICTION_RATES else earlier.eviction_rate
        prices[pair] = Price(None, earlier.spot if amount is None else amount, eviction_rate)
    return prices


def _is_amount(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and value is not True and 0 <= value <= MOST_PRICE


def rows_of(price_list: PriceList) -> Iterator[dict[str, Any]]:
    """Yield the rows of both tables that a list corresponds to."""
    for (size, region), price in sorted(price_list.every_price.items()):
        of = {"location": region, "sku": {"name": size}}
        if price.spot is not None:
            day = price_list.of(size, region).as_of.isoformat()
            history = [{"effectiveDate": f"{day}T00:00:00Z", "priceUSD": price.spot}]
            facts = {"osType": "linux", "spotPrices": history}
            yield {"id": _id(PRICES, size, region), "type": PRICES, **of, "properties": facts}
        if price.eviction_rate:
            facts = {"evictionRate": price.eviction_rate}
            yield {"id": _id(RATES, size, region), "type": RATES, **of, "properties": facts}


def _id(table: str, size: str, region: str) -> str:
    return f"/providers/{table}/{size}/{region}"
