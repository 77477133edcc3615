"""Charts of text characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Bar = tuple[str, float]
Mark = tuple[float, float, str]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST_ROWS = 40


def bars(rows: Sequence[Bar], *, width: int, plain: bool = False) -> str:
    """Draw a line per row: its label, a bar in proportion to its number, the number.

    `plain` draws in ASCII. The longest bar takes what `width` leaves.
    """
    if not rows:
        return ""
    top = max(value for _, value in rows)
    labels = max(len(label) for label, _ in rows)
    numbers = [f"{value:g}" for _, value in rows]
    room = max(width - labels - max(map(len, numbers)) - 4, 8)
    lines = [
        f"{label:>{labels}} │{_bar(value / top if top else 0.0, room, plain=plain)} {number}"
        for (label, value), number in zip(rows, numbers, strict=True)
    ]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return text.replace("│", "|") if plain else text


def scatter(
    marks: Sequence[Mark], *, width: int, height: int, x: tuple[str, str], y: tuple[str, str]
) -> str:
    """Draw marks of a few characters at (x, y), and the words at both ends of each axis.

    A mark that would cover another one moves to the side; earlier marks keep their place.
    """
    size = max(map(len, y))
    room = max(width - size - 3, 8)
    lines = [[" "] * room for _ in range(height)]
    across, up = (
        _scale([mark[0] for mark in marks], room),
        _scale([mark[1] for mark in marks], height),
    )
    for left, top, text in marks:
        line = lines[height - 1 - up(top)]
        column = _free(line, min(across(left), room - len(text)), len(text))
        if column is not None:
            line[column : column + len(text)] = text
    labels = [y[1], *[""] * (height - 2), y[0]]
    drawn = [
        f"{label:>{size}} │{''.join(line)}".rstrip()
        for label, line in zip(labels, lines, strict=True)
    ]
    axis = f"{'':>{size}}  {x[0]}{x[1]:>{max(room - len(x[0]), 1)}}"
    return "\n".join([*drawn, axis]) + "\n"


def _scale(values: Sequence[float], room: int) -> Callable[[float], int]:
    least, highest = min(values), max(values)
    return lambda value: round((value - least) / ((highest - least) or 1) * (room - 1))


def _free(line: Sequence[str], target: int, length: int) -> int | None:
    """Return the free column nearest to `target`, with a blank on both sides."""
    for column in sorted(range(len(line) - length + 1), key=lambda place: abs(place - target)):
        if not "".join(line[max(column - 1, 0) : column + length + 1]).strip():
            return column
    return None


def thin(rows: Sequence[Bar]) -> list[Bar]:
    """Keep at most as many rows as fit a screen, evenly spaced, including the last."""
    step = -(-len(rows) // _MOST_ROWS)
    return list(rows) if step <= 1 else [*rows[:-1:step], rows[-1]]


def _bar(share: float, room: int, *, plain: bool) -> str:
    if plain:
        return "#" * round(share * room)
    eighths = round(share * room * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
