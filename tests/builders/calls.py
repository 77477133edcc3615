"""How much work something is, whatever the machine: in calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """How often functions are called and left."""
    seen = 0

    def look(_frame: FrameType, _event: str, _arg: object) -> None:
        nonlocal seen
        seen += 1

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen
