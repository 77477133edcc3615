"""Faults that a user sets for calls of the control plane, to test how a client reacts.

Faults of HTTP requests are in `http_faults`; both kinds share one table and one numbering.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import Enum
from fnmatch import fnmatchcase
from sqlite3 import Connection
from typing import Any, TypeAlias

from mlctl.pointer import Data
from mlctl.service_errors import ServiceError, from_status
from mlctl.simulator.control_plane import http_faults
from mlctl.simulator.control_plane.http_faults import HttpFault, OperationStyle, RetryAfter
from mlctl.simulator.control_plane.resources.operations import OperationFailure


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
class CallFault:
    """A fault of the `nth` matching call (counted from 1) and the next ones, `times` in all.

    With `every`, it is each nth call instead. `times` None: without end. `verb` is one of `VERBS`
    or `any`; `target` is an address, or a pattern over addresses (`compute/*`). `seconds` is the
    delay, or the Retry-After of a throttled call.
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
        http_faults.check_schedule(self.nth, self.times, self.seconds)
        if self.verb not in (*VERBS, ANY):
            raise ValueError(f"`{self.verb}` is no verb: it is one of {', '.join((*VERBS, ANY))}")

    def matches(self, verb: str, addresses: Sequence[str]) -> bool:
        """Whether the fault counts a call; a target includes children and versions."""
        if self.verb not in (ANY, verb):
            return False
        target = self.target.casefold()
        wanted = (target, f"{target}/*", f"{target}:*")
        return any(fnmatchcase(each.casefold(), one) for each in addresses for one in wanted)

    def applies(self, seen: int) -> bool:
        """Whether the fault applies to the matching call number `seen` (from 1)."""
        return http_faults.applies(seen, self.nth, self.times, every=self.every)

    def failure(self) -> OperationFailure:
        """The failure of the operation, for `FAIL_OPERATION`."""
        text = self.message or "The operation failed, because a fault was set for it."
        return OperationFailure(self.code or "OperationFailed", text)

    def error(self) -> ServiceError:
        """The error that the client gets."""
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


@dataclass(frozen=True, slots=True)
class ActiveFault:
    """A fault that is set: its number, and how many matching calls there have been."""

    number: int
    fault: AnyFault
    seen: int

    def to_json(self) -> dict[str, Data]:
        """The fault as JSON data, with its number and count."""
        return {"number": self.number, **to_json(self.fault), "seen": self.seen}


def to_json(fault: AnyFault) -> dict[str, Data]:
    """A fault as JSON data for `from_json`; `kind` is `trouble` there, `verb` is `operation`."""
    return {
        _JSON_NAMES.get(name, name): held.value if isinstance(held, Enum) else held
        for name, held in asdict(fault).items()
    }


def from_json(data: Mapping[str, Data]) -> AnyFault:
    """A fault from JSON data; `times` 0 and null both mean "without end".

    Raises:
        ValueError: the data are not a fault; says why.
    """
    name = data.get("trouble")
    is_http = name in [each.value for each in http_faults.HttpFaultKind]
    made = HttpFault if is_http else CallFault
    slots = {_JSON_NAMES.get(slot.name, slot.name): slot for slot in fields(made)}
    if not is_http and name not in [each.value for each in FaultKind]:
        known = ", ".join(each.value for each in (*FaultKind, *http_faults.HttpFaultKind))
        raise ValueError(f"`{name}` is no trouble: it is one of {known}")
    given: dict[str, Any] = {}
    for key, held in data.items():
        slot = slots.get("operation" if key == "verb" else key)
        if slot is None:
            raise ValueError(f"`{name}` takes no `{key}`; it takes {', '.join(slots)}")
        given[slot.name] = _value(slot.name, slot.default, held)
    kinds: type[Enum] = http_faults.HttpFaultKind if is_http else FaultKind
    return made(**(given | {"kind": kinds(name)}))


_JSON_NAMES = {"verb": "operation", "kind": "trouble"}
_ENUMS: dict[str, type[Enum]] = {"retry_after": RetryAfter, "style": OperationStyle}


def _value(name: str, usual: object, held: Data) -> object:
    if name == "kind":
        return held
    if name in _ENUMS:
        return _ENUMS[name](held)
    if name == "times" and held in (0, None) and held is not False:
        return None
    if type(held) is not type(usual) and not (type(usual) is float and type(held) is int):
        raise ValueError(f"`{_JSON_NAMES.get(name, name)}` cannot be {held!r}")
    return held


def dump(fault: AnyFault) -> str:
    """The fault as JSON text that `load` reads."""
    return json.dumps(to_json(fault))


def load(text: str) -> AnyFault:
    """The fault that `dump` wrote."""
    return from_json(json.loads(text))


def active_faults(db: Connection) -> list[ActiveFault]:
    """All faults, in the order in which they were set."""
    return [
        ActiveFault(number, load(text), seen)
        for number, text, seen in db.execute("SELECT id, spec, seen FROM faults ORDER BY id")
    ]


def any_active(db: Connection) -> bool:
    """Whether any fault is set; if not, calls need not be counted."""
    return db.execute("SELECT 1 FROM faults LIMIT 1").fetchone() is not None


def match_call(db: Connection, verb: str, addresses: Sequence[str]) -> tuple[CallFault, ...]:
    """Count a call for every fault that matches it; the faults that apply to it."""
    return tuple(
        each.fault
        for each in active_faults(db)
        if isinstance(each.fault, CallFault) and each.fault.matches(verb, addresses)
        if each.fault.applies(_counted(db, each))
    )


def match_request(db: Connection, method: str, path: str) -> tuple[HttpFault, ...]:
    """Count an HTTP request for every fault that matches it; the faults that apply to it."""
    return tuple(
        each.fault
        for each in active_faults(db)
        if isinstance(each.fault, HttpFault) and each.fault.matches(method, path)
        if each.fault.applies(_counted(db, each))
    )


def _counted(db: Connection, each: ActiveFault) -> int:
    db.execute("UPDATE faults SET seen = seen + 1 WHERE id = ?", (each.number,))
    return each.seen + 1


def total_delay(matched: tuple[CallFault, ...]) -> float:
    """The seconds that the faults delay a call, together."""
    return sum(each.seconds for each in matched if each.kind is FaultKind.DELAY)


def operation_failure(matched: tuple[CallFault, ...]) -> OperationFailure | None:
    """How the operation will fail; None unless a fault was set for it."""
    for each in matched:
        if each.kind is FaultKind.FAIL_OPERATION:
            return each.failure()
    return None


def lose_answer(matched: tuple[CallFault, ...]) -> None:
    """Lose the answer of a call that has been carried out, if a fault says so.

    Raises:
        ServiceError: the answer is lost.
    """
    for each in matched:
        if each.kind is FaultKind.DROP:
            raise each.error()
