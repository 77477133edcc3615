"""Builders: an emulator in memory, as cards ask it; which cards it does not meet yet."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from urllib.parse import quote, urlencode

from conformance.arrange import Service
from conformance.card import Card, CardRequest, CardResponse
from conformance.expected import Direction, listed
from mlctl.emulator import Request
from tests.builders.emulator import BASE, world


def service(*, strict: bool = True) -> Service:
    """A new emulator, which answers requests of cards; `strict` as of its settings."""
    emulator = world(strict=strict).emulator

    def answer(request: CardRequest) -> CardResponse:
        url = f"{BASE}{quote(request.path, safe='/:')}?{urlencode(request.query)}"
        content = b"" if request.body is None else json.dumps(request.body).encode()
        found = emulator(Request.to(request.method, url, request.headers, content))
        headers = {**found.headers, "content-length": str(len(found.body))}
        body = json.loads(found.body) if found.body else None
        return CardResponse(found.status, headers, body)

    return answer


def not_met_yet(card: Card, direction: Direction) -> bool:
    """Whether a card is listed as a gap, whose answer is still to be mended."""
    gaps = (each.cards for each in listed(direction) if each.reason.startswith("not yet: "))
    return any(fnmatchcase(card.id, pattern) for pattern in gaps)
