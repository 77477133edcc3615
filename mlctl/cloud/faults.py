"""Trouble on order: which calls meet it, and what it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fnmatch import fnmatchcase
from sqlite3 import Connection

from mlctl.cloud.operations import Failure
from mlctl.cloud.refusal import Refusal


class Trouble(Enum):
    """What happens to a call."""

    FAIL = "fail"  # refused, nothing done
    THROTTLE = "throttle"  # 429 with Retry-After, nothing done
    DELAY = "delay"  # takes `seconds` longer
    DROP = "drop"  # done, but the answer is lost
    FAIL_OPERATION = "fail-operation"  # accepted, then the long-running operation fails
    IGNORE = "ignore"  # a changed create-only field is accepted and ignored


VERBS = ("put", "get", "list", "delete")
ANY = "any"
_LONGEST = 365 * 86400.0


@dataclass(frozen=True, slots=True)
class Fault:
    """The `nth` matching call (counted from 1) meets trouble, and so do the next: `times` in all.

    With `every`, it is each nth call instead. `times` None: no end. `verb` is one of `VERBS` or
    `any`; `target` is an address, or a pattern over addresses (`compute/*`). `seconds` is the
    delay, or the Retry-After of a throttled call.
    """

    trouble: Trouble
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
        """Refuse what can never strike.

        Raises:
            ValueError: a count is below 1, or the verb is unknown.
        """
        if self.nth < 1 or (self.times is not None and self.times < 1):
            raise ValueError("a fault strikes the first call or a later one, at least once")
        if self.verb not in (*VERBS, ANY):
            raise ValueError(f"`{self.verb}` is no verb: it is one of {', '.join((*VERBS, ANY))}")
        if not 0 <= self.seconds <= _LONGEST:
            raise ValueError(f"a delay is between 0 and {_LONGEST:.0f} seconds")

    def matches(self, verb: str, addresses: Sequence[str]) -> bool:
        """Whether a call counts for this fault; a target also means all that it begins."""
        if self.verb not in (ANY, verb):
            return False
        target = self.target.casefold()
        wanted = (target, f"{target}/*", f"{target}:*")
        return any(fnmatchcase(each.casefold(), one) for each in addresses for one in wanted)

    def strikes(self, seen: int) -> bool:
        """Whether the matching call number `seen` (from 1) meets the trouble."""
        if self.every:
            return seen % self.nth == 0 and (self.times is None or seen // self.nth <= self.times)
        return seen >= self.nth and (self.times is None or seen < self.nth + self.times)

    def failure(self) -> Failure:
        """How the long-running operation of a `FAIL_OPERATION` ends."""
        text = self.message or "The operation failed, because a fault was set for it."
        return Failure(self.code or "OperationFailed", text)

    def refusal(self) -> Refusal:
        """What the caller is told."""
        code, status, text = _WORDS[self.trouble]
        return Refusal(
            self.code or code,
            self.message or text,
            status=self.status or status,
            retry_after=self.seconds if self.trouble is Trouble.THROTTLE else None,
            lost=self.trouble is Trouble.DROP,
        )


_WORDS = {
    Trouble.FAIL: ("InternalServerError", 500, "The request failed, because a fault was set."),
    Trouble.THROTTLE: ("TooManyRequests", 429, "The request was throttled."),
    Trouble.DROP: ("ConnectionLost", 504, "The connection was lost before an answer came."),
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault in the store: its number, and how many matching calls it has seen."""

    number: int
    fault: Fault
    seen: int


def dump(fault: Fault) -> str:
    """The fault as JSON text that `load` reads."""
    return json.dumps(asdict(fault) | {"trouble": fault.trouble.value})


def load(text: str) -> Fault:
    """The fault that `dump` wrote."""
    given = json.loads(text)
    return Fault(**(given | {"trouble": Trouble(given["trouble"])}))


def planted(db: Connection) -> list[Planted]:
    """All faults, in the order in which they were added."""
    return [
        Planted(number, load(text), seen)
        for number, text, seen in db.execute("SELECT id, spec, seen FROM faults ORDER BY id")
    ]


def count(db: Connection, verb: str, addresses: Sequence[str]) -> tuple[Fault, ...]:
    """Count one call for every fault that it matches; those that strike now."""
    struck = []
    for each in planted(db):
        if each.fault.matches(verb, addresses):
            db.execute("UPDATE faults SET seen = seen + 1 WHERE id = ?", (each.number,))
            if each.fault.strikes(each.seen + 1):
                struck.append(each.fault)
    return tuple(struck)
