"""`--spot-price`: the rate of Spot as it is now, as a list has it, or between two ends."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from mlctl import backends, files
from mlctl.catalog import prices, retail
from mlctl.catalog.prices import PriceList
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import replace
from mlctl.forecast.fields import StatedPrices

_FLAG = "--spot-price"


def with_spot_price(session: Session, stated: StatedPrices, text: str) -> StatedPrices:
    """The prices, with what `--spot-price` says of Spot; `now` asks once it is needed."""
    if text == "now":
        return replace(stated, spot=cache(lambda *pair: _now(session, *pair)))
    ends = re.fullmatch(r"([\d.]+)\.\.([\d.]+)", text)
    try:
        if ends is None:
            price_list = prices.read(files.expanded(Path(text)))
            return replace(stated, spot=lambda *_: price_list)
        low, high = float(ends[1]), float(ends[2])
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"`{text}` is neither now, nor LOW..HIGH, nor a price list: {why}"
        raise InvalidValue(message, flag=_FLAG) from None
    if not low <= high <= prices.MOST_PRICE:
        raise InvalidValue(f"`{text}`: write the lower end first, in USD an hour", flag=_FLAG)
    return replace(stated, ends=(low, high))


def _now(session: Session, size: str, region: str) -> PriceList:
    """What the Azure Retail Prices API says of a size in a region."""
    url = session.environment.get(retail.URL_VARIABLE) or retail.URL
    answer = backends.fetch_prices(url, [size], [region], session.today)
    rates = {(name.casefold(), place): price for (name, place), price in answer.items()}
    return PriceList(retail.SOURCE, session.today, rates)
