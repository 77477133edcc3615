"""A check of the Host header, against DNS rebinding.

A web page can let its own host name resolve to 127.0.0.1, and then reaches the emulator as its own
origin. The browser still sends the page's name as the Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from mlctl.emulator.http.messages import Request, Response, error_response
from mlctl.service_errors import Permanent

ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104 - names; nothing is bound here
_LOOPBACK = "localhost"


def with_host_check(
    answer: Callable[[Request], Response], bound: str, more: Collection[str]
) -> Callable[[Request], Response]:
    """A handler that refuses (421) requests for other hosts.

    Allowed are the address it is `bound` to (every address, where that is all interfaces),
    loopback, and the names in `more`.
    """
    known = {each.casefold().strip("[]") for each in (bound, *more)}

    def admitted(request: Request) -> Response:
        host = _name(request.header("host"))
        if host in known or _is_ours(host, anywhere=bound in ALL_INTERFACES):
            return answer(request)
        text = (
            f"This emulator is not known as '{host}'. If it should be, start it with"
            " --allow-host and that name."
        )
        return error_response(Permanent("MisdirectedRequest", text, status=421), "")

    return admitted


def _name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return header[:80]


def _is_ours(host: str, *, anywhere: bool) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == _LOOPBACK or host.endswith("." + _LOOPBACK)
    return anywhere or address.is_loopback
