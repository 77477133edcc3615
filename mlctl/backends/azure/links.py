"""Check URLs from answers or variables: whether they are valid, and their host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from mlctl.backends.azure import errors
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

_USUAL_PORTS = {"https": ":443", "http": ":80"}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Host and port. Of `evil.test\.azure.test`, parsers disagree on where the host ends.
_NETLOC = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")


def split(url: str) -> SplitResult:
    """Split a URL that has a host; raises Permanent if it is not one."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not _NETLOC.fullmatch(parts.netloc):
        raise Permanent("InvalidUrl", f"`{errors.redact(url)}` is not a URL with a host")
    return parts


def origin(url: str) -> tuple[str, str]:
    """Return scheme and host of a URL in comparable form: lower case, no default port."""
    scheme, host = split(url)[:2]
    return scheme, host.lower().removesuffix(_USUAL_PORTS[scheme])


def uses_tls(base: str) -> bool:
    """Whether a URL is https; plain http is only allowed on loopback.

    Raises:
        Permanent: it is not a URL, or tokens would be sent over the network in clear text.
    """
    parts = split(base)
    if parts.scheme == "https":
        return True
    if parts.hostname in _LOOPBACK:
        return False
    raise Permanent("InsecureEndpoint", f"{base} is not https: a token sent there could be read")


def next_link(base: str, page: Mapping[str, Data]) -> str | None:
    """Return the URL of the next page; None after the last.

    Raises:
        ServiceError: it is not a URL.
    """
    link = page.get("nextLink")
    if not link:
        return None
    try:
        if isinstance(link, str):
            url = urljoin(base + "/", link)
            split(url)
            return url
    except (ValueError, Permanent):
        pass
    raise errors.malformed_response(f"its nextLink is not a URL: {errors.redact(repr(link))}")


class SameHostPolicy:
    """A policy that only sends tokens to the resource manager's host and its subdomains."""

    next: Any

    def __init__(self, base: str) -> None:
        self._scheme, self._host = origin(base)

    def send(self, request: Any) -> Any:
        """Send a request; raises Permanent if its URL is of another host, or invalid."""
        scheme, host = origin(request.http_request.url)
        if scheme != self._scheme or not f".{host}".endswith(f".{self._host}"):
            message = f"an answer leads to another host ({host}), to which mlctl sends no token"
            raise Permanent("ForeignLink", message)
        return self.next.send(request)
