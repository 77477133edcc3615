"""Cards made of recorded exchanges, with what is their owner's blotted out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from urllib.parse import parse_qsl, unquote, urlsplit

from conformance.blot import Blotter
from conformance.card import Card, CardRequest, CardResponse
from conformance.exchanges import Exchange
from mlctl.kinds.address import PROVIDER
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data

_ARM = re.compile(
    rf"/providers/({re.escape(PROVIDER)}|Microsoft\.Authorization/locks)", re.IGNORECASE
)
_SCORING = re.compile(r"\.inference\.(ml|mlstaging)\.azure\.|\.inference\.ml\.", re.IGNORECASE)
_HEADERS = re.compile(
    r"location|azure-asyncoperation|retry-after|etag|x-ms-(async-operation|ratelimit|response-type)"
    r".*|azureml-model-deployment",
    re.IGNORECASE,
)
_SENT = re.compile(r"content-type|if-(none-)?match|azureml-model-deployment", re.IGNORECASE)
_VERBS = {"GET": "get", "PUT": "put", "PATCH": "patch", "DELETE": "delete", "POST": "action"}
_SIGNED = frozenset({"t", "c", "s", "h"})  # of the links of operations
_POLLED = re.compile(r"/locations/[^/]+/\w*operation\w*/", re.IGNORECASE)
_COLLECTION = re.compile(r"/providers/[\w.]+/\w+(/[^/]+/\w+)*$")  # also one that is not there


def cards(
    recorded: Iterable[Exchange], source: Mapping[str, Data], used_ids: Collection[str] = ()
) -> list[Card]:
    """A card for each exchange with Azure Machine Learning, blotted out; others are left out.

    `source` says where the recording is from; the number of the exchange in it is added. The ids
    are none of those that are `taken`.
    """
    numbered = [
        (number, exchange) for number, exchange in enumerate(recorded) if _is_wanted(exchange)
    ]
    blotter = Blotter()
    for _, exchange in numbered:
        blotter.learn([exchange.url, exchange.request, exchange.response])
    new_cards: list[Card] = []
    for number, exchange in numbered:
        new_cards.append(_card(exchange, {**source, "entry": number}, blotter, new_cards, used_ids))
    return new_cards


def _is_wanted(exchange: Exchange) -> bool:
    parts = urlsplit(exchange.url)
    return bool(_ARM.search(parts.path) or _SCORING.search(parts.netloc))


def _card(
    exchange: Exchange,
    source: Mapping[str, Data],
    blotter: Blotter,
    earlier: list[Card],
    used_ids: Collection[str],
) -> Card:
    parts = urlsplit(exchange.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    path = blotter.text(unquote(parts.path))
    previous = _before(path, earlier)
    kind = previous.kind if previous and _POLLED.search(path) else _kind(path)
    operation = _operation(exchange.method, path, exchange.response)
    used = {*used_ids, *(card.id for card in earlier)}
    ids = (f"{kind}-{operation}-{number}" for number in count(1))
    request = CardRequest(
        exchange.method,
        path,
        None if _ARM.search(parts.path) else blotter.text(parts.netloc),
        {name: blotter.text(value) for name, value in query.items() if name not in _SIGNED},
        {
            name: blotter.text(value)
            for name, value in exchange.sent.items()
            if _SENT.fullmatch(name)
        },
        blotter.data(exchange.request),
    )
    headers = {
        name: blotter.text(value)
        for name, value in exchange.headers.items()
        if _HEADERS.fullmatch(name)
        or (name.casefold() == "content-length" and not exchange.response)
    }
    return Card(
        next(card_id for card_id in ids if card_id not in used),
        kind,
        operation,
        source,
        query.get("api-version"),
        request,
        CardResponse(exchange.status, headers, blotter.data(exchange.response)),
        (previous.id,) if previous else (),
    )


def _before(path: str, earlier: list[Card]) -> Card | None:
    """The last card about the same resource, or the one whose operation is polled."""
    for card in reversed(earlier):
        links = [urlsplit(link).path for link in card.response.headers.values()]
        if path in links or card.request.path.casefold() == path.casefold():
            return card
    return None


def _kind(path: str) -> str:
    """`computes/cpu` is a compute; of collections that mlctl does not know, their own name."""
    provider, _, path_below = path.rpartition("/providers/")[2].partition("/")
    steps = path_below.split("/")
    if provider.casefold() != PROVIDER.casefold():
        return steps[0] if path_below else "invoke"
    names = [name for name in steps[2::2] if name != "versions"]
    if steps[0] == "locations":
        return "compute" if names[0].startswith("compute") else names[0]
    if not names:
        return steps[0].removesuffix("s")
    kinds_by_collection = {
        kind.collection.casefold(): name
        for name, kind in ALL.items()
        if kind.parent is None and not kind.arm.within
    }
    first = kinds_by_collection.get(names[0].casefold()) or _dashed(names[0].removesuffix("s"))
    if "deployments" in names[1:]:
        return first.replace("-endpoint", "-deployment")
    return first


def _dashed(name: str) -> str:
    """`onlineEndpoint` -> `online-endpoint`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", name).lower()


def _operation(method: str, path: str, response: Data) -> str:
    if method == "GET":
        if _POLLED.search(path):
            return "poll"
        listed = isinstance(response, dict) and "value" in response
        return "list" if listed or _COLLECTION.search(path) else "get"
    return _VERBS.get(method, method.lower())
