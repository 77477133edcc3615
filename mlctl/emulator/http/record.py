"""Record requests and answers, one JSON object per line, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from threading import Lock

from mlctl.emulator.http.messages import Request, Response
from mlctl.masking import MASK, mask, names_secret
from mlctl.pointer import Data

_SECRET = re.compile(
    r"password|secret|sas|sig$|signature|accesskey|accountkey|token|authorization|identity-header"
    r"|sshpublickey|^(?:primary|secondary)?key$|^keyvalue$",
    re.IGNORECASE,
)
_OPEN = frozenset({"secretstype", "token_type", "$skiptoken"})
_LONGEST = 100_000  # bytes of a body that is written down


class Recorder:
    """A handler that answers as `answer` does, and writes a line about it with `write`."""

    def __init__(
        self,
        answer: Callable[[Request], Response],
        write: Callable[[str], object],
        now: Callable[[], float],
    ) -> None:
        self._answer = answer
        self._write = write
        self._now = now
        self._lock = Lock()

    def __call__(self, request: Request) -> Response:
        """The response to a request."""
        began = self._now()
        response = self._answer(request)
        line = json.dumps(_line(request, response, self._now() - began), ensure_ascii=False)
        with self._lock:
            self._write(line + "\n")
        return response


def _line(request: Request, response: Response, seconds: float) -> Data:
    return {
        "method": request.method,
        "path": mask(request.path),
        "query": _redact(dict(request.query)),
        "headers": _redact(dict(request.headers)),
        "body": _body(request.body),
        "status": response.status,
        "response_headers": _redact(dict(response.headers)),
        "response": _body(response.body),
        "cut": response.cut,
        "milliseconds": round(seconds * 1000, 3),
    }


def _body(content: bytes) -> Data:
    """Return JSON as data; for anything else only its length."""
    if not content or len(content) > _LONGEST:
        return {"bytes": len(content)} if content else None
    try:
        return _redact(json.loads(content))
    except (ValueError, RecursionError):
        return {"bytes": len(content)}


def _redact(data: Data) -> Data:
    """Replace the secrets of the data by `***`."""
    match data:
        case dict():
            return {
                key: MASK if _is_secret(key, value) else _redact(value)
                for key, value in data.items()
            }
        case list():
            return [_redact(item) for item in data]
        case str():
            return mask(data)
        case _:
            return data


def _is_secret(key: str, value: Data) -> bool:
    if names_secret(key, value):
        return True
    secret = _SECRET.search(key) and key.casefold() not in _OPEN
    return bool(secret) and isinstance(value, str) and value != ""
