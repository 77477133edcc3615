"""Faults that a user sets for HTTP requests to the emulator, whatever they are about.

Faults of calls of the control plane are in `faults`; both kinds share one table and one numbering.
"""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from http import HTTPStatus

from mlctl.dataclasses import dataclass

_FIRST, _LAST = 200, 599  # HTTP statuses that a fault may answer with
LONGEST = 365 * 86400.0  # seconds


class HttpFaultKind(Enum):
    """What a fault does to a request or its response."""

    REFUSE = "refuse"  # answered with `status`; nothing is done
    HANG_UP = "hang-up"  # the connection breaks; nothing is done
    SLOW = "slow"  # the answer is sent `seconds` late
    TRUNCATE = "truncate"  # the connection breaks after `bytes` of the answer's body
    STYLE = "style"  # a write goes on in another `style` of long-running operations


class RetryAfter(Enum):
    """How a response states when to retry."""

    NONE = "none"
    SECONDS = "seconds"
    DATE = "date"
    MILLISECONDS = "ms"


class OperationStyle(Enum):
    """How a response announces a long-running operation (ARM has several ways)."""

    ASYNC = "async"  # an Azure-AsyncOperation header with the URL of a status
    LOCATION = "location"  # a Location header only: 202 until it is done
    STATE = "state"  # no header: the resource's provisioningState is polled
    SYNC = "sync"  # done when the answer comes


@dataclass(frozen=True, slots=True)
class HttpFault:
    """A fault of the `nth` matching request (from 1) and the next ones, `times` in all.

    With `every`, it is each nth request; `times` None: without end. `method` and `path` are
    patterns (`*/computes/*`).
    """

    kind: HttpFaultKind
    method: str = "*"
    path: str = "*"
    nth: int = 1
    times: int | None = 1
    every: bool = False
    status: int = 503
    code: str = ""  # that of the status, unless given
    message: str = "The request was refused, because a fault was set."
    retry_after: RetryAfter = RetryAfter.NONE
    seconds: float = 1.0
    bytes: int = 0
    style: OperationStyle = OperationStyle.ASYNC

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a number is out of its range.
        """
        check_schedule(self.nth, self.times, self.seconds)
        if not _FIRST <= self.status <= _LAST:
            raise ValueError(f"a status is between {_FIRST} and {_LAST}")
        if self.bytes < 0:
            raise ValueError("a length is not negative")

    @property
    def reason(self) -> str:
        """Return the error code: the given one, or that of the status, as ARM spells it."""
        statuses = {http_status.value for http_status in HTTPStatus}
        phrase = (
            HTTPStatus(self.status).phrase if self.status in statuses else "Service Unavailable"
        )
        return self.code or phrase.replace(" ", "").replace("-", "")

    def matches(self, method: str, path: str) -> bool:
        """Whether the fault counts a request."""
        return fnmatchcase(method, self.method.upper()) and fnmatchcase(
            path.casefold(), self.path.casefold()
        )

    def applies(self, number: int) -> bool:
        """Whether the fault applies to the matching request of this number (from 1)."""
        return applies(number, self.nth, self.times, every=self.every)


def check_schedule(nth: int, times: int | None, seconds: float) -> None:
    """Check when a fault applies, and for how long it delays.

    Raises:
        ValueError: a number is out of its range.
    """
    if nth < 1 or (times is not None and times < 1):
        raise ValueError("a fault strikes the first call or a later one, at least once")
    if not 0 <= seconds <= LONGEST:
        raise ValueError(f"a delay is between 0 and {LONGEST:.0f} seconds")


def applies(number: int, nth: int, times: int | None, *, every: bool) -> bool:
    """Whether a fault applies to the matching call of this number (from 1)."""
    if every:
        return number % nth == 0 and (times is None or number // nth <= times)
    return number >= nth and (times is None or number < nth + times)
