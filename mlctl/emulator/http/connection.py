"""uvicorn's HTTP connection with ARM's error bodies and a time-out for incomplete requests."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from mlctl.emulator.http.messages import HttpError, Response, error_response
from mlctl.service_errors import Permanent, ServiceError

ABORT = "mlctl.break"  # in the scope of a request: how to break its connection
READ_TIMEOUT = 30.0  # seconds that the head of a request, or more of its body, may take


def protocol(*arguments: Any, **keywords: Any) -> Any:
    """Create a connection; uvicorn calls this like its own protocol classes."""
    make: Any = AutoHTTPProtocol
    inner = make(*arguments, **keywords)
    application, watch = inner.app, _Watch(inner)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await application({**scope, ABORT: inner.transport.abort}, receive, send)

    inner.app = app
    inner.connection_made, inner.data_received = watch.connection_made, watch.data_received
    inner.send_400_response = lambda text: _end(inner.transport, Permanent("BadRequest", text))
    return inner


def timeout_response() -> Response:
    """The answer to a request that was not completed in time; it closes the connection."""
    text = f"The request was not complete after {READ_TIMEOUT:.0f} seconds."
    error = HttpError("RequestTimeout", text, status=408, headers={"connection": "close"})
    return error_response(error)


class _Watch:
    """Closes a connection whose next request does not complete its head in time."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._begin, self._receive = inner.connection_made, inner.data_received
        self._alarm: Any = None

    def connection_made(self, transport: Any) -> None:
        """Called by asyncio when the connection is open."""
        self._begin(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with each piece of a request."""
        if self._waits and self._alarm is None:
            self._expect()
        self._receive(data)
        if not self._waits and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    @property
    def _waits(self) -> bool:
        """Whether no request is being answered."""
        cycle = self._inner.cycle
        return cycle is None or bool(cycle.response_complete)

    def _expect(self) -> None:
        self._alarm = self._inner.loop.call_later(READ_TIMEOUT, self._give_up)

    def _give_up(self) -> None:
        self._alarm = None
        if self._waits:
            _write(self._inner.transport, timeout_response())


def _end(transport: Any, error: ServiceError) -> None:
    _write(transport, error_response(error))


def _write(transport: Any, response: Response) -> None:
    """Write a response to the transport, bypassing uvicorn, and close the connection."""
    if transport.is_closing():
        return
    headers = {**response.headers, "content-length": str(len(response.body)), "connection": "close"}
    lines = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + response.body)
    transport.close()
