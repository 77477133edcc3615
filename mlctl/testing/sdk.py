"""azure-ai-ml, unmodified, on an emulator in this process."""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from typing import TYPE_CHECKING, Any

from mlctl.emulator import Emulator
from mlctl.pointer import Data

if TYPE_CHECKING:
    import pytest


import io
from http.client import HTTPMessage, HTTPResponse

import requests
import urllib3

from mlctl.emulator import Request
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


CLOUD = "AZUREML_CURRENT_CLOUD"  # MLClient writes the name of its cloud there, and reads it later
TRANSPORTS: dict[str, Any] = {}  # by the URLs that `lead_here` leads to them
_numbers = itertools.count()


class Login:
    """Tokens of no issuer for whoever asks, each for the audience that is asked for.

    The SDK looks at the audience of the token that goes with a pipeline job.
    """

    def get_token(self, *scopes: str, **_: Any) -> Any:
        """A token for an hour."""
        from azure.core.credentials import AccessToken

        claims = {"aud": scopes[0].removesuffix("/.default").rstrip("/"), "tid": "tenant"}
        token = f"{_part({'alg': 'none'})}.{_part(claims)}.{_part({})}"
        return AccessToken(token, int(time.time()) + 3600)


def client(emulator: Emulator, *scope: str, **more: str) -> tuple[Any, Any]:
    """An MLClient on an emulator, and the transport between them.

    `scope` is subscription, resource group and workspace; `more` are further arguments of MLClient.

    Raises:
        ImportError: azure-ai-ml is not installed.
    """
    from azure.ai.ml import MLClient

    number = next(_numbers)  # the SDK keeps the first URL of a cloud's name
    base = f"https://emulator-{number}.test"
    transport = TRANSPORTS[base] = InProcess(emulator)
    urls = ("azure_portal", "resource_manager", "active_directory", "aml_resource_id")
    metadata = dict.fromkeys(urls, base)
    metadata |= {
        "storage_endpoint": "core.windows.net",
        "registry_discovery_endpoint": f"{base}/",
    }
    ml_client = MLClient(
        Login(),
        *scope,
        cloud=f"Emulator{number}",
        cloud_metadata=metadata,
        show_progress=False,
        enable_telemetry=False,
        **more,
    )
    return ml_client, transport


def lead_here(patch: pytest.MonkeyPatch) -> None:
    """Let every session of `requests` find the emulators, also those that the SDK makes.

    Raises:
        ImportError: requests, which azure-ai-ml brings, is not installed.
    """
    import requests

    usual = requests.Session.get_adapter

    def get_adapter(session: Any, url: str) -> Any:
        transports = (
            transport_ for base, transport_ in TRANSPORTS.items() if url.startswith(f"{base}/")
        )
        return next(transports, None) or usual(session, url)

    patch.setattr(requests.Session, "get_adapter", get_adapter)
    patch.setenv(CLOUD, os.environ.get(CLOUD, ""))  # so that it is put back, or taken away
    patch.delenv(CLOUD)
    patch.setenv("AZURE_ML_DISABLE_ON_DISK_CACHE", "True")


class Leading:
    """Leads `requests` to the emulators while there are clients, and then leaves no trace."""

    def __init__(self) -> None:
        self._clients = 0
        self._patch: pytest.MonkeyPatch | None = None

    def begin(self) -> None:
        """For one more client.

        Raises:
            ImportError: requests is not installed.
        """
        import pytest

        if not self._clients:
            self._patch = pytest.MonkeyPatch()
            lead_here(self._patch)
        self._clients += 1

    def end(self, transport: Any) -> None:
        """A client is not used any more."""
        for base in [base for base, registered in TRANSPORTS.items() if registered is transport]:
            del TRANSPORTS[base]
        self._clients -= 1
        if not self._clients and self._patch is not None:
            self._patch.undo()


LEADING = Leading()


def _part(data: Data) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()
