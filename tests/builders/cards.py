"""Builders: an emulator in memory, as cards ask it."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

from mlctl.cards.arrange import Service
from mlctl.cards.card import CardRequest, CardResponse
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
