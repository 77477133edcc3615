"""The errors of a service that refuses a request.

The simulated cloud raises them, the emulator writes them as ARM's JSON, the azure backend reads
them from ARM's answers, and everything above handles them in the same way.
"""

from __future__ import annotations

from typing import Any

from mlctl.dataclasses import dataclass

BAD_REQUEST, NOT_FOUND, CONFLICT, PRECONDITION_FAILED, THROTTLED = 400, 404, 409, 412, 429
# Statuses after which asking again may help.
TRANSIENT_STATUSES = frozenset({408, THROTTLED, 500, 502, 503, 504})
OTHER_TYPE = "OtherComputeType"  # the code of a name that a compute of another type has
TIMED_OUT = "TimedOut"  # the code of what took longer than it may


@dataclass(frozen=True, slots=True)
class PropertyError:
    """What is wrong with one property of a body.

    `name` is the service's for it, or the field's where that is known; `place` is then where a file
    says it, as `FILE:LINE:COLUMN`.
    """

    name: str
    message: str
    place: str = ""

    def __str__(self) -> str:
        prefix = f"{self.place}: " if self.place else ""
        return f"{prefix}`{self.name}`: {self.message}"


class ServiceError(Exception):
    """A request was refused: a code and a message in the service's own words.

    `status` is the HTTP status that the answer had or would have; `target` is what ARM says that
    the error is about; `details` are the further messages of ARM's `error.details`; `inner` are the
    codes of its InnerError, the outermost first; `request_id` finds the request in the service's
    logs. `properties` is what an answer said of single properties. `str()` is `(code) message`.
    """

    default_status = BAD_REQUEST

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        target: str | None = None,
        details: tuple[str, ...] = (),
        inner: tuple[str, ...] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"({code}) {message}")
        self.code = code
        self.message = message
        self.status = self.default_status if status is None else status
        self.target = target
        self.details = details
        self.inner = inner
        self.request_id = request_id
        self.properties: tuple[PropertyError, ...] = ()


class Permanent(ServiceError):
    """Repeating the request will not help."""


class NotFound(Permanent):
    """There is no such resource (status 404)."""

    default_status = NOT_FOUND


class Unavailable(Permanent):
    """The whole state cannot be used: every request will fail in the same way."""


class Transient(ServiceError):
    """Repeating the request may help, after `retry_after` seconds if the service says so.

    `ambiguous` says that the request may have been carried out although no answer came
    (a time-out, a lost connection): read back before calling it failed. `outlasted` says that what
    was in the way has been waited for: the next request is a first attempt.
    """

    default_status = 503

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_after: float | None = None,
        ambiguous: bool = False,
        outlasted: bool = False,
        **options: Any,
    ) -> None:
        """`options` are those of every ServiceError."""
        super().__init__(code, message, **options)
        self.retry_after = retry_after
        self.ambiguous = ambiguous
        self.outlasted = outlasted


def from_status(
    code: str,
    message: str,
    status: int,
    *,
    retry_after: float | None = None,
    ambiguous: bool = False,
    **options: Any,
) -> ServiceError:
    """Return the error for an answer with this status, of the class that callers expect.

    An answer that says when to ask again is `Transient`, whatever its status. `options` are those
    of every ServiceError.
    """
    options["status"] = status
    if ambiguous or retry_after is not None or status in TRANSIENT_STATUSES:
        return Transient(code, message, retry_after=retry_after, ambiguous=ambiguous, **options)
    kind = NotFound if status == NOT_FOUND else Permanent
    return kind(code, message, **options)
