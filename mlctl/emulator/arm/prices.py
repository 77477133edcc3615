"""The Azure Retail Prices API, and Azure Resource Graph: what the price list says, page by page.

Filters of the first are as documented: comparisons by `eq` and `contains`, joined by `and` and
`or`, values case-sensitive. The body of a refusal is an assumption; its message was read in answers
of 2026. Of the query language of the second it knows what the samples of Azure's documentation of
the tables of Spot VMs have: `where` by `=~` and `in~`, `project` and one `order by`. Pages need the
`id` among the columns, as the service's do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mlctl.catalog import retail, spot_tables
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.pointer import get
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


_Row = Mapping[str, Any]
_WHERE = r"where ([\w.]+) (?:=~ ('[^']*')|in~ \(((?:'[^']*'(?:, ?)?)+)\))"
_COLUMN = r"(?:(\w+) ?= ?)?(?:to\w+\()?([\w.\[\]]+)\)?"


def query(call: Call) -> Response:
    """POST of a query; the rows after `$skipToken`."""
    text, options = call.data.get("query"), call.data.get("options", {})
    if not isinstance(text, str) or not isinstance(options, dict):
        raise _invalid_query()
    token, most = str(options.get("$skipToken", 0)), options.get("$top", spot_tables.PAGE)
    if not (token.isascii() and token.isdecimal()) or not isinstance(most, int):
        raise _invalid_query()
    most = min(max(most, 1), spot_tables.PAGE, call.settings.page)
    rows = _answer(text, [*spot_tables.rows_of(call.store.price_list())])
    first = int(token[:9])
    page = rows[first : first + most]
    end = first + len(page)
    pages = end < len(rows) and "id" in rows[0]
    return json_response(
        {
            "totalRecords": len(rows),
            "count": len(page),
            "data": page,
            "facets": [],
            "resultTruncated": "true" if end < len(rows) else "false",
            **({"$skipToken": str(end)} if pages else {}),
        }
    )


def _answer(text: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a query says of the rows."""
    table, *clauses = (part.strip() for part in text.split("|"))
    if table.casefold() != "spotresources":
        raise _invalid_query()
    for clause in clauses:
        if match := re.fullmatch(_WHERE, clause):
            value = _value_of(match[1])
            allowed = re.findall(r"'([^']*)'", match[2] or match[3])
            names = {name.casefold() for name in allowed}
            rows = [row for row in rows if str(value(row)).casefold() in names]
        elif clause.startswith("project "):
            columns = [_column(part) for part in clause.removeprefix("project ").split(", ")]
            rows = [{name: value(row) for name, value in columns} for row in rows]
        elif match := re.fullmatch(r"order by (\w+) (asc|desc)", clause):
            name = match[1]
            rows = sorted(rows, key=lambda row: str(row.get(name)), reverse=match[2] == "desc")
        else:
            raise _invalid_query()
    return rows


def _column(text: str) -> tuple[str, Callable[[_Row], Any]]:
    match = re.fullmatch(_COLUMN, text)
    if not match:
        raise _invalid_query()
    return match[1] or match[2], _value_of(match[2])


def _value_of(path: str) -> Callable[[_Row], Any]:
    """The value at a path such as `properties.spotPrices[0].priceUSD`; None where there is none."""
    steps = tuple(int(step) if step.isdecimal() else step for step in re.findall(r"\w+", path))
    return lambda row: get(row, steps)


def _invalid_query() -> Permanent:
    return Permanent(
        "BadRequest", "Please provide below info when asking for support: InvalidQuery"
    )
