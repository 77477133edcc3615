"""Bar charts of characters."""

from __future__ import annotations

from collections.abc import Sequence

Bar = tuple[str, float]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST_ROWS = 40


def bars(rows: Sequence[Bar], *, width: int, plain: bool = False) -> str:
    """A line for each row: its label, a bar as long as its number is large, the number.

    `plain` draws in ASCII. The longest bar takes what `width` leaves.
    """
    if not rows:
        return ""
    most = max(value for _, value in rows)
    labels = max(len(label) for label, _ in rows)
    numbers = [f"{value:g}" for _, value in rows]
    room = max(width - labels - max(map(len, numbers)) - 4, 8)
    lines = [
        f"{label:>{labels}} │{_bar(value / most if most else 0.0, room, plain=plain)} {number}"
        for (label, value), number in zip(rows, numbers, strict=True)
    ]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return text.replace("│", "|") if plain else text


def thinned(rows: Sequence[Bar]) -> list[Bar]:
    """At most as many rows as a screen has, evenly spaced, the last one included."""
    step = -(-len(rows) // _MOST_ROWS)
    return list(rows) if step <= 1 else [*rows[:-1:step], rows[-1]]


def _bar(share: float, room: int, *, plain: bool) -> str:
    if plain:
        return "#" * round(share * room)
    eighths = round(share * room * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
