"""Durations as text: ISO 8601, as ARM writes them, and the short forms that people type."""

from __future__ import annotations

import re
from functools import lru_cache

_ISO = (  # compiled where one is read
    r"P(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_ISO_UNITS = (31_536_000, 2_592_000, 604_800, 86_400, 3_600, 60, 1)  # a year is 365 days
_TICKS = 10**7  # of .NET's TimeSpan in a second
_LONGEST = 2**63 / _TICKS  # seconds of .NET's TimeSpan, in which the service keeps durations
_SHORT_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


@lru_cache(maxsize=1024)  # the same few are read for every cluster
def parse_iso(text: str) -> float:
    """Parse an ISO 8601 duration, in either case, to a tick of .NET: `PT2M` -> 120.0.

    A year counts as 365 days, a month as 30.

    Raises:
        ValueError: it is none, or longer than .NET's longest (29 000 years).
    """
    match = re.fullmatch(_ISO, text, re.IGNORECASE)
    if not match or text[-1] in "PTpt":
        raise ValueError(f"`{text}` is no ISO 8601 duration")
    seconds = sum(
        float(part) * unit for part, unit in zip(match.groups(), _ISO_UNITS, strict=True) if part
    )
    if seconds > _LONGEST:
        raise ValueError(f"`{text}` is longer than a duration can be")
    return round(seconds, 7)


def format_iso(seconds: float) -> str:
    """Format seconds as .NET's `XmlConvert` and the SDK do: 93784.5 -> `P1DT2H3M4.5S`.

    Days are the largest unit, and a ten-millionth of a second the smallest; nothing is `PT0S`.
    """
    whole, fraction = divmod(round(seconds * _TICKS), _TICKS)
    days, seconds_of_day = divmod(whole, 86_400)
    hours, seconds_of_day = divmod(seconds_of_day, 3_600)
    minutes, second = divmod(seconds_of_day, 60)
    exact = f"{second}.{fraction:07d}".rstrip("0").rstrip(".") if fraction else second
    day = f"{days}D" if days else ""
    units = ((hours, "H"), (minutes, "M"), (exact, "S"))
    time = "".join(f"{value}{unit}" for value, unit in units if value)
    return f"P{day}" + (f"T{time}" if time else "" if day else "T0S")


def parse(text: str) -> float:
    """Parse `90`, `90s`, `1h30m`, `30d` or an ISO 8601 duration to seconds.

    Raises:
        ValueError: it is none of these, or longer than .NET's longest.
    """
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        seconds = float(text)
    else:
        parts = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            return parse_iso(text)
        seconds = sum(float(number) * _SHORT_UNITS[unit] for number, unit in parts)
    if seconds > _LONGEST:
        raise ValueError(f"`{text}` is longer than a duration can be")
    return seconds


def elapsed(seconds: float) -> str:
    """Format whole seconds for people: `7s`, `2m05s`, `1h02m`."""
    minutes, seconds_left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{seconds_left:02}s" if minutes else f"{seconds_left}s"
