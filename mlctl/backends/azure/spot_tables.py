"""A client of Azure Resource Graph's tables of Spot VMs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient
from mlctl.catalog import spot_tables
from mlctl.catalog.prices import Price

_SIZES = 100  # per query
_MOST_PAGES = 2_000  # per query


def fetch_spot_tables(
    arm: ArmClient, sizes: Sequence[str], regions: Sequence[str]
) -> dict[tuple[str, str], Price]:
    """Return Spot prices and eviction rates of sizes (none: of all) in regions (none: in all).

    Raises:
        ServiceError: there is no answer, or one of its pages cannot be read.
    """
    batches = [sizes[at : at + _SIZES] for at in range(0, len(sizes), _SIZES)] or [()]
    queries = chain.from_iterable(spot_tables.queries(batch, regions) for batch in batches)
    try:
        return spot_tables.read(chain.from_iterable(_rows(arm, query) for query in queries))
    except spot_tables.RowError as error:
        raise errors.malformed_response(str(error)) from None


def _rows(arm: ArmClient, query: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a query's answer, page by page."""
    options: dict[str, Any] = {"$top": spot_tables.PAGE, "resultFormat": "objectArray"}
    tokens_read: set[str] = set()
    while True:
        body = {"query": query, "options": options}
        page = arm.post(spot_tables.PATH, body, spot_tables.VERSION)
        yield from errors.objects(page.get("data", "nothing"), "`data` of a page")
        token = page.get("$skipToken")
        if not token:
            return
        if not isinstance(token, str) or token in tokens_read or len(tokens_read) == _MOST_PAGES:
            raise errors.malformed_response("Resource Graph returned too many pages")
        tokens_read.add(token)
        options = {**options, "$skipToken": token}
