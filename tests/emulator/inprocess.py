"""The emulator as a transport of `requests`: the real SDK's pipeline, without a socket."""

from __future__ import annotations

import io
from email.message import Message
from http.client import HTTPResponse
from typing import Any

import requests
import urllib3

from mlctl.emulator import Emulator, Request
from mlctl.emulator.http import LOST


class InProcess(requests.adapters.BaseAdapter):
    """Mount it on a session under the URL that the emulator is to answer."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__()
        self.emulator = emulator
        self.seen: list[Request] = []

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:
        body = request.body or b""
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else body.read()
        asked = Request.to(str(request.method), str(request.url), dict(request.headers), content)
        self.seen.append(asked)
        answer = self.emulator(asked)
        if answer.cut == LOST:
            raise requests.ConnectionError("the connection was lost")
        raw = urllib3.HTTPResponse(
            io.BytesIO(answer.body), dict(answer.headers), answer.status, preload_content=False
        )
        raw._original_response = HTTPResponse(_Socket())  # type: ignore[arg-type]
        raw._original_response.msg = Message()
        response = requests.adapters.HTTPAdapter().build_response(request, raw)
        response.connection = self
        return response

    def close(self) -> None: ...


class _Socket:
    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO()
