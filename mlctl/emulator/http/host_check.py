"""A check of the Host and Origin headers, against web pages.

A web page can let its own host name resolve to 127.0.0.1, and then reaches the emulator as its own
origin (DNS rebinding). The browser still sends the page's name as the Host. Any page can also send
a form to the emulator; then the browser names the page as the Origin.
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
    answer: Callable[[Request], Response],
    bound: str,
    names: Collection[str],
    hint: str = "If it should be, start it with --allow-host and that name.",
) -> Callable[[Request], Response]:
    """A handler that refuses requests for other hosts (421) and those of web pages (403).

    Allowed hosts are the address it is `bound` to (every address, where that is all interfaces),
    loopback, and the other `names`.
    """
    allowed = {allowed_name.casefold().strip("[]") for allowed_name in (bound, *names)}

    def check_host(request: Request) -> Response:
        host = _name(request.header("host"))
        if _is_cross_origin(request):
            text = "This request was sent by a web page of another origin."
            return error_response(Permanent("CrossOriginRequest", text, status=403))
        if host in allowed or _is_ours(host, anywhere=bound in ALL_INTERFACES):
            return answer(request)
        text = f"This server is not known as '{host}'. {hint}"
        return error_response(Permanent("MisdirectedRequest", text, status=421))

    return check_host


def _is_cross_origin(request: Request) -> bool:
    """Whether a browser says that a page of another origin sends the request.

    Other programs send neither header.
    """
    if request.header("sec-fetch-site").casefold() in ("cross-site", "same-site"):
        return True
    origin = request.header("origin").casefold()
    return origin not in ("", request.base.casefold())


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
