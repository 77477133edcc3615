"""Decode Azure's error answers and the SDK's exceptions to errors of `service_errors`.

Only the service's code and message are kept: no request headers, and no token that an answer
repeats.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import FunctionType
from typing import Any, TypeVar

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
)

from mlctl import service_errors
from mlctl.masking import mask
from mlctl.pointer import Data, check_depth, get

_T = TypeVar("_T")
_UNAUTHORIZED = 401
# Codes of 409 that are transient; so is a 409 with a Retry-After. The codes are from the
# documentation of the resource manager and the machine learning service, unverified.
_BUSY = re.compile(r"InProgress|Busy|BeingDeleted|RetryableError|AnotherOperation", re.IGNORECASE)
# Codes and words of a transient 409 at or under an endpoint: `Conflict` is documented
# (how-to-troubleshoot-online-endpoints), the others were reported (azure-sdk-for-net#36961).
_ENDPOINT_BUSY = ("Conflict", "ResourceConflict", "ResourceNotReady", "EndpointNotReady")
_IN_MOTION = "provisioning state"
_ENDPOINTS_SAY = "InferencingClientCallFailed"
_SOON = 30.0
_LONGEST = 2000
_HTML = re.compile(r"(?i)\s*<(?:!doctype html|html)\b")
_TITLE = re.compile(r"(?i)<title>([^<]*)")
_MESSAGE = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_FIRST_NO = 300  # redirects are not followed: a token must not go to another host
CONNECTION_ERRORS = (ServiceRequestError, ServiceResponseError, IncompleteReadError, DecodeError)


def checked_json(response: Any) -> Data:
    """Return the JSON of a successful response (None: no body).

    Raises:
        ServiceError: the response is an error; a 200 whose body is an error counts as one.
    """
    data = json_body(response)
    error = data.get("error") if isinstance(data, dict) else None
    if response.status_code >= _FIRST_NO or (isinstance(error, dict) and error.get("code")):
        raise error_of(response)
    return data


def error_of(response: Any) -> service_errors.ServiceError:
    """Return the error that a response describes."""
    body = _error_object(response)
    status = int(response.status_code)
    code = str(body.get("code") or response.headers.get("x-ms-error-code") or f"HTTP{status}")
    message = body.get("message") or _page(_text(response)) or response.reason or "no reason"
    sentence, wrong = property_errors(str(message))
    options: dict[str, Any] = {
        "target": str(body["target"]) if body.get("target") else None,
        "details": tuple(redact(detail) for detail in details(body)),
        "request_id": _request_id(response.headers),
    }
    service_error: service_errors.ServiceError
    wait = retry_after(response.headers)
    later = status == service_errors.CONFLICT and (wait is not None or _BUSY.search(code))
    if status in service_errors.TRANSIENT_STATUSES or later:
        lost = status not in (service_errors.THROTTLED, service_errors.CONFLICT)
        service_error = service_errors.Transient(
            code, redact(sentence), status=status, retry_after=wait, ambiguous=lost, **options
        )
    else:
        service_error = service_errors.from_status(code, redact(sentence), status, **options)
    service_error.inner = tuple(inner_codes(body))
    service_error.properties = tuple(
        service_errors.PropertyError(redact(wrong_property.name), redact(wrong_property.message))
        for wrong_property in wrong
    )
    return service_error


def name_in_use(error: service_errors.NotFound) -> service_errors.ServiceError:
    """Explain the 404 of a write: the endpoints' own service still knows a deleted endpoint.

    The name is free some time after the delete has ended (Azure/azure-cli-extensions#7660).
    """
    if not any(detail.startswith(f"({_ENDPOINTS_SAY})") for detail in error.details):
        return error
    return service_errors.Transient(
        error.code,
        f"{error.message} A deleted endpoint of this name may still be going away",
        status=error.status,
        details=error.details,
        request_id=error.request_id,
        retry_after=_SOON,
    )


def endpoint_is_busy(error: service_errors.ServiceError) -> bool:
    """Whether a write at or under an endpoint was refused because another one is running."""
    if error.status != service_errors.CONFLICT:
        return False
    busy = error.code in _ENDPOINT_BUSY or _IN_MOTION in error.message
    return busy or isinstance(error, service_errors.Transient)


@contextmanager
def sdk_errors_decoded() -> Iterator[None]:
    """Raise the SDK's exceptions as ServiceErrors within the block."""
    try:
        yield
    except HttpResponseError as error:
        raise _from_response(error) from None
    except AzureError as error:
        raise _from_connection(error) from None
    except ValueError as error:  # malformed JSON, read by the SDK
        raise malformed_response(redact(str(error))) from None


@contextmanager
def answers_decoded() -> Iterator[None]:
    """Raise answers of an undocumented shape as ServiceErrors within the block."""
    try:
        yield
    except (AttributeError, TypeError, LookupError, ValueError, ArithmeticError) as error:
        why = (
            f"it does not have the documented shape ({type(error).__name__}: {redact(str(error))})"
        )
        raise malformed_response(why) from error


def decodes_answers(cls: type[_T]) -> type[_T]:
    """Decode answers of an undocumented shape in the public methods and properties of a class."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(cls, name, answers_decoded()(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(answers_decoded()(member.fget)))
    return cls


def malformed_response(why: str) -> service_errors.Transient:
    """Report an answer that cannot be read; the request may have been carried out."""
    return service_errors.Transient(
        "GarbledAnswer", f"the service's answer cannot be read: {why}", ambiguous=True
    )


def objects(value: Data, path: str) -> list[dict[str, Data]]:
    """Return the objects of a list (None: an empty one).

    Raises:
        Transient: it is not a list, or one of other things.
    """
    items = [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise malformed_response(f"the list of {path} is not a list of objects")
    return items


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from a response: in seconds, milliseconds or as a date."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if headers.get(name):
            wait = _number(headers[name])
            return None if wait is None else wait / 1000
    text = headers.get("retry-after")
    if not text:
        return None
    wait = _number(text)
    return wait if wait is not None else _until(text, headers.get("date"))


def redact(text: str) -> str:
    """Shorten a message, and remove what looks like a token, a key or a signature."""
    text = _CODE.sub(r"\1***", mask(text))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


_CODE = re.compile(r"(?i)([?&]code=)[^&\s\"';]+")  # of a sign-in


def _from_response(error: HttpResponseError) -> service_errors.ServiceError:
    """Decode a response; without credentials there is none; failed operations have status 200."""
    if error.response is None:
        if isinstance(error, ClientAuthenticationError):
            return _no_credentials(error)
        return _from_connection(error)
    service_error = error_of(error.response)
    if (error.response.status_code or 0) >= _FIRST_NO or _error_object(error.response):
        return service_error
    return malformed_response(redact(str(error.message)))


def _no_credentials(error: ClientAuthenticationError) -> service_errors.Permanent:
    first, *others = redact(str(error.message)).splitlines() or ["no reason"]
    details = tuple(line.strip() for line in others if line.strip())
    return service_errors.Permanent("NoCredentials", first, status=_UNAUTHORIZED, details=details)


def _from_connection(error: AzureError) -> service_errors.ServiceError:
    """Decode a lost connection, an untrusted certificate, or a refusal of the SDK itself."""
    inner = redact(str(error.inner_exception or error.message))
    if "CERTIFICATE_VERIFY_FAILED" in inner:
        message = "the server's certificate is not trusted by this machine"
        return service_errors.Permanent(
            "UntrustedCertificate", message, status=495, details=(inner,)
        )
    if not isinstance(error, CONNECTION_ERRORS):
        return service_errors.Permanent(type(error).__name__, inner)
    # A request may have arrived although sending it is what failed.
    sending = isinstance(error, ServiceRequestError)
    cause = "the connection failed or broke" if sending else "the connection broke"
    message = f"{cause} before the answer was complete"
    return service_errors.Transient("ConnectionLost", message, ambiguous=True, details=(inner,))


def _error_object(response: Any) -> Mapping[str, Data]:
    """Return the `error` of a body: `{error: {...}}`, or that of a failed operation or resource."""
    data = json_body(response)
    if not isinstance(data, dict):
        return {}
    body = data.get("error")
    if isinstance(body, dict):
        return body
    properties = data.get("properties")
    if isinstance(properties, dict):
        return provisioning_error(properties)
    status = data.get("status")
    if isinstance(status, str):
        return {"code": f"Operation{status}", "message": f"the operation ended as {status}"}
    return {
        key: entry for key, entry in data.items() if key in ("code", "message", "target", "details")
    }


def provisioning_error(properties: Mapping[str, Data]) -> Mapping[str, Data]:
    """Return a resource's `provisioningErrors`, or else its state."""
    for detail in objects_of(properties.get("provisioningErrors")):
        inner = detail.get("error")
        if isinstance(inner, dict):
            return inner
    state = properties.get("provisioningState")
    if state is None:
        return {}
    return {"code": f"Provisioning{state}", "message": f"the resource ended as {state}"}


def _request_id(headers: Mapping[str, str]) -> str | None:
    request, correlation = (
        headers.get(f"x-ms-{prefix}request-id") for prefix in ("", "correlation-")
    )
    if request and correlation and request != correlation:
        return f"{request} (correlation id: {correlation})"
    return request or correlation


def json_body(response: Any) -> Data:
    """Return the JSON of a response; None without a body, or for a refusal in another form.

    Raises:
        Transient: it is a success without valid JSON, or with too deeply nested JSON.
    """
    text = _text(response)
    if not text.strip():
        return None
    try:
        data = json.loads(text)
        check_depth(data)
    except (ValueError, RecursionError) as error:
        if response.status_code < _FIRST_NO:
            raise malformed_response(str(error)) from None
        return None  # an HTML page of a proxy: the status is enough
    return data


def _page(text: str) -> str:
    """Summarize a body that is not JSON: the message of Storage's XML, a page's title."""
    match = _MESSAGE.search(text)
    if match:
        text = match[1]
    elif _HTML.match(text):
        title = _TITLE.search(text)
        text = f"an HTML page: {title[1]}" if title else "an HTML page"
    return " ".join(text.split())


def _text(response: Any) -> str:
    try:
        return str(response.text())
    except (ValueError, LookupError):  # not in the encoding that it names, or in an unknown one
        return bytes(response.content).decode(errors="replace")


def _number(text: str) -> float | None:
    try:
        seconds = max(0.0, float(text))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _until(text: str, date: str | None) -> float | None:
    """Return the seconds until a date, by the server's clock if the answer has its time."""
    try:
        then = parsedate_to_datetime(text)
        now = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError):
        return None


