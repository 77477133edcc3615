"""What a card presupposes, written to a service before the card is tried.

It comes from the card itself: a resource that was read, changed or removed is written as the
answer shows it. What a card only names (the cluster of a deployment) is written as another card
writes its like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from conformance.card import Card, CardRequest, CardResponse
from conformance.story import Learned, Place, filled, ids
from mlctl.pointer import Data, get
from mlctl.simulator.control_plane.resources.datastores import SECRETS

Service = Callable[[CardRequest], CardResponse]
ENDED = ("Succeeded", "Failed", "Canceled", "Completed")
OPERATION = "azure-asyncoperation"
_DONE, _NOTHING, _MISSING = 200, 204, 404
_TRIES = 400  # until something has ended: a job that is asked for goes on by a minute
_SAID_BY_SERVICE = ("id", "name", "type", "systemData", "etag")
_IMMUTABLE = re.compile(r'field "(\w+)" is immutable')  # of an error: it was there, otherwise
_ABOUT_NOTHING = "startPendingUpload"  # it gives room for a version that is yet to be made
_MOMENT = 10.0  # seconds that may pass between creation and first change of what is new


@dataclass
class Arranger:
    """Writes what cards presuppose, in one place.

    `exemplars` are the cards that show how a kind of resource is written, the first ones first.
    """

    service: Service
    place: Place
    exemplars: Iterable[Card]
    troubles: list[str] = field(default_factory=list)
    _busy: list[str] = field(default_factory=list)  # paths, against rings

    def before(self, card: Card, version: str) -> None:
        """Write what an exchange presupposes; `card` has the names of the place."""
        request, response = card.request, card.response
        if request.host is not None and not response.is_error:
            self._ensure(get(response.body, ("id",), ""), None, version, parents_only=True)
        why = str(get(response.body, ("error", "message")))
        for path in ids(request.body, self.place):
            if path not in why:  # otherwise it was missing
                self._ensure(path, None, version)
        if not request.path.casefold().startswith(self.place.path.casefold() + "/"):
            for row in (*_rows(response.body), response.body):
                if get(row, ("id",)) == self.place.path:
                    self._put(self.place.path, _writable(row), version)
            return
        self._ensure(request.path, None, version, parents_only=True)
        immutable = _IMMUTABLE.search(why)
        if not response.is_error:
            self._target(card, version)
        elif immutable:
            self._ensure(request.path, _without_key(request.body, immutable[1]), version)

    def older(self, listed: Card, card: Card, version: str) -> None:
        """Write what a page of a list leads on to, before a card writes or lists its last row.

        It is a row like that one, under another name.
        """
        rows = [*_rows(listed.response.body)]
        if not rows or not get(listed.response.body, ("nextLink",)):
            return
        last, request = rows[-1], (card.request.method, card.request.path)
        begins = card.id == listed.id or request == ("PUT", last["id"])
        if begins and self._ask("GET", last["id"], None, version).status == _MISSING:
            self._ensure(f"{last['id']}0", last, version)

    def _target(self, card: Card, version: str) -> None:
        request, body = card.request, card.response.body
        match request.method:
            case "GET" if isinstance(body, dict) and "id" in body:
                self._ensure(body["id"], body, version)
            case "GET":
                for row in reversed([*_rows(body)]):
                    self._ensure(row["id"], row, version)
            case "PUT" if card.response.status == _DONE or _was_there(body):
                self._ensure(request.path, _merged(request.body, body), version)
            case "DELETE" if card.response.status == _NOTHING:
                pass  # it was not there
            case "DELETE" | "PATCH":
                self._ensure(request.path, body, version)
            case "POST" if not request.path.endswith(_ABOUT_NOTHING):
                self._ensure(request.path.rpartition("/")[0], None, version)

    def _ensure(
        self, path: str, resource: Data, version: str, *, parents_only: bool = False
    ) -> None:
        """Make sure that a resource is there, as it was shown, or as its like is written."""
        inside = path[len(self.place.path) :].strip("/").split("/")
        if not inside[1:] or path.casefold() in self._busy:
            return
        self._busy.append(path.casefold())
        for end in range(2, len(inside) - 1, 2):
            if inside[end] != "versions" and inside[0] != "providers":  # versions make containers
                self._ensure("/".join((self.place.path, *inside[:end])), None, version)
        if not parents_only and len(inside) % 2 == 0:
            self._create(path, resource, version)
        self._busy.remove(path.casefold())

    def _create(self, path: str, resource: Data, version: str) -> None:
        if self._ask("GET", path, None, version).status != _MISSING:
            return
        latest = get(resource, ("properties", "latestVersion"))
        if isinstance(latest, str):
            self._ensure(f"{path}/versions/{latest}", None, version)
        body = _writable(resource) if resource else self._exemplar(path)
        if body is None:
            self.troubles.append(f"no card shows how {path} is written")
            return
        for named_path in ids(body, self.place):
            self._ensure(named_path, None, version)
        answered = self._put(path, body, version)
        if answered.is_error:
            return
        state = get(
            resource, ("properties", "status"), get(resource, ("properties", "provisioningState"))
        )
        self._wait_for(path, state, version)

    def _put(self, path: str, body: Data, version: str) -> CardResponse:
        answered = self._ask("PUT", path, body, version)
        if answered.is_error:
            why = get(answered.body, ("error", "message"), "")
            self.troubles.append(f"PUT of {path} was answered {answered.status}: {why}")
        self.settle(answered)
        return answered

    def _wait_for(self, path: str, state: Data, version: str) -> None:
        """Read a resource until it has ended as it was shown to have."""
        for _ in range(_TRIES if state in ENDED else 0):
            body = self._ask("GET", path, None, version).body
            at = get(body, ("properties", "status"), get(body, ("properties", "provisioningState")))
            if at is None or at in ENDED:
                return

    def settle(self, answered: CardResponse) -> None:
        """Poll the operation that an answer began, to its end."""
        headers = {name.lower(): text for name, text in answered.headers.items()}
        if OPERATION not in headers:
            return
        for _ in range(_TRIES):
            operation = self.service(at_url(headers[OPERATION])).body
            if get(operation, ("status",)) in (*ENDED, None):
                return

    def begun(self, kind: str, version: str) -> CardResponse | None:
        """The answer to a write that begins an operation of a kind, as a card writes it."""
        for card in self.exemplars:
            headers = {name.lower() for name in card.response.headers}
            if card.kind == kind and card.request.method == "PUT" and OPERATION in headers:
                card_here = filled(card, self.place, Learned())
                self.before(card_here, version)
                return self._ask("PUT", card_here.request.path, card_here.request.body, version)
        return None

    def _exemplar(self, path: str) -> Data:
        """The body with which another card writes a resource of the same type, or shows it.

        Cards about one of the same name come first, above all of the same parent or version, too.
        """
        collections = _collections(path[len(self.place.path) :])
        alike = [
            card
            for card in self.exemplars
            if _collections(card.request.path.partition("/workspaces/{workspace}")[2])
            == collections
            and not card.response.is_error
        ]
        names = path.split("/")[::-2]
        alike.sort(key=lambda card: -_common(names, card.request.path.split("/")[::-2]))
        writes = (card for card in alike if card.request.method == "PUT")
        reads = (card for card in alike if get(card.response.body, ("id",)))
        card = next(writes, None) or next(reads, None)
        if card is None:
            return None
        card_here = filled(card, self.place, Learned())
        return card_here.request.body or _writable(card_here.response.body)

    def _ask(self, method: str, path: str, body: Data, version: str) -> CardResponse:
        return self.service(CardRequest(method, path, query={"api-version": version}, body=body))


def _common(names: Sequence[str], others: Sequence[str]) -> int:
    """How many names of two paths agree."""
    return sum(name == other for name, other in zip(names, others, strict=False))


def at_url(url: str) -> CardRequest:
    """The GET of an absolute URL."""
    parts = urlsplit(url)
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    return CardRequest("GET", parts.path, query={name: value for name, _, value in pairs})


def _collections(path: str) -> tuple[str, ...]:
    """The type of a resource by its path in the workspace: `("batchEndpoints", "deployments")`."""
    inside = path.strip("/").casefold().split("/")
    return tuple(inside[::2]) if len(inside) % 2 == 0 else ()


def _rows(body: Data) -> Iterator[Mapping[str, Data]]:
    for row in get(body, ("value",), ()):
        if isinstance(row, dict) and isinstance(row.get("id"), str) and "properties" in row:
            yield row


def _writable(body: Data) -> Data:
    """What was shown, as a body to write: without nulls and without what the service says."""
    writable = _without_nulls({key: body[key] for key in body if key not in _SAID_BY_SERVICE})
    credentials = get(writable, ("properties", "credentials"), {})
    secret = SECRETS.get(str(credentials.get("credentialsType")))
    if secret:  # which no answer shows
        credentials["secrets"] = {"secretsType": credentials["credentialsType"], secret: "REDACTED"}
    return writable


def _without_nulls(data: Data) -> Data:
    if isinstance(data, dict):
        return {
            key: _without_nulls(value)
            for key, value in data.items()
            if value is not None and key != "provisioningState"
        }
    return [_without_nulls(item) for item in data] if isinstance(data, list) else data


def _merged(sent: Data, recorded: Data) -> Data:
    """What was there before a PUT over it: what was shown, and what is sent and never shown."""
    if not isinstance(sent, dict) or not isinstance(recorded, dict):
        return sent if recorded is None else recorded
    return {**sent, **{key: _merged(sent.get(key), value) for key, value in recorded.items()}}


def _without_key(data: Data, key: str) -> Data:
    """Plain data without a key, wherever that is."""
    if isinstance(data, dict):
        return {name: _without_key(value, key) for name, value in data.items() if name != key}
    return [_without_key(item, key) for item in data] if isinstance(data, list) else data


def _was_there(body: Data) -> bool:
    """Whether an answer shows what was made before: it was created well before its change."""
    for at in (("systemData",), ("properties",)):
        created = get(body, (*at, "createdAt"), get(body, (*at, "createdOn")))
        changed = get(body, (*at, "lastModifiedAt"), get(body, (*at, "modifiedOn")))
        if isinstance(created, str) and isinstance(changed, str):
            apart = datetime.fromisoformat(changed) - datetime.fromisoformat(created)
            return apart.total_seconds() > _MOMENT
    return False
