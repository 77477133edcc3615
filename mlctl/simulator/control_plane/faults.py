"""Faults that a user sets for calls of the control plane, to test how a client reacts.

Others strike HTTP requests to the emulator; both kinds share one table and one numbering.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from http import HTTPStatus
from sqlite3 import Connection
from typing import Any, TypeAlias, TypeVar

from mlctl.dataclasses import asdict, dataclass, fields
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError, from_status
from mlctl.simulator.control_plane.resources.operations import OperationFailure

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


class _Scheduled:
    """What all faults share: the `nth` matching call (from 1) and the next ones, `times` in all.

    With `every`, it is each nth call instead; `times` None: without end.
    """

    __slots__ = ()
    nth: int
    times: int | None
    every: bool
    seconds: float

    def _check(self) -> None:
        if self.nth < 1 or (self.times is not None and self.times < 1):
            raise ValueError("a fault strikes the first call or a later one, at least once")
        if not 0 <= self.seconds <= LONGEST:
            raise ValueError(f"a delay is between 0 and {LONGEST:.0f} seconds")

    def applies(self, number: int) -> bool:
        """Whether the fault applies to the matching call of this number (from 1)."""
        nth, times = self.nth, self.times
        if self.every:
            return number % nth == 0 and (times is None or number // nth <= times)
        return number >= nth and (times is None or number < nth + times)


@dataclass(frozen=True, slots=True)
class HttpFault(_Scheduled):
    """A fault of requests; `method` and `path` are patterns (`*/computes/*`)."""

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
        self._check()
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


class FaultKind(Enum):
    """What a fault does to a call."""

    FAIL = "fail"  # refused, nothing done
    THROTTLE = "throttle"  # 429 with Retry-After, nothing done
    DELAY = "delay"  # takes `seconds` longer
    DROP = "drop"  # done, but the answer is lost
    FAIL_OPERATION = "fail-operation"  # accepted, then the long-running operation fails
    IGNORE = "ignore"  # a changed create-only field is accepted and ignored


VERBS = ("put", "get", "list", "delete")
ANY = "any"


@dataclass(frozen=True, slots=True)
class CallFault(_Scheduled):
    """A fault of calls of the control plane.

    `verb` is one of `VERBS` or `any`; `target` is an address, or a pattern over addresses
    (`compute/*`). `seconds` is the delay, or the Retry-After of a throttled call.
    """

    kind: FaultKind
    verb: str = ANY
    target: str = "*"
    nth: int = 1
    times: int | None = 1
    every: bool = False
    seconds: float = 1.0
    code: str = ""
    status: int = 0
    message: str = ""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a count is below 1, or the verb is unknown.
        """
        self._check()
        if self.verb not in (*VERBS, ANY):
            raise ValueError(f"`{self.verb}` is no verb: it is one of {', '.join((*VERBS, ANY))}")

    def matches(self, verb: str, addresses: Sequence[str]) -> bool:
        """Whether the fault counts a call; a target includes children and versions."""
        if self.verb not in (ANY, verb):
            return False
        target = self.target.casefold()
        patterns = (target, f"{target}/*", f"{target}:*")
        return any(
            fnmatchcase(address.casefold(), pattern)
            for address in addresses
            for pattern in patterns
        )

    def failure(self) -> OperationFailure:
        """Return the failure of the operation, for `FAIL_OPERATION`."""
        text = self.message or "The operation failed, because a fault was set for it."
        return OperationFailure(self.code or "OperationFailed", text)

    def error(self) -> ServiceError:
        """Return the error that the client gets."""
        code, status, text = _DEFAULT_ERRORS[self.kind]
        return from_status(
            self.code or code,
            self.message or text,
            self.status or status,
            retry_after=self.seconds if self.kind is FaultKind.THROTTLE else None,
            ambiguous=self.kind is FaultKind.DROP,
        )


_DEFAULT_ERRORS = {
    FaultKind.FAIL: ("InternalServerError", 500, "The request failed, because a fault was set."),
    FaultKind.THROTTLE: ("TooManyRequests", 429, "The request was throttled."),
    FaultKind.DROP: ("ConnectionLost", 504, "The connection was lost before an answer came."),
}


AnyFault: TypeAlias = CallFault | HttpFault
_Fault = TypeVar("_Fault", CallFault, HttpFault)


@dataclass(frozen=True, slots=True)
class ActiveFault:
    """A fault that is set: its number, and how many calls have matched."""

    number: int
    fault: AnyFault
    seen: int

    def to_json(self) -> dict[str, Data]:
        """Return the fault as JSON data, with its number and count."""
        return {"number": self.number, **to_json(self.fault), "seen": self.seen}


