"""Builders: what happened in the histories of state machines, counted, and said at the end."""

from __future__ import annotations

import atexit
import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

_counts: Counter[str] = Counter()


def tell(machine: object, what: str, number: int = 1) -> None:
    """Count something that happened in a machine."""
    _counts[f"{type(machine).__name__}: {what.replace('_', ' ')}"] += number


def counted(rule: Callable[..., Any], **given: Any) -> Callable[[Callable[..., None]], Any]:
    """A rule that counts how often it is taken to its end."""

    def decorate(function: Callable[..., None]) -> Any:
        @wraps(function)
        def taken(machine: Any, **drawn: Any) -> None:
            function(machine, **drawn)
            tell(machine, function.__name__)

        return rule(**given)(taken)

    return decorate


def _say() -> None:
    for what, number in sorted(_counts.items()):
        print(f"{number:>9,}  {what}")


if os.environ.get("MLCTL_TEST_HISTORIES"):
    atexit.register(_say)
