"""The exit codes, all of them; `docs/exit-codes.md` says what each means."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes. az-style commands use 0 to 3 and 5; apply and destroy have 4 to 10."""

    OK = 0
    ERROR = 1
    USAGE = 2  # of az-style verbs; usage errors of validate, plan and apply are ERROR
    CHANGES = 2  # of plan --detailed-exitcode
    NOT_FOUND = 3
    STALE = 4
    REFUSED = 5
    REJECTED = 6
    PARTIAL = 7
    CANCELLED = 8
    TIMED_OUT = 9
    LOCKED = 10
    LATE = 11
    OVER_BUDGET = 12
    IMPOSSIBLE = 13
    BUG = 70
