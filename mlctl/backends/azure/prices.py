"""Clients of the Azure Retail Prices API, which needs no token, and of Azure Resource Graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode

from mlctl.backends.azure import errors, links
from mlctl.backends.azure.arm import ArmClient, open_public
from mlctl.backends.azure.retry import Clock
from mlctl.catalog import retail, spot_tables
from mlctl.catalog.prices import Price
from mlctl.pointer import Data

_SIZES = 20  # in one request: some 1,400 characters of filter
_MOST_PAGES = 2_000  # of one request; all meters of virtual machines are some 500


def fetch_prices(
    url: str,
    sizes: Sequence[str],
    regions: Sequence[str],
    today: date,
    clock: Clock | None = None,
    transport: Any = None,
) -> dict[tuple[str, str], Price]:
    """The prices of sizes (none: of all) in regions (none: in all) that are asked now.

    Raises:
        ServiceError: there is no answer, or one of its pages cannot be read.
    """
    batches = [sizes[at : at + _SIZES] for at in range(0, len(sizes), _SIZES)] or [()]
    filters = [retail.filter_of(batch, regions) for batch in batches]
    links.uses_tls(url)
    with open_public(clock or Clock(), transport) as fetch:
        meters = chain.from_iterable(_meters(fetch, url, filter_) for filter_ in filters)
        try:
            return retail.read(meters, today)
        except retail.MeterError as error:
            raise errors.malformed_response(str(error)) from None


def _meters(fetch: Callable[[str], Data], url: str, filter_: str) -> Iterator[Mapping[str, Any]]:
    """The meters that a filter lets through, page after page."""
    query = urlencode({"api-version": retail.VERSION, "$filter": filter_}, quote_via=quote)
    link: str | None = f"{url}?{query}"
    links_read: set[str] = set()
    while link is not None:
        if link in links_read or len(links_read) == _MOST_PAGES:
            raise errors.malformed_response("its pages have no end")
        links_read.add(link)
        page = fetch(link)
        if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
            raise errors.malformed_response("a page of prices has no list of `Items`")
        yield from errors.objects(page["Items"], "Items")
        link = _next(url, page.get("NextPageLink"))


def _next(url: str, link: Data) -> str | None:
    """The link to the next page, which has to lead to the same host."""
    if not link:
        return None
    if not isinstance(link, str):
        raise errors.malformed_response("its NextPageLink is no URL")
    page, following = links.split(url), links.split(link)
    ports = [parts.port or {"https": 443, "http": 80}[parts.scheme] for parts in (page, following)]
    if (page.scheme, page.hostname) != (following.scheme, following.hostname) or ports[0] != ports[
        1
    ]:
        raise errors.malformed_response(f"its next page is at another host ({following.netloc})")
    return link


_QUERIED = 100  # in one query
_MOST_READ = 2_000  # of one query


def fetch_spot_tables(
    arm: ArmClient, sizes: Sequence[str], regions: Sequence[str]
) -> dict[tuple[str, str], Price]:
    """Spot prices and eviction rates of sizes (none: of all) in regions (none: in all).

    Raises:
        ServiceError: there is no answer, or one of its pages cannot be read.
    """
    batches = [sizes[at : at + _QUERIED] for at in range(0, len(sizes), _QUERIED)] or [()]
    queries = chain.from_iterable(spot_tables.queries(batch, regions) for batch in batches)
    try:
        return spot_tables.read(chain.from_iterable(_rows(arm, query) for query in queries))
    except spot_tables.RowError as error:
        raise errors.malformed_response(str(error)) from None


def _rows(arm: ArmClient, query: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a query's answer, page after page."""
    options: dict[str, Any] = {"$top": spot_tables.PAGE, "resultFormat": "objectArray"}
    tokens_read: set[str] = set()
    while True:
        body = {"query": query, "options": options}
        page = arm.post(spot_tables.PATH, body, spot_tables.VERSION)
        yield from errors.objects(page.get("data", "nothing"), "`data` of a page")
        token = page.get("$skipToken")
        if not token:
            return
        if not isinstance(token, str) or token in tokens_read or len(tokens_read) == _MOST_READ:
            raise errors.malformed_response("the pages of Resource Graph have no end")
        tokens_read.add(token)
        options = {**options, "$skipToken": token}
