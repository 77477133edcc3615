"""HTTP requests and responses, and ARM's error bodies."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from urllib.parse import parse_qsl, urlsplit

from mlctl.dataclasses import dataclass, field, replace
from mlctl.pointer import Data, check_depth
from mlctl.service_errors import CONFLICT, NotFound, Permanent, ServiceError, Transient

HERE = "https://127.0.0.1"
# Of `Response.cut`: all of it is sent; nothing is, not even the status.
COMPLETE, DROPPED = None, -1
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request.

    `path` is as it was on the wire, percent signs included; `base` is the scheme and host that the
    client used, which absolute links start with; header names are in lower case.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    base: str = HERE

    @classmethod
    def to(
        cls, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Request:
        """The request of a client with this URL; of a repeated query name the first one counts."""
        parts = urlsplit(url)
        pairs = reversed(parse_qsl(parts.query, keep_blank_values=True))
        folded = {name.lower(): value for name, value in (headers or {}).items()}
        base = f"{parts.scheme}://{parts.netloc}" if parts.netloc else HERE
        return cls(method.upper(), parts.path, dict(pairs), folded, body, base)

    def query_value(self, name: str, default: str = "") -> str:
        """A query parameter; ARM ignores the case of their names."""
        folded = name.casefold()
        return next(
            (value for key, value in self.query.items() if key.casefold() == folded), default
        )

    def header(self, name: str, default: str = "") -> str:
        """A header, by its name in lower case."""
        return self.headers.get(name, default)


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, with the faults of its transfer.

    `wait` is how many seconds pass before it is sent; `cut` is after how many bytes of the body
    the connection breaks (`COMPLETE`: it does not; `DROPPED`: before the first byte). A `stream`
    comes in the place of the body, as long as the client listens; empty parts only look whether it
    still does.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    wait: float = 0.0
    cut: int | None = COMPLETE
    stream: AsyncGenerator[bytes, None] | None = None

    def with_headers(self, headers: Mapping[str, str]) -> Response:
        """This response with more headers; its own take precedence."""
        return replace(self, headers={**headers, **self.headers})


class HttpError(ServiceError):
    """An error whose answer has extra headers, or is cut off (`cut`, as of a Response)."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int,
        headers: Mapping[str, str] | None = None,
        cut: int | None = COMPLETE,
    ) -> None:
        super().__init__(code, message, status=status)
        self.headers = headers or {}
        self.cut = cut


def json_response(
    data: Data, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response."""
    text = _encode(data)
    kind = {"content-type": "application/json; charset=utf-8"}
    return Response(status, {**kind, **(headers or {})}, text.encode())


def error_response(error: ServiceError) -> Response:
    """The answer to a request that did not get as far as the provider of the service.

    A conflict has `x-ms-retry-after-ms` instead of Retry-After: with that, the SDK would retry the
    write by itself.
    """
    body: dict[str, Data] = {"code": error.code, "message": error.message, "target": error.target}
    if error.details:
        body["details"] = detail_bodies(error.details)
    return with_error_body(error, body, {"x-ms-failure-cause": "gateway"})


def with_error_body(
    error: ServiceError, body: Mapping[str, Data], headers: Mapping[str, str]
) -> Response:
    """The answer with an error in it, and the headers that go with it."""
    error_headers, cut = _on_the_wire(error)
    fields = {key: value for key, value in body.items() if value is not None}
    return replace(
        json_response({"error": fields}, error.status, {**headers, **error_headers}), cut=cut
    )


def detail_bodies(messages: Iterable[str], code: str = "") -> list[Data]:
    """ARM's `error.details`."""
    return [
        {"code": code, "message": message, "details": [], "additionalInfo": []}
        for message in messages
    ]


def _on_the_wire(error: ServiceError) -> tuple[Mapping[str, str], int | None]:
    """The headers of an error's answer, and where it is cut off."""
    match error:
        case HttpError():
            return error.headers, error.cut
        case Transient(ambiguous=True):
            return {}, DROPPED
        case Transient(status=status, retry_after=float() | int() as wait):
            if status == CONFLICT:
                return {"x-ms-retry-after-ms": str(round(wait * 1000))}, COMPLETE
            return {"retry-after": f"{wait:g}"}, COMPLETE
        case _:
            return {}, COMPLETE


def not_found(resource: str, scope: str) -> NotFound:
    """ARM's 404: `resource` is a type and a name, `scope` where it was searched."""
    text = f"The Resource '{resource}' under {scope} was not found."
    return NotFound("ResourceNotFound", text)


def read_json_body(body: bytes) -> dict[str, Data]:
    """The JSON object in a request body, with an object as `properties`; {} without a body."""
    if not body.strip():
        return {}
    try:
        data = json.loads(body.decode())
        # What JSON cannot hold (NaN), and what UTF-8 cannot (a lone surrogate), fails here.
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        check_depth(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(str(error) or type(error).__name__) from None
    if not isinstance(data, dict):
        raise _unreadable("an object was expected")
    if not isinstance(data.get("properties") or {}, dict):
        raise _unreadable("`properties` must be an object")
    return data


def _unreadable(why: str) -> Permanent:
    text = f"The request content was invalid and could not be deserialized: '{why}'."
    return Permanent("InvalidRequestContent", text)
