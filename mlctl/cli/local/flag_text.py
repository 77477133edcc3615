"""What flags of the simulated cloud hold: delays, texts of files, numbers, times of day."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from mlctl import files
from mlctl.cli.shell import UsageError, flag
from mlctl.dataclasses import dataclass
from mlctl.service_errors import Permanent

_T = TypeVar("_T")
_HOURS, _MINUTES = 24, 60
_MAX_BYTES = 64 << 20  # a year of a trace by the minute is 20 MB


def read_text(file: Path) -> str:
    """The text of a file that a flag names.

    Raises:
        Permanent: it cannot be read.
    """
    try:
        return files.read(files.expanded(file), _MAX_BYTES, pipes=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Permanent("CannotRead", f"cannot read `{file}`: {why}") from None


def parse_file(file: str | Path, parse: Callable[[str], _T], *, code: str = "InvalidFile") -> _T:
    """What `parse` makes of a file that a flag names.

    Raises:
        Permanent: it cannot be read (CannotRead), or is not of the shape (`code`).
    """
    from mlctl.simulator.engine.commands import EngineError

    text = read_text(Path(file))
    try:
        return parse(text)
    except EngineError as error:
        raise Permanent(code, f"`{file}`: {error}") from None


def parse_numbers(text: str, flag: str, count: int) -> list[float]:
    """The numbers of `0.05,0.6`, which must be `count` many.

    Raises:
        UsageError: they are not.
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        shape = "a number" if count == 1 else f"{count} numbers with a comma between them"
        raise UsageError(f"argument {flag}: `{text}` is not {shape}.")
    return numbers


def time_of_day(text: str, flag: str) -> float:
    """The seconds since midnight of `08:30`.

    Raises:
        UsageError: it is no time of day.
    """
    hours, colon, minutes = text.partition(":")
    if colon and hours.isdecimal() and minutes.isdecimal() and len(minutes) == len("30"):
        hour, minute = int(hours), int(minutes)
        if hour < _HOURS and minute < _MINUTES:
            return float(hour * 3600 + minute * 60)
    raise UsageError(f"argument {flag}: `{text}` is no time of day: write HH:MM.")


_delay = partial(flag, metavar="S")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayArgs:
    """How long nodes take."""

    allocation: str | None = _delay("From asking for a node to having it.")
    preparation: str | None = _delay("From having a node until it can work.")
    replacement: str | None = _delay("What allocation is for a node that was preempted.")
    leave: str | None = _delay("From giving a node back to its being gone.")


def pair(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`.

    Raises:
        UsageError: the text is none.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"`{text}`: write NAME=VALUE, as cancel_grace_s=60.")
    return name, value
