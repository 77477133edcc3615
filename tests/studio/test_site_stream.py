"""The stream of changes behind the server: as long as somebody listens, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the emulator extra is not installed")

from mlctl.backends.local.backend import LocalBackend
from mlctl.emulator.http.server import Application
from mlctl.studio.site import Site
from mlctl.studio.watch import Watch

SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/t/events",
    "raw_path": b"/t/events",
    "scheme": "http",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1:1")],
}


@pytest.mark.parametrize("why", ["the client is gone", "the server ends"])
def test_a_stream_ends_with_its_client_and_with_the_server(
    local: LocalBackend, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    watch = Watch(local)
    application = Application(Site(watch, "t"))
    listeners: list[int] = []
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def converse() -> None:
        gone = asyncio.Event()
        messages = [{"type": "http.request", "body": b""}]

        async def receive() -> MutableMapping[str, Any]:
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        rest = asyncio.sleep
        looks = 0

        async def sleep(_seconds: float) -> None:
            nonlocal looks
            looks += 1
            listeners.append(watch.listeners)
            if looks == 3 and why == "the client is gone":
                gone.set()
            elif looks == 3:
                application.is_ending = lambda: True
            await rest(0)

        monkeypatch.setattr("mlctl.studio.site.asyncio.sleep", sleep)
        await asyncio.wait_for(application(SCOPE, receive, send), 10)

    asyncio.run(converse())
    assert sent[0]["status"] == 200
    assert b"event: change" in sent[1]["body"]
    assert sent[-1].get("more_body") is None
    assert (set(listeners), watch.listeners) == ({1}, 0)
