"""Price lists: the cost of a node-hour by VM size, region and tier.

Low-priority nodes have been Spot VMs since 2026-03-31, so their price is Spot's. A pair that is not
in a list has an unknown price; no other price replaces it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path

from mlctl import catalog, files
from mlctl.dataclasses import dataclass, field, replace

OF = "Linux, pay as you go"
MOST_PRICE = 1e9  # USD per hour; sums of squares still fit a float
OLD_DAYS = 180  # after which a table of facts is old
_MOST_BYTES = 64 << 20
_COLUMNS = ["size", "region", "dedicated", "spot"]
_MORE = "eviction_rate"  # an optional column
EVICTION_RATES = ("0-5", "5-10", "10-15", "15-20", "20+")  # percent per hour, as Azure has them


class PriceListError(ValueError):
    """A file is not a price list; the message says why."""


@dataclass(frozen=True, slots=True)
class Price:
    """The USD per node-hour of either tier; None if unknown.

    `eviction_rate` is one of `EVICTION_RATES`, or "".
    """

    dedicated: float | None = None
    spot: float | None = None
    eviction_rate: str = ""

    def of_tier(self, *, low_priority: bool) -> float | None:
        """Return the price of a tier."""
        return self.spot if low_priority else self.dedicated


UNKNOWN = Price()


@dataclass(frozen=True)
class PriceList:
    """Prices, their source, and the day to which they apply.

    What the list lacks is looked up in the list `below` it, if there is one.
    """

    source: str
    as_of: date
    prices: Mapping[tuple[str, str], Price] = field(repr=False)
    below: PriceList | None = field(default=None, repr=False)

    def price(self, size: str, region: str) -> Price:
        """Return the prices of a size in a region, each in any spelling."""
        pair = size.casefold(), catalog.region(region)
        if pair in self.prices or self.below is None:
            return self.prices.get(pair, UNKNOWN)
        return self.below.price(size, region)

    def of(self, size: str, region: str) -> PriceList:
        """Return the list with the prices of a size in a region; this one if none has them."""
        pair, below = pair_of(size, region), self.below
        return below if pair not in self.prices and below and pair in below.prices else self

    @property
    def origin(self) -> str:
        """Return the day and the source."""
        return f"{self.as_of.isoformat()}, {self.source}"

    @property
    def every_price(self) -> Mapping[tuple[str, str], Price]:
        """Return all prices, including those of the list below."""
        return {**(self.below.prices if self.below else {}), **self.prices}


def pair_of(size: str, region: str) -> tuple[str, str]:
    """Return the key of a size in a region, each in any spelling."""
    return size.casefold(), catalog.region(region)


@cache
def own_prices() -> PriceList:
    """Return mlctl's own price list."""
    return parse(Path(__file__).with_name("prices.csv").read_text(encoding="utf-8"))


def read(path: Path) -> PriceList:
    """Read a price list from a file.

    Raises:
        OSError: it cannot be read.
        PriceListError: it is not a price list.
    """
    try:
        return parse(files.read(path, _MOST_BYTES).decode())
    except UnicodeDecodeError:
        raise PriceListError("it is not UTF-8 text") from None


def read_refreshed(path: Path) -> PriceList:
    """Read the list written by `catalog refresh`, on top of mlctl's own.

    Raises:
        OSError: the file cannot be read.
        PriceListError: it is not a price list.
    """
    return replace(read(path), below=own_prices())


def parse(text: str) -> PriceList:
    """Parse a price list: comments with source and date, then rows of CSV.

    Raises:
        PriceListError: it is not one, two rows contradict each other, or a Spot price is above the
            dedicated one, which Azure rules out.
    """
    lines = text.splitlines()
    facts = header(text)
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    columns = next(rows, None)
    if columns not in (_COLUMNS, [*_COLUMNS, _MORE]) or {"source", "as_of"} - facts.keys():
        raise PriceListError(
            f"a price list needs comments with `source:` and `as_of:`, then {','.join(_COLUMNS)}"
        )
    try:
        as_of = date.fromisoformat(facts["as_of"])
    except ValueError:
        raise PriceListError(f"`{facts['as_of']}` is not a date: write YYYY-MM-DD") from None
    prices: dict[tuple[str, str], Price] = {}
    width = len(columns)
    for row in filter(None, rows):
        if len(row) != width:
            raise PriceListError(f"`{','.join(row)}` does not have the columns {','.join(columns)}")
        size, region, dedicated, spot, *rates = row
        price = Price(_parse_amount(dedicated), _parse_amount(spot), *rates)
        if price.eviction_rate and price.eviction_rate not in EVICTION_RATES:
            raise PriceListError(
                f"`{price.eviction_rate}` is not one of {', '.join(EVICTION_RATES)}"
            )
        if prices.setdefault(pair_of(size, region), price) != price:
            raise PriceListError(f"there are two prices of {size} in {region}")
        if price.spot is not None and price.dedicated is not None and price.spot > price.dedicated:
            raise PriceListError(f"{size} in {region} costs more as Spot than dedicated")
    return PriceList(facts["source"], as_of, prices)


def _parse_amount(text: str) -> float | None:
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount <= MOST_PRICE:
        raise PriceListError(f"`{text}` is not a price")
    return amount


def header(text: str) -> Mapping[str, str]:
    """Return the facts in the comments of a table: its source, and its date."""
    return dict(re.findall(r"^#\s*(source|as_of):\s*(.*\S)", text, re.MULTILINE))


def dump(source: str, as_of: date, prices: Iterable[tuple[str, str, Price]]) -> str:
    """Write a price list, sorted by size and region."""
    rows = [*prices]
    has_rates = any(price.eviction_rate for _, _, price in rows)
    columns = [*_COLUMNS, _MORE] if has_rates else _COLUMNS
    lines = [f"# source: {source}", f"# as_of: {as_of.isoformat()}", ",".join(columns)]
    for size, region, price in rows:
        amounts = (
            "" if amount is None else f"{amount:.15g}" for amount in (price.dedicated, price.spot)
        )
        lines.append(
            ",".join((size, region, *amounts, *([price.eviction_rate] if has_rates else ())))
        )
    return "\n".join(lines) + "\n"
