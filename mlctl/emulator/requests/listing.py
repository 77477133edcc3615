"""Lists in pages, each read from the present state.

A page begins after the last item of the one before, by name or by age, so that nothing is listed
twice or left out, whatever is written in between.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
_COLUMNS = "SELECT id, kind, name, parent, version, state, operation, body FROM resources "


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items, and where the next page begins (None: this is the last one)."""

    items: Sequence[Item]
    after: Sequence[Data] | None


def page_response(call: Call, page: Page[Any], bodies: Iterable[Data]) -> Response:
    """`{"value": [...]}`, with an absolute `nextLink` where there is more."""
    body: dict[str, Data] = {"value": list(bodies)}
    if page.after is not None:
        token = base64.urlsafe_b64encode(json.dumps(page.after).encode()).decode()
        kept = {k: v for k, v in call.request.query.items() if k.casefold() != "$skiptoken"}
        top = _top(call)
        if top is not None and call.kind not in _LED_ON:
            kept = {k: v for k, v in kept.items() if k.casefold() != "$top"}
            kept["$top"] = str(top - len(page.items))
        body["nextLink"] = call.url(call.request.path, {**kept, "$skipToken": token})
    return json_response(body)


def paginate(call: Call, items: Iterable[Item], key: Callable[[Item], str]) -> Page[Item]:
    """The page that the request asks for, of items in the order of their keys."""
    after = _after(call, str)
    rest = [each for each in items if after is None or [key(each)] > after]
    return _page(call, rest, lambda each: [key(each)])


def resources(call: Call, parent: str | None) -> Page[StoredResource]:
    """The resources of the call's kind (of one parent), by name.

    Raises:
        ServiceError: there is no such parent (404), or a fault was set for the call.
    """
    name, number = _after(call, str, int) or ["", 0]
    found = service.list_page(call.handle, call.kind, parent, (name, number), _limit(call) + 1)
    return _page(call, found, lambda each: [each.address.name.lower(), each.id])


def names(call: Call, others: Iterable[str] = ()) -> Page[str]:
    """The names of the call's kind and some others, each once, in lower case."""
    (after,) = _after(call, str) or [""]
    within = rows.collection_key(Address(call.kind, ""))
    limit = _limit(call) + 1
    with call.store.read() as db:
        found = db.execute(
            "SELECT DISTINCT lower(name) FROM resources WHERE workspace = ? AND kind = ?"
            " AND collection = ? AND lower(name) > ? ORDER BY lower(name) LIMIT ?",
            (call.state.id, call.kind, within, after, limit),
        ).fetchall()
    every = {name for (name,) in found} | {each.lower() for each in others if each.lower() > after}
    return _page(call, sorted(every)[:limit], lambda each: [each])


def versions(call: Call, name: str) -> Page[StoredResource]:
    """The versions of an asset: newest first, or as `$orderBy=createdtime asc` says."""
    order = call.request.query_value("$orderBy").casefold().replace("%20", " ")
    newest_first = not order or order.endswith(" desc")
    sign, order = ("<", "DESC") if newest_first else (">", "ASC")
    first = rows.key(Address(call.kind, name))
    (after,) = _after(call, int) or [2**62 if newest_first else 0]
    query = (  # each plus leads SQLite away from an index that has more to read
        f"WHERE +workspace = ? AND key >= ? AND key < ? AND +id {sign} ?{_archived(call)}"
        f" ORDER BY +id {order} LIMIT ?"
    )
    until = first[:-1] + ";"  # the character after `:`
    found = _select(call, query, (first, until, after, _limit(call) + 1))
    return _page(call, found, lambda each: [each.id])


def _archived(call: Call) -> str:
    """SQL for `listViewType`: the active ones unless it says otherwise."""
    held = " AND json_extract(body, '$.properties.isArchived') IS "
    match call.request.query_value("listViewType", "All").casefold():
        case "activeonly":
            return held + "NOT 1"
        case "archivedonly":
            return held + "1"
        case _:
            return ""


def _select(call: Call, where: str, arguments: Sequence[Data]) -> list[StoredResource]:
    with call.store.read() as db:
        workspace = call.state.id
        read = db.execute(_COLUMNS + where, (workspace, *arguments)).fetchall()
        found = [
            StoredResource(
                number, Address(kind, name, parent, version), state, operation, json.loads(text)
            )
            for number, kind, name, parent, version, state, operation, text in read
        ]
        service.show_nodes(call.handle, db, workspace, found)
    return found


def _page(call: Call, rest: list[Item], key: Callable[[Item], Sequence[Data]]) -> Page[Item]:
    """The first of `rest`, which may hold one item more than the page does."""
    limit = _limit(call)
    items = rest[:limit]
    top = _top(call)
    more = len(rest) > limit and (top is None or top > limit or call.kind in _LED_ON)
    return Page(items, key(items[-1]) if more and items else None)


def _limit(call: Call) -> int:
    wanted = [_number(call, name) for name in ("$top", "count")]
    return min(call.settings.page, *(each for each in wanted if each), call.settings.page)


def _top(call: Call) -> int | None:
    """How many items are wanted in all."""
    return _number(call, "$top")


def _number(call: Call, name: str) -> int | None:
    text = call.request.query_value(name)
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 2**31):
        told = f"`{name}` must be a whole number from 1, not `{text}`."
        raise Permanent("InvalidQueryParameterValue", told, target=name)
    return int(text)


def _after(call: Call, *shape: type) -> list[Data] | None:
    """The key that the page begins after, as `answer` wrote it."""
    token = call.request.query_value("$skipToken")
    if not token:
        return None
    try:
        after = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error, RecursionError):
        after = None
    if not isinstance(after, list) or [type(each) for each in after] != list(shape):
        told = f"`{token}` is no $skipToken of this list."
        raise Permanent("InvalidQueryParameterValue", told, target="$skipToken")
    return after
