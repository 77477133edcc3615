"""A client of the Azure Retail Prices API, which needs no token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode

from mlctl.backends.azure import errors, links
from mlctl.backends.azure.arm import open_public
from mlctl.backends.azure.retry import Clock
from mlctl.catalog import retail
from mlctl.catalog.prices import Price
from mlctl.pointer import Data

_SIZES = 20  # per request: some 1,400 characters of filter
_MOST_PAGES = 2_000  # per request; there are some 500 with all meters of virtual machines


def fetch_prices(
    url: str,
    sizes: Sequence[str],
    regions: Sequence[str],
    today: date,
    clock: Clock | None = None,
    transport: Any = None,
) -> dict[tuple[str, str], Price]:
    """Return current prices of sizes (none: of all) in regions (none: in all).

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
    """Yield the meters that match a filter, page by page."""
    query = urlencode({"api-version": retail.VERSION, "$filter": filter_}, quote_via=quote)
    link: str | None = f"{url}?{query}"
    links_read: set[str] = set()
    while link is not None:
        if link in links_read or len(links_read) == _MOST_PAGES:
            raise errors.malformed_response("it has too many pages")
        links_read.add(link)
        page = fetch(link)
        if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
            raise errors.malformed_response("a page of prices has no `Items` list")
        yield from errors.objects(page["Items"], "Items")
        link = _next(url, page.get("NextPageLink"))


def _next(url: str, link: Data) -> str | None:
    """Return the link to the next page, which must be on the same host."""
    if not link:
        return None
    if not isinstance(link, str):
        raise errors.malformed_response("its NextPageLink is not a URL")
    page, following = links.split(url), links.split(link)
    ports = [parts.port or {"https": 443, "http": 80}[parts.scheme] for parts in (page, following)]
    if (page.scheme, page.hostname) != (following.scheme, following.hostname) or ports[0] != ports[
        1
    ]:
        raise errors.malformed_response(f"its next page is on another host ({following.netloc})")
    return link
