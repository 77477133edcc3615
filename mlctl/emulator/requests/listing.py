"""Lists in pages, each read from the current state.

A page begins after the last item of the one before, by name or by age, so that nothing is listed
twice or left out, whatever is written in between.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from mlctl.dataclasses import dataclass
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.context import StoredResource

Item = TypeVar("Item")
_LED_ON = ("model",)  # what has a nextLink after `$top` items, too: a page is what `$top` says


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """Some items, and where the next page begins (None: this is the last one)."""

    items: Sequence[Item]
    next_key: Sequence[Data] | None


def page_response(call: Call, page: ListPage[Any], bodies: Iterable[Data]) -> Response:
    """Return `{"value": [...]}`, with an absolute `nextLink` if there are more."""
    body: dict[str, Data] = {"value": list(bodies)}
    if page.next_key is not None:
        token = base64.urlsafe_b64encode(json.dumps(page.next_key).encode()).decode()
        query = {k: v for k, v in call.request.query.items() if k.casefold() != "$skiptoken"}
        top = _top(call)
        if top is not None and call.kind not in _LED_ON:
            query = {k: v for k, v in query.items() if k.casefold() != "$top"}
            query["$top"] = str(top - len(page.items))
        body["nextLink"] = call.url(call.request.path, {**query, "$skipToken": token})
    return json_response(body)


def paginate(call: Call, items: Iterable[Item], key: Callable[[Item], str]) -> ListPage[Item]:
    """The page that the request asks for, of items in the order of their keys."""
    position = _read_skip_token(call, str)
    later = [item for item in items if position is None or [key(item)] > position]
    return _page(call, later, lambda paged: [key(paged)])


def resources(call: Call, parent: str | None) -> ListPage[StoredResource]:
    """The resources of the call's kind (of one parent), by name."""
    name, number = _read_skip_token(call, str, int) or ["", 0]
    stored = service.list_page(call.handle, call.kind, parent, (name, number), _limit(call) + 1)
    return _page(call, stored, lambda resource: [resource.address.name.lower(), resource.id])


def versions(call: Call, name: str) -> ListPage[StoredResource]:
    """The versions of an asset: newest first, or as `$orderBy=createdtime asc` says."""
    order = call.request.query_value("$orderBy").casefold().replace("%20", " ")
    newest_first = not order or order.endswith(" desc")
    sign, order = ("<", "DESC") if newest_first else (">", "ASC")
    first = rows.key(Address(call.kind, name))
    (last_id,) = _read_skip_token(call, int) or [2**62 if newest_first else 0]
    query = (  # each plus leads SQLite away from an index that has more to read
        f"WHERE +workspace = ? AND key >= ? AND key < ? AND +id {sign} ?{_archive_condition(call)}"
        f" ORDER BY +id {order} LIMIT ?"
    )
    end = first[:-1] + ";"  # the character after `:`
    with call.store.read() as db:
        stored = rows.select(db, query, (call.state.id, first, end, last_id, _limit(call) + 1))
    return _page(call, stored, lambda resource: [resource.id])


def _archive_condition(call: Call) -> str:
    """Return SQL for `listViewType`: by default the active ones."""
    is_archived = " AND json_extract(body, '$.properties.isArchived') IS "
    match call.request.query_value("listViewType", "All").casefold():
        case "activeonly":
            return is_archived + "NOT 1"
        case "archivedonly":
            return is_archived + "1"
        case _:
            return ""


def _page(
    call: Call, items_left: list[Item], key: Callable[[Item], Sequence[Data]]
) -> ListPage[Item]:
    """The first of `items_left`, which may hold one item more than the page does."""
    limit = _limit(call)
    items = items_left[:limit]
    top = _top(call)
    has_more = len(items_left) > limit and (top is None or top > limit or call.kind in _LED_ON)
    return ListPage(items, key(items[-1]) if has_more and items else None)


def _limit(call: Call) -> int:
    limits = [_number(call, name) for name in ("$top", "count")]
    return min(call.settings.page, *(limit for limit in limits if limit), call.settings.page)


def _top(call: Call) -> int | None:
    """Return how many items are requested in all."""
    return _number(call, "$top")


def _number(call: Call, name: str) -> int | None:
    text = call.request.query_value(name)
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 2**31):
        message = f"`{name}` must be a whole number from 1, not `{text}`."
        raise Permanent("InvalidQueryParameterValue", message, target=name)
    return int(text)


def _read_skip_token(call: Call, *shape: type) -> list[Data] | None:
    """The key that the page begins after, as `answer` wrote it."""
    token = call.request.query_value("$skipToken")
    if not token:
        return None
    try:
        position = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error, RecursionError):
        position = None
    if not isinstance(position, list) or [type(part) for part in position] != list(shape):
        message = f"`{token}` is no $skipToken of this list."
        raise Permanent("InvalidQueryParameterValue", message, target="$skipToken")
    return position
