"""URLs that an answer or a variable gives: whether they are any, and of whose host."""

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
    """The parts of a URL of a host.

    Raises:
        Permanent: it is none.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not _NETLOC.fullmatch(parts.netloc):
        raise Permanent("InvalidUrl", f"`{errors.redact(url)}` is no URL of a host")
    return parts


def origin(url: str) -> tuple[str, str]:
    """Scheme and host of a URL as they compare: in lower case, without the scheme's own port."""
    scheme, host = split(url)[:2]
    return scheme, host.lower().removesuffix(_USUAL_PORTS[scheme])


def uses_tls(base: str) -> bool:
    """Whether a URL is https; plain http is allowed on loopback only.

    Raises:
        Permanent: it is no URL, or tokens would go over the network in clear.
    """
    parts = split(base)
    if parts.scheme == "https":
        return True
    if parts.hostname in _LOOPBACK:
        return False
    raise Permanent("InsecureEndpoint", f"{base} is not https: a token sent there could be read")


def next_link(base: str, page: Mapping[str, Data]) -> str | None:
    """The URL of the page after this one; None after the last.

    Raises:
        ServiceError: it is no URL.
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
    raise errors.malformed_response(f"its nextLink is no URL: {errors.redact(repr(link))}")


class SameHostPolicy:
    """A policy that sends tokens only to the resource manager's own host and its subdomains."""

    next: Any

    def __init__(self, base: str) -> None:
        self._scheme, self._host = origin(base)

    def send(self, request: Any) -> Any:
        """Send a request.

        Raises:
            Permanent: its URL is of another host, or is none.
        """
        scheme, host = origin(request.http_request.url)
        if scheme != self._scheme or not f".{host}".endswith(f".{self._host}"):
            message = f"an answer leads to another host ({host}), which gets no token from here"
            raise Permanent("ForeignLink", message)
        return self.next.send(request)
