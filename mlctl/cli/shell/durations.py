"""Durations as flags take them."""

from __future__ import annotations

from mlctl import durations
from mlctl.cli.parser.arguments import InvalidValue


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `1h30m`, `30d` or an ISO 8601 duration.

    Raises:
        InvalidValue: it is none of these.
    """
    try:
        return durations.parse(text)
    except ValueError:
        raise InvalidValue(
            f"`{text}` is no duration; write 90s, 15m, 1h30m, 30d or PT90S"
        ) from None
