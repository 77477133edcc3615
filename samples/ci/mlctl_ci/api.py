"""A REST API of JSON, as all three hosts have one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

_SECONDS = 60
_LONGEST = 300  # characters of an answer that a message repeats


class ApiError(Exception):
    """The host says no, or nothing; the message has the request, the status and what it said."""


class Api:
    """Requests to one host."""

    def __init__(
        self, base: str, headers: Mapping[str, str], need: str, files: tuple[str, ...] = ()
    ) -> None:
        """`need` is told where the host refuses: the right that is wanting.

        `files` are domains beside that of `base` which may see the token, too.
        """
        self.base, self.headers, self.need = base.rstrip("/"), dict(headers), need
        self._files = files

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, or None where it is empty.

        Raises:
            ApiError: the host refuses, or cannot be reached.
        """
        return _decoded(self._ask(method, path, body)[0])

    def pages(self, path: str) -> Iterator[Any]:
        """The items of a list, page after page, by the links in its headers."""
        following: str | None = path
        while following:
            content, link = self._ask("GET", following)
            yield from _decoded(content)
            found = re.search(r'<([^>]+)>;\s*rel="?next"?', link)
            following = found[1] if found else None

    def download(self, path: str) -> bytes:
        """What a file holds."""
        return self._ask("GET", path)[0]

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[bytes, str]:
        url = path if path.startswith(("https://", "http://")) else self.base + path
        if not self._trusts(url):
            raise ApiError(f"{self.base} leads to another host: {url}")
        request = Request(  # noqa: S310  # the host's own, as it says in its variables
            url, method=method, data=None if body is None else json.dumps(body).encode()
        )
        if body is not None:
            request.add_header("Content-Type", _content_type(body))
        for name, value in self.headers.items():
            # A redirection leads to storage, which is to see no token.
            request.add_unredirected_header(name, value)
        try:
            with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                return answer.read(), answer.headers.get("Link", "")
        except HTTPError as error:
            said = error.read().decode(errors="replace")[:_LONGEST]
            need = f" ({self.need})" if error.code in (401, 403, 404) else ""
            raise ApiError(f"{method} {url}: {error.code}{need}: {said}") from error
        except (URLError, TimeoutError) as error:
            raise ApiError(f"{method} {url}: {error}") from error

    def _trusts(self, url: str) -> bool:
        """Whether the token may go there: to the same server, or to where it keeps files."""
        asked, own = urlsplit(url), urlsplit(self.base)
        if (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
            return True
        name = asked.hostname or ""
        return asked.scheme == "https" and any(name.endswith(f".{one}") for one in self._files)


def _content_type(body: Any) -> str:
    """A list is a JSON Patch, which Azure DevOps wants for work items."""
    return "application/json-patch+json" if isinstance(body, list) else "application/json"


def _decoded(content: bytes) -> Any:
    return json.loads(content) if content else None
