"""Azure Resource Graph, as far as its tables of Spot VMs go: what the price list has, by pages.

Of the query language it knows what the samples of Azure's documentation have: `where` by `=~` and
`in~`, `project` and one `order by`. Pages need the `id` among the columns, as the service's do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mlctl.catalog import spot_tables
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.pointer import get
from mlctl.service_errors import Permanent

_Row = Mapping[str, Any]
_WHERE = r"where ([\w.]+) (?:=~ ('[^']*')|in~ \(((?:'[^']*'(?:, ?)?)+)\))"
_COLUMN = r"(?:(\w+) ?= ?)?(?:to\w+\()?([\w.\[\]]+)\)?"


def query(call: Call) -> Response:
    """POST of a query; the rows after `$skipToken`."""
    text, options = call.data.get("query"), call.data.get("options", {})
    if not isinstance(text, str) or not isinstance(options, dict):
        raise _invalid()
    token, most = str(options.get("$skipToken", 0)), options.get("$top", spot_tables.PAGE)
    if not (token.isascii() and token.isdecimal()) or not isinstance(most, int):
        raise _invalid()
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
        raise _invalid()
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
            raise _invalid()
    return rows


def _column(text: str) -> tuple[str, Callable[[_Row], Any]]:
    match = re.fullmatch(_COLUMN, text)
    if not match:
        raise _invalid()
    return match[1] or match[2], _value_of(match[2])


def _value_of(path: str) -> Callable[[_Row], Any]:
    """The value at a path such as `properties.spotPrices[0].priceUSD`; None where there is none."""
    steps = tuple(int(step) if step.isdecimal() else step for step in re.findall(r"\w+", path))
    return lambda row: get(row, steps)


def _invalid() -> Permanent:
    return Permanent(
        "BadRequest", "Please provide below info when asking for support: InvalidQuery"
    )
