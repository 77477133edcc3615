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
    recorded: Iterable[Exchange], source: Mapping[str, Data], taken: Collection[str] = ()
) -> list[Card]:
    """A card for each exchange with Azure Machine Learning, blotted out; others are left out.

    `source` says where the recording is from; the number of the exchange in it is added. The ids
    are none of those that are `taken`.
    """
    wanted = [(number, one) for number, one in enumerate(recorded) if _is_wanted(one)]
    blotter = Blotter()
    for _, one in wanted:
        blotter.learn([one.url, one.request, one.response])
    made: list[Card] = []
    for number, one in wanted:
        made.append(_card(one, {**source, "entry": number}, blotter, made, taken))
    return made


def _is_wanted(one: Exchange) -> bool:
    parts = urlsplit(one.url)
    return bool(_ARM.search(parts.path) or _SCORING.search(parts.netloc))


def _card(
    one: Exchange,
    source: Mapping[str, Data],
    blotter: Blotter,
    earlier: list[Card],
    taken: Collection[str],
) -> Card:
    parts = urlsplit(one.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    path = blotter.text(unquote(parts.path))
    before = _before(path, earlier)
    kind = before.kind if before and _POLLED.search(path) else _kind(path)
    operation = _operation(one.method, path, one.response)
    used = {*taken, *(card.id for card in earlier)}
    ids = (f"{kind}-{operation}-{number}" for number in count(1))
    request = CardRequest(
        one.method,
        path,
        None if _ARM.search(parts.path) else blotter.text(parts.netloc),
        {name: blotter.text(held) for name, held in query.items() if name not in _SIGNED},
        {name: blotter.text(held) for name, held in one.sent.items() if _SENT.fullmatch(name)},
        blotter.data(one.request),
    )
    headers = {
        name: blotter.text(held)
        for name, held in one.headers.items()
        if _HEADERS.fullmatch(name) or (name.casefold() == "content-length" and not one.response)
    }
    return Card(
        next(each for each in ids if each not in used),
        kind,
        operation,
        source,
        query.get("api-version"),
        request,
        CardResponse(one.status, headers, blotter.data(one.response)),
        (before.id,) if before else (),
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
    provider, _, rest = path.rpartition("/providers/")[2].partition("/")
    steps = rest.split("/")
    if provider.casefold() != PROVIDER.casefold():
        return steps[0] if rest else "invoke"
    names = [name for name in steps[2::2] if name != "versions"]
    if steps[0] == "locations":
        return "compute" if names[0].startswith("compute") else names[0]
    if not names:
        return steps[0].removesuffix("s")
    known = {
        one.collection.casefold(): name
        for name, one in ALL.items()
        if one.parent is None and not one.arm.within
    }
    first = known.get(names[0].casefold()) or _dashed(names[0].removesuffix("s"))
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
