"""The Azure Retail Prices API: what the price list of the simulated cloud says, page by page.

Filters are as documented: comparisons by `eq` and `contains`, joined by `and` and `or`, values
case-sensitive. The body of a refusal is an assumption; its message was read in answers of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mlctl.catalog import retail
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.service_errors import Permanent

_COMPARISON = r"(\w+) eq '([^']*)'|contains\((\w+), ?'([^']*)'\)"
_TERM = r"(?:\w+ eq '[^']*'|contains\(\w+, ?'[^']*'\))"
_CLAUSE = rf"(?:{_TERM}|\({_TERM}(?: or {_TERM})*\))"
_FIELDS = {"priceType": "type"}
_Meter = Mapping[str, Any]


def show(call: Call) -> Response:
    """GET of the meters that `$filter` lets through, those after `$skip`."""
    version = call.request.query_value("api-version", retail.VERSION)
    if version not in (retail.VERSION, "2021-10-01-preview"):
        raise Permanent("BadRequest", "Unsupported API version")
    passes = _filter(call.request.query_value("$filter"))
    skipped = call.request.query_value("$skip", "0")
    if not (skipped.isascii() and skipped.isdecimal()):
        raise _invalid()
    first = int(skipped[:9])
    meters = [meter for meter in retail.meters_of(call.store.price_list()) if passes(meter)]
    end = first + min(call.settings.page, retail.PAGE)
    query = {**call.request.query, "$skip": str(end)}
    return json_response(
        {
            "BillingCurrency": "USD",
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": meters[first:end],
            "NextPageLink": call.url(call.request.path, query) if end < len(meters) else None,
            "Count": len(meters[first:end]),
        }
    )


def _filter(text: str) -> Callable[[_Meter], bool]:
    """What a filter lets through; "" is everything."""
    if text and not re.fullmatch(f"{_CLAUSE}(?: and {_CLAUSE})*", text):
        raise _invalid()
    clauses = [re.findall(_COMPARISON, clause) for clause in re.findall(_CLAUSE, text)]
    return lambda meter: all(
        any(_holds(meter, *comparison) for comparison in clause) for clause in clauses
    )


def _holds(meter: _Meter, equal: str, value: str, containing: str, part: str) -> bool:
    name = equal or containing
    value_of_meter = str(meter.get(_FIELDS.get(name, name), ""))
    return value_of_meter == value if equal else part in value_of_meter


def _invalid() -> Permanent:
    return Permanent("BadRequest", "Invalid OData parameters supplied")
