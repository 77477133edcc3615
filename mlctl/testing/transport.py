"""The emulator as a transport of `requests`: the real SDK's pipeline, without a socket."""

from __future__ import annotations

import io
from http.client import HTTPMessage, HTTPResponse
from typing import Any

import requests
import urllib3

from mlctl.emulator import Emulator, Request
from mlctl.emulator.http.messages import COMPLETE


class InProcess:
    """An adapter of `requests` for the URL that the emulator is to answer."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.seen: list[Request] = []
        self.patience: list[Any] = []  # seconds to connect and to read in, of each request

    def send(self, request: Any, timeout: Any = None, **_: Any) -> Any:
        self.patience.append(timeout)
        body = request.body or b""
        content = body.read() if hasattr(body, "read") else body
        message = Request.to(
            request.method,
            request.url,
            dict(request.headers),
            content.encode() if isinstance(content, str) else content,
        )
        self.seen.append(message)
        answer = self.emulator(message)
        if answer.cut is not COMPLETE:
            raise requests.ConnectionError("the connection was lost")
        raw: Any = urllib3.HTTPResponse(
            io.BytesIO(b"" if request.method == "HEAD" else answer.body),
            dict(answer.headers),
            answer.status,
            preload_content=False,
            request_method=request.method,  # the answer to a HEAD has a length and no body
        )
        socket: Any = _Socket()
        raw._original_response = HTTPResponse(socket)
        raw._original_response.msg = HTTPMessage()
        return requests.adapters.HTTPAdapter().build_response(request, raw)

    def close(self) -> None: ...


class _Socket:
    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO()
