"""Builders: a service that answers as cards have it, in this process."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote

from conformance import Card, load
from mlctl.emulator import Request, Response
from mlctl.kinds.address import Scope
from mlctl.pointer import Data, texts
from tests.builders.azure import BASE, SCOPE, no, says

CARDS: Mapping[str, Card] = {card.id: card for card in load()}
_ASKED_FIRST = ("workspace-get", "usages-list")


def filled(data: Data, scope: Scope = SCOPE) -> Data:
    """Data of a card with the names of a workspace, and the address of the replayed service."""
    names = {
        "subscription": scope.subscription,
        "resourceGroup": scope.resource_group,
        "workspace": scope.workspace,
        "location": "eastus",
    }
    text = json.dumps(data).replace("https://management.azure.com", BASE)
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return json.loads(text)


def answer(card: Card) -> Response:
    """The recorded answer."""
    recorded = card.response
    if recorded.body is None:
        text = b"null" if recorded.headers.get("Content-Length") == "4" else b""
        return Response(recorded.status, filled(dict(recorded.headers)), text)
    return says(recorded.status, filled(recorded.body), filled(dict(recorded.headers)))


_PLACE = re.compile(r"/locations/[a-z0-9]+/(usages|quotas)")  # the same in every region


@dataclass
class Replayed:
    """Answers each request with the card of its method and path; of several, in their order.

    The last answer is given again. A resource that only its PUT shows is read as that told it, and
    what a path or a body names is there. Nothing else is. `bodies` are the JSON bodies of writes.
    """

    cards: list[Card]
    bodies: list[Data] = field(default_factory=list)

    @classmethod
    def of(cls, *ids: str) -> Self:
        """The service of the cards with these ids, of the workspace and the quotas."""
        return cls([CARDS[one] for one in (*ids, *_ASKED_FIRST)])

    def __call__(self, request: Request) -> Response:
        if request.body and request.method in ("PUT", "PATCH", "POST"):
            self.bodies.append(json.loads(request.body))
        path = _PLACE.sub(r"/locations/eastus/\1", unquote(request.path))
        here = [card for card in self.cards if filled(card.request.path) == path]
        fitting = [card for card in here if card.request.method == request.method]
        if len(fitting) > 1:
            self.cards.remove(fitting[0])
        if fitting:
            return answer(fitting[0])
        if request.method == "GET" and here:
            return says(200, filled(here[-1].response.body))
        if request.method == "GET" and self._is_named(path):
            return says(200, {"id": path, "properties": {"computeType": "AmlCompute"}})
        return no(404, "NotFound")

    def _is_named(self, path: str) -> bool:
        """Whether a card is about something beneath a path, or an answer names it."""
        if any(filled(card.request.path).startswith(f"{path}/") for card in self.cards):
            return True
        bodies = [filled(card.response.body) for card in self.cards]
        return any(path == text for body in bodies for at, text in texts(body) if at != ("id",))
