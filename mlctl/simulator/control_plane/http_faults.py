"""Trouble on the wire, on order: what the emulator does to requests, whatever they are about.

Trouble in the cloud itself is `control_plane.faults`; both have one list and one numbering.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from http import HTTPStatus

_FIRST, _LAST = 200, 599  # HTTP statuses that a fault may answer with
LONGEST = 365 * 86400.0  # seconds


class HttpFaultKind(Enum):
    """What happens to a request, or to its answer."""

    REFUSE = "refuse"  # answered with `status`; nothing is done
    HANG_UP = "hang-up"  # the connection breaks; nothing is done
    SLOW = "slow"  # the answer is sent `seconds` late
    TRUNCATE = "truncate"  # the connection breaks after `bytes` of the answer's body
    STYLE = "style"  # a write goes on in another `style` of long-running operations


class RetryAfter(Enum):
    """How an answer says when to ask again."""

    NONE = "none"
    SECONDS = "seconds"
    DATE = "date"
    MILLISECONDS = "ms"


class OperationStyle(Enum):
    """The ways in which the service says that a write goes on (ARM's long-running operations)."""

    ASYNC = "async"  # an Azure-AsyncOperation header with the URL of a status
    LOCATION = "location"  # a Location header only: 202 until it is done
    STATE = "state"  # no header: the resource's provisioningState is polled
    SYNC = "sync"  # done when the answer comes


@dataclass(frozen=True, slots=True)
class HttpFault:
    """The `nth` matching request (from 1) meets trouble, and so do the next: `times` in all.

    With `every`, it is each nth one; `times` None: no end. `method` and `path` are patterns
    (`*/computes/*`).
    """

    trouble: HttpFaultKind
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
        """Refuse what can never strike.

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
        """The code of the refusal; that of the status, as ARM has it, unless one was given."""
        known = {each.value for each in HTTPStatus}
        phrase = HTTPStatus(self.status).phrase if self.status in known else "Service Unavailable"
        return self.code or phrase.replace(" ", "").replace("-", "")

    def matches(self, method: str, path: str) -> bool:
        """Whether a request counts for this fault."""
        return fnmatchcase(method, self.method.upper()) and fnmatchcase(
            path.casefold(), self.path.casefold()
        )

    def strikes(self, seen: int) -> bool:
        """Whether the matching request number `seen` (from 1) meets the trouble."""
        return applies(seen, self.nth, self.times, every=self.every)


def check_schedule(nth: int, times: int | None, seconds: float) -> None:
    """Refuse a fault that can never strike, or never ends.

    Raises:
        ValueError: a number is out of its range.
    """
    if nth < 1 or (times is not None and times < 1):
        raise ValueError("a fault strikes the first call or a later one, at least once")
    if not 0 <= seconds <= LONGEST:
        raise ValueError(f"a delay is between 0 and {LONGEST:.0f} seconds")


def applies(seen: int, nth: int, times: int | None, *, every: bool) -> bool:
    """Whether the matching call number `seen` (from 1) meets the trouble."""
    if every:
        return seen % nth == 0 and (times is None or seen // nth <= times)
    return seen >= nth and (times is None or seen < nth + times)
