"""Durations as flags take them."""

from __future__ import annotations

import re

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.kinds.codec import seconds

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `1h30m`, `30d` or an ISO 8601 duration.

    Raises:
        InvalidValue: it is none of these.
    """
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([dhms])", text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return seconds(text)
    except ValueError:
        raise InvalidValue(
            f"`{text}` is no duration; write 90s, 15m, 1h30m, 30d or PT90S"
        ) from None
