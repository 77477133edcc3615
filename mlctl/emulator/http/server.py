"""The HTTP server of the emulator: an ASGI application, run by uvicorn.

Its connections have ARM's error bodies, and a time-out for incomplete requests.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from mlctl.dataclasses import replace
from mlctl.emulator.http.messages import COMPLETE, HttpError, Request, Response, error_response
from mlctl.service_errors import Permanent, ServiceError

ABORT = "mlctl.break"  # in the scope of a request: how to break its connection
READ_TIMEOUT = 30.0  # seconds that the head of a request, or more of its body, may take


def make_connection(*arguments: Any, **keywords: Any) -> Any:
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
            _write_and_close(self._inner.transport, timeout_response())


def _end(transport: Any, error: ServiceError) -> None:
    _write_and_close(transport, error_response(error))


def _write_and_close(transport: Any, response: Response) -> None:
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


RequestHandler: TypeAlias = Callable[[Request], Response]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

LARGEST_BODY = 16 * 2**20  # bytes; blobs may be larger
LARGEST_BLOB = 256 * 2**20
_BLOBS = "/blob/"
_ONLINE, _INVOKED = "/online/", "/jobs"  # where paths begin or end that may run code
_JOBS = "/jobs/"  # of one that is created
_BACKLOG = 2048
_IDLE_SECONDS = 75
_GRACE_SECONDS = 1
_COLLECT_EVERY = 700  # new containers, as Python has it; commands collect garbage less often


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one.

    Raises:
        OSError: the address is taken, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def serve(
    answer: RequestHandler,
    listener: socket.socket,
    tls: tuple[Path, Path] | None,
    ready: Callable[[], None],
    *,
    threads: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM; `tls` is a certificate and its key.

    With `threads`, each request gets a thread, as requests that may run code do anyway.

    `ready` is called once it listens. On a signal, running requests are finished, and idle
    connections are closed.
    """
    certificate, key = tls or (None, None)
    protocol: Any = make_connection
    application = Application(answer, threads=threads)
    config = uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server: Any = uvicorn.Server(config)
    application.is_ending = lambda: bool(server.should_exit)
    begin = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await begin(sockets)
        ready()

    server.startup = startup
    gc.freeze()  # what was imported stays, and is not looked through again
    gc.set_threshold(_COLLECT_EVERY)
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, _ignore_signal)  # uvicorn raises them again when it has ended
    server.run([listener])


def _ignore_signal(*_: object) -> None: ...


class Application:
    """The ASGI application: reads a request, answers it, and sends the response with its faults.

    Requests are handled on the event loop itself: each takes a fraction of a millisecond, and the
    state has one lock, so that threads would only wait for each other. Those that may run the
    user's code get a thread.
    """

    def __init__(
        self,
        answer: RequestHandler,
        timeout: float = READ_TIMEOUT,
        *,
        threads: bool = False,
    ) -> None:
        """`timeout` is how many seconds a client may be silent in the middle of a request."""
        self._answer = answer
        self._timeout = timeout
        self._threads = threads
        self.is_ending: Callable[[], bool] = lambda: False  # then streams end, too

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        request = _request(scope)
        largest = LARGEST_BLOB if request.path.startswith(_BLOBS) else LARGEST_BODY
        response = await self._answered(request, receive, largest)
        if response.wait:
            await asyncio.sleep(response.wait)
        if response.stream is not None:
            await self._send_stream(response, response.stream, receive, send)
            return
        if request.method == "HEAD":
            response = replace(response, headers=_with_length(response), body=b"")
        await _send(response, scope, send)

    async def _answered(self, request: Request, receive: Receive, largest: int) -> Response:
        if _is_refused_upload(request, largest):
            return _too_large(largest, {"connection": "close"})
        try:
            body = await _body(receive, largest, self._timeout)
        except TimeoutError:
            return timeout_response()
        if body is None:
            return _too_large(largest)
        whole = replace(request, body=body)
        creates_job = request.method == "PUT" and _JOBS in request.path
        runs_code = (
            creates_job or request.path.startswith(_ONLINE) or request.path.endswith(_INVOKED)
        )
        if runs_code or self._threads:
            return await asyncio.to_thread(self._answer, whole)
        return self._answer(whole)

    async def _send_stream(
        self, response: Response, stream: AsyncGenerator[bytes, None], receive: Receive, send: Send
    ) -> None:
        await _send_head(response.status, response.headers, send)
        end = asyncio.ensure_future(receive())  # the body was read: only its end can come
        try:
            async with aclosing(stream):
                async for part in stream:
                    if end.done() or self.is_ending():
                        break
                    if part:
                        await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            end.cancel()
        await send({"type": "http.response.body", "body": b""})


def _is_refused_upload(request: Request, largest: int) -> bool:
    """Whether the client waits for `100 Continue` before a body that is too large."""
    length = request.header("content-length")
    waits = request.header("expect").casefold() == "100-continue"
    return waits and length.isdecimal() and int(length) > largest


def _too_large(largest: int, headers: Mapping[str, str] | None = None) -> Response:
    text = f"The request is larger than {largest // 2**20} MB."
    return error_response(HttpError("RequestEntityTooLarge", text, status=413, headers=headers))


def _request(scope: Message) -> Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    base = f"{scope['scheme']}://{headers.get('host', '')}"
    return Request(scope["method"], path, dict(reversed(pairs)), headers, b"", base)


async def _body(receive: Receive, largest: int, timeout: float) -> bytes | None:
    """The body; None when it is too large.

    It is read to its end even then: a client that is still writing would not read the answer.

    Raises:
        TimeoutError: the client is silent for longer than `timeout`.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        async with asyncio.timeout(timeout):  # `wait_for` would make a task of each
            message = await receive()
        if message["type"] == "http.disconnect":
            return b"" if size <= largest else None
        size += len(message.get("body", b""))
        if size <= largest:
            parts.append(message.get("body", b""))
        else:
            parts.clear()
        if not message.get("more_body"):
            return b"".join(parts) if size <= largest else None


async def _send_head(status: int, headers: Mapping[str, str], send: Send) -> None:
    start = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": start})


async def _send(response: Response, scope: Message, send: Send) -> None:
    if response.cut is not COMPLETE and response.cut < 0:
        scope[ABORT]()
        return
    await _send_head(response.status, _with_length(response), send)
    if response.cut is COMPLETE:
        await send({"type": "http.response.body", "body": response.body})
    else:  # uvicorn closes the connection when the application ends early
        part = response.body[: response.cut]
        await send({"type": "http.response.body", "body": part, "more_body": True})


def _with_length(response: Response) -> Mapping[str, str]:
    if response.status in (204, 304):
        return response.headers
    return {"content-length": str(len(response.body)), **response.headers}
