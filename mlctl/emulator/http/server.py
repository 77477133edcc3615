"""The HTTP server of the emulator: an ASGI application, run by uvicorn."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import uvicorn

from mlctl.emulator.http import connection
from mlctl.emulator.http.messages import COMPLETE, HttpError, Request, Response, error_response

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
    protocol: Any = connection.protocol
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
        timeout: float = connection.READ_TIMEOUT,
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
            return connection.timeout_response()
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
        scope[connection.ABORT]()
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
