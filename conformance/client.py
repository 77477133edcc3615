"""An emulator that listens, asked over one connection."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from conformance.arrange import Service
from conformance.card import CardError, CardRequest, CardResponse

_TIMEOUT = 60.0  # seconds


class AddressError(Exception):
    """That is no URL, or no certificate."""


@contextmanager
def connect(url: str, ca_file: Path | None, token: str | None) -> Iterator[Service]:
    """What answers the requests of cards.

    Raises:
        AddressError: the URL is none, or the certificate cannot be read.
        CardError: while it is used: nothing that answers as an emulator does is there.
    """
    connection = _connection(url, ca_file)

    def ask(request: CardRequest) -> CardResponse:
        try:
            return _send(connection, request, token)
        except (OSError, ValueError, http.client.HTTPException) as error:
            cause = str(error) or type(error).__name__
            raise CardError(f"{url} did not answer as an emulator does: {cause}") from None

    try:
        yield ask
    finally:
        connection.close()


def _connection(url: str, ca_file: Path | None) -> http.client.HTTPConnection:
    try:
        address = urlsplit(url)
        host, port, scheme = address.hostname, address.port, address.scheme
    except ValueError:
        host, port, scheme = None, None, ""
    if host is None or scheme not in ("http", "https"):
        raise AddressError(f"--url: `{url}` is no URL such as https://127.0.0.1:8443")
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT)
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # a certificate that is none, too
        raise AddressError(f"--ca-file: `{ca_file}`: {error.strerror or error}") from None
    return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=context)


def _send(
    connection: http.client.HTTPConnection, request: CardRequest, token: str | None
) -> CardResponse:
    headers = dict(request.headers)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    content = None
    if request.body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(request.body)
    target = quote(request.path, safe="/:")
    if request.query:
        target += f"?{urlencode(request.query)}"
    connection.request(request.method, target, content, headers)
    response = connection.getresponse()
    text = response.read()
    body = json.loads(text) if text else None
    return CardResponse(response.status, dict(response.getheaders()), body)
