"""Whether two files that trainings have left are the same, but for the last digits."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from math import isclose
from pathlib import Path

from mlctl.rehearsal.outcome import Content
from mlctl.rehearsal.process import MARK, Interpreter, without_network

_TOLERANCE = 1e-6
_NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
_WEIGHTS = Path(__file__).parents[1] / "worker" / "weights.py"
_PATIENCE = 60.0  # seconds for two files


def alike(one: Content | None, other: Content | None) -> bool:
    """By content; numbers in text by a tolerance."""
    if one is None or other is None:
        return False
    if one == other:
        return True
    if one.lines is None or other.lines is None or len(one.lines) != len(other.lines):
        return False
    return all(map(_alike, one.lines, other.lines))


def _alike(one: str, other: str) -> bool:
    mine, theirs = _NUMBER.findall(one), _NUMBER.findall(other)
    return (
        _NUMBER.sub("#", one) == _NUMBER.sub("#", other)
        and len(mine) == len(theirs)
        and all(
            isclose(float(a), float(b), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for a, b in zip(mine, theirs, strict=True)
        )
    )


def same_weights(
    one: Path, other: Path, interpreter: Interpreter, environment: Mapping[str, str]
) -> bool:
    """Whether two files hold the same weights by a tolerance, as the user's Python reads them.

    Files that it cannot read are not the same.
    """
    words = [*(without_network() if interpreter.alone else ()), interpreter.python, "-B"]
    with suppress(OSError, subprocess.TimeoutExpired, ValueError):
        done = subprocess.run(  # noqa: S603 - the Python that wrote them
            [*words, str(_WEIGHTS), str(one), str(other)],
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
            env={**environment, MARK: interpreter.mark},
        )
        return json.loads(done.stdout or b"false") is True
    return False