def objects_of(value: Data) -> list[Mapping[str, Data]]:
    """Return the objects of a list; none if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def details(error: Mapping[str, Data]) -> Iterator[str]:
    """Yield the further messages of an error, with their codes."""
    for detail in objects_of(error.get("details")):
        if detail.get("message") or detail.get("code"):
            code, message = detail.get("code"), str(detail.get("message") or "")
            yield f"({code}) {message}" if code else message
            yield from details(detail)


def inner_codes(error: Mapping[str, Data]) -> Iterator[str]:
    """Yield the codes of an error's InnerError, outermost first.

    Recorded: card component-container-get-404.
    """
    for info in objects_of(error.get("additionalInfo")):
        at = get(info, ("info", "value")) if info.get("type") == "InnerError" else None
        while isinstance(at, dict):
            yield str(at.get("code"))
            at = at.get("innerError")


def property_errors(message: str) -> tuple[str, tuple[service_errors.PropertyError, ...]]:
    """Split the JSON array off a message; return its messages on single properties.

    Recorded: card batch-deployment-put-400-no-model.
    """
    head, bracket, _ = message.partition("\n[")
    try:
        rows, _ = json.JSONDecoder().raw_decode(message, len(head) + 1) if bracket else ([], 0)
    except (ValueError, RecursionError):
        rows = []
    errors = tuple(
        service_errors.PropertyError(str(row["PropertyName"]), str(row["ErrorMessage"]))
        for row in objects_of(rows)
        if {"PropertyName", "ErrorMessage"} <= row.keys()
    )
    return (head.removesuffix("\nErrors:"), errors) if errors else (message, ())