def to_json(fault: AnyFault) -> dict[str, Data]:
    """A fault as JSON data for `from_json`; `kind` is `trouble` there, `verb` is `operation`."""
    return {
        _JSON_NAMES.get(name, name): value.value if isinstance(value, Enum) else value
        for name, value in asdict(fault).items()
    }


def from_json(data: Mapping[str, Data]) -> AnyFault:
    """Read a fault from JSON data; `times` 0 and null both mean "without end".

    Raises:
        ValueError: the data are not a fault; says why.
    """
    name = data.get("trouble")
    is_http = name in [http_kind.value for http_kind in HttpFaultKind]
    fault_class = HttpFault if is_http else CallFault
    slots = {_JSON_NAMES.get(slot.name, slot.name): slot for slot in fields(fault_class)}
    if not is_http and name not in [call_kind.value for call_kind in FaultKind]:
        kinds_text = ", ".join(kind.value for kind in (*FaultKind, *HttpFaultKind))
        raise ValueError(f"`{name}` is no trouble: it is one of {kinds_text}")
    values: dict[str, Any] = {}
    for key, value in data.items():
        slot = slots.get("operation" if key == "verb" else key)
        if slot is None:
            raise ValueError(f"`{name}` takes no `{key}`; it takes {', '.join(slots)}")
        values[slot.name] = _value(slot.name, slot.default, value)
    kinds: type[Enum] = HttpFaultKind if is_http else FaultKind
    return fault_class(**(values | {"kind": kinds(name)}))


_JSON_NAMES = {"verb": "operation", "kind": "trouble"}
_ENUMS: dict[str, type[Enum]] = {"retry_after": RetryAfter, "style": OperationStyle}


def _value(name: str, usual: object, value: Data) -> object:
    if name == "kind":
        return value
    if name in _ENUMS:
        return _ENUMS[name](value)
    if name == "times" and value in (0, None) and value is not False:
        return None
    if type(value) is not type(usual) and not (type(usual) is float and type(value) is int):
        raise ValueError(f"`{_JSON_NAMES.get(name, name)}` cannot be {value!r}")
    return value


def dump(fault: AnyFault) -> str:
    """Return the fault as JSON text that `load` reads."""
    return json.dumps(to_json(fault))


def load(text: str) -> AnyFault:
    """Load the fault that `dump` wrote."""
    return from_json(json.loads(text))


def active_faults(db: Connection) -> list[ActiveFault]:
    """Return all faults, in the order in which they were set."""
    return [
        ActiveFault(number, load(text), count)
        for number, text, count in db.execute("SELECT id, spec, seen FROM faults ORDER BY id")
    ]


def any_active(db: Connection) -> bool:
    """Whether any fault is set; if not, calls need not be counted."""
    return db.execute("SELECT 1 FROM faults LIMIT 1").fetchone() is not None


def match_call(db: Connection, verb: str, addresses: Sequence[str]) -> tuple[CallFault, ...]:
    """Count a call for every fault that matches it; return the faults that apply."""
    return _matched(db, CallFault, lambda fault: fault.matches(verb, addresses))


def match_request(db: Connection, method: str, path: str) -> tuple[HttpFault, ...]:
    """Count an HTTP request for every fault that matches it; return the faults that apply."""
    return _matched(db, HttpFault, lambda fault: fault.matches(method, path))


def _matched(
    db: Connection, of: type[_Fault], matches: Callable[[_Fault], bool]
) -> tuple[_Fault, ...]:
    return tuple(
        active.fault
        for active in active_faults(db)
        if isinstance(active.fault, of) and matches(active.fault)
        if active.fault.applies(_count(db, active))
    )


def _count(db: Connection, active: ActiveFault) -> int:
    db.execute("UPDATE faults SET seen = seen + 1 WHERE id = ?", (active.number,))
    return active.seen + 1


def total_delay(matched: tuple[CallFault, ...]) -> float:
    """Return how many seconds the faults delay a call together."""
    return sum(fault.seconds for fault in matched if fault.kind is FaultKind.DELAY)


def operation_failure(matched: tuple[CallFault, ...]) -> OperationFailure | None:
    """Return how the operation will fail; None unless a fault was set for it."""
    for fault in matched:
        if fault.kind is FaultKind.FAIL_OPERATION:
            return fault.failure()
    return None


def lose_answer(matched: tuple[CallFault, ...]) -> None:
    """Lose the answer of a call that has been carried out, if a fault says so.

    Raises:
        ServiceError: the answer is lost.
    """
    for fault in matched:
        if fault.kind is FaultKind.DROP:
            raise fault.error()
