"""The values of the simulated cloud's flags: delays, texts of files, numbers, times of day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from mlctl import files
from mlctl.cli.shell import InvalidValue, UsageError, flag
from mlctl.dataclasses import dataclass
from mlctl.service_errors import Permanent

_T = TypeVar("_T")
_HOURS, _MINUTES = 24, 60
AVAILABLE = "available"
MOMENTS = ("any", AVAILABLE)  # where in its weather a history begins
_MAX_BYTES = 64 << 20  # a year of a trace by the minute is 20 MB


def read_text(file: Path) -> str:
    """Read the text of a file that a flag names."""
    try:
        return files.read(files.expanded(file), _MAX_BYTES, pipes=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Permanent("CannotRead", f"cannot read `{file}`: {why}") from None


def parse_file(file: str | Path, parse: Callable[[str], _T], *, code: str = "InvalidFile") -> _T:
    """Parse a file that a flag names."""
    from mlctl.simulator.engine.commands import EngineError

    text = read_text(Path(file))
    try:
        return parse(text)
    except EngineError as error:
        raise Permanent(code, f"`{file}`: {error}") from None


def parse_numbers(text: str, flag: str, count: int) -> list[float]:
    """Parse the numbers of `0.05,0.6`, which must be `count` many."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        shape = "a number" if count == 1 else f"{count} numbers with a comma between them"
        raise UsageError(f"argument {flag}: `{text}` is not {shape}.")
    return numbers


def start_of(texts: Sequence[str]) -> tuple[float | None, str | None]:
    """Where weather begins: the time of day in seconds, and the moment; None: not said."""
    seconds, moment = None, None
    for text in texts:
        hours, colon, minutes = text.partition(":")
        if text in MOMENTS and moment is None:
            moment = text
        elif text in MOMENTS or (seconds is not None and colon):
            raise UsageError("--start takes one time of day and one moment.")
        elif _is_part(hours, _HOURS) and len(minutes) == len("30") and _is_part(minutes, _MINUTES):
            seconds = float(int(hours) * 3600 + int(minutes) * 60)
        else:
            shape = f"write {' or '.join(MOMENTS)}, or a time of day, HH:MM"
            raise InvalidValue(f"`{text}` is not a moment: {shape}", flag="--start")
    return seconds, moment


def _is_part(text: str, limit: int) -> bool:
    return text.isdecimal() and int(text) < limit


_delay = partial(flag, metavar="S")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayArgs:
    """How long nodes take."""

    allocation: str | None = _delay("From asking for a node to having it.")
    preparation: str | None = _delay("From having a node until it can work.")
    replacement: str | None = _delay("What allocation is for a node that was preempted.")
    leave: str | None = _delay("From giving a node back to its being gone.")


def pair(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"`{text}`: write NAME=VALUE, as cancel_grace_s=60.")
    return name, value
