"""The exit codes, all of them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the shell is told. az-style verbs use the first four; 4 and above belong to apply."""

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
    BUG = 70
