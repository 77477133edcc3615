"""Charts as HTML with inline SVG: pure functions from plain values to text.

Only marks are drawn; labels are HTML beside them, so that charts shrink to a phone's width while
text keeps its size. Colours are classes of the page's style sheet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import isfinite
from typing import NamedTuple

from mlctl.dataclasses import dataclass
from mlctl.render.terminal.terminal import clean

_WIDE = 1000  # units of a full-width drawing
_PLOT_WIDTH, _PLOT_HEIGHT, _MARGIN = 480, 280, 14
_LINE = 16  # the height of a label


class Bar(NamedTuple):
    """A row of a bar chart: a label, its length, and the length in words."""

    label: str
    value: float
    text: str


class Stretch(NamedTuple):
    """A state that lasted from one moment to another."""

    state: str
    begin: float
    end: float


class Lane(NamedTuple):
    """A row of a timeline."""

    label: str
    spells: tuple[Stretch, ...]


class Swing(NamedTuple):
    """A row of a tornado: the result at the low and at the high end of an assumption."""

    label: str
    low: float
    high: float
    low_text: str
    high_text: str


class Point(NamedTuple):
    """A point of a scatter; a marked one is larger and has a label."""

    label: str
    x: float
    y: float
    marked: bool = False


class Curve(NamedTuple):
    """A share between 0 and 1 that grows along an axis: its name, and points (x, share).

    With `is_area` the points are the corners of an area.
    """

    label: str
    places: tuple[tuple[float, float], ...]
    is_area: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, and the words at its two ends."""

    label: str
    low: str
    high: str


def text(words: object) -> str:
    """Escape text for HTML, without markup or control characters."""
    return escape(clean(str(words)), quote=True)


def bars(rows: Sequence[Bar]) -> str:
    """Draw a bar chart: one row each, the longest bar at full width."""
    highest = max((row.value for row in rows), default=0.0)
    return _rows(
        "bars",
        [
            (
                row.label,
                _strip([(0.0, row.value / highest if highest else 0.0, "mark", "")]),
                row.text,
            )
            for row in rows
        ],
    )


def timeline(length: float, lanes: Sequence[Lane], ticks: Sequence[str]) -> str:
    """Draw a row per lane, and below them labels spread evenly from 0 to `length`."""
    scale = 1 / length if length > 0 else 0.0
    drawn = [
        (
            lane.label,
            _strip(
                [
                    (spell.begin * scale, spell.end * scale, spell.state, spell.state)
                    for spell in lane.spells
                ]
            ),
            "",
        )
        for lane in lanes
    ]
    axis = "".join(f"<span>{text(tick)}</span>" for tick in ticks)
    return _rows("lanes", drawn) + f'<div class="axis" aria-hidden="true">{axis}</div>'


def tornado(base: float, rows: Sequence[Swing]) -> str:
    """Draw each assumption from its low to its high result; the line is the unchanged result."""
    ends = [base, *(row.low for row in rows), *(row.high for row in rows)]
    finite = [end for end in ends if isfinite(end)]
    least, highest = min(finite, default=0.0), max(finite, default=0.0)
    width = highest - least

    def at(value: float) -> float:
        inside = min(max(value, least), highest)
        return (inside - least) / width if width else 0.5

    drawn = []
    for row in rows:
        marks = [
            (min(at(base), at(end)), max(at(base), at(end)), kind, words)
            for end, kind, words in (
                (row.low, "low", row.low_text),
                (row.high, "high", row.high_text),
            )
        ]
        drawn.append((row.label, _strip(marks, line=at(base)), f"{row.low_text} – {row.high_text}"))  # noqa: RUF001  # a range
    return _rows("swings", drawn)


def scatter(points: Sequence[Point], x: Axis, y: Axis) -> str:
    """Draw points in two dimensions, scaled to the data."""
    drawn = [point for point in points if isfinite(point.x) and isfinite(point.y)]
    across = _scale([point.x for point in drawn], _MARGIN, _PLOT_WIDTH - _MARGIN)
    up = _scale([point.y for point in drawn], _PLOT_HEIGHT - _MARGIN, _MARGIN)
    marks, tops = [], list[float]()
    for point in sorted(drawn, key=lambda point: point.marked):
        x_, top = across(point.x), up(point.y)
        kind, radius = ("best", 7) if point.marked else ("mark", 4)
        title = f"<title>{text(point.label)}</title>"
        marks.append(
            f'<circle class="{kind}" cx="{x_:.1f}" cy="{top:.1f}" r="{radius}">{title}</circle>'
        )
        if point.marked:
            anchor, shift = ("end", -11) if x_ > _PLOT_WIDTH / 2 else ("start", 11)
            step = _LINE if top < _PLOT_HEIGHT / 2 else -_LINE
            while any(abs(top - neighbour) < _LINE for neighbour in tops):  # labels stand clear
                top += step
            tops.append(top)
            marks.append(
                f'<text x="{x_ + shift:.1f}" y="{top + 5:.1f}" text-anchor="{anchor}">'
                f"{text(point.label)}</text>"
            )
    frame = f'<path class="frame" d="M1 0V{_PLOT_HEIGHT - 1}H{_PLOT_WIDTH}"/>'
    return (
        f'<div class="plot"><p class="up">{text(y.label)}: {text(y.low)} to {text(y.high)}</p>'
        f'<svg viewBox="0 0 {_PLOT_WIDTH} {_PLOT_HEIGHT}" role="img"'
        f' aria-label="{text(y.label)} by {text(x.label)}">{frame}{"".join(marks)}</svg>'
        f'<p class="along"><span>{text(x.low)}</span><span>{text(x.label)}</span>'
        f"<span>{text(x.high)}</span></p></div>"
    )


DONE = "share of the jobs that are done: 0 to 100 %"


def curves(
    rows: Sequence[Curve], x: Axis, line: tuple[str, float] | None = None, up: str = DONE
) -> str:
    """Draw cumulative curves with their names below, and a vertical line at a place of x."""
    places = [place for row in rows for place, _ in row.places] + ([line[1]] if line else [])
    across = _scale(places, _MARGIN, _PLOT_WIDTH - _MARGIN)
    rises = _scale([0.0, 1.0], _PLOT_HEIGHT - _MARGIN, _MARGIN)
    drawn = [f'<path class="frame" d="M1 0V{_PLOT_HEIGHT - 1}H{_PLOT_WIDTH}"/>']
    for number, row in enumerate(rows):
        form, kind = ("L{:.1f} {:.1f}", "area") if row.is_area else ("H{:.1f}V{:.1f}", "curve")
        path = "".join(form.format(across(place), rises(share)) for place, share in row.places)
        begin = f"M{across(row.places[0][0]) if row.places else 0:.1f} {rises(0.0):.1f}"
        title = f"<title>{text(row.label)}</title>"
        drawn.append(
            f'<path class="{kind} curve{number % _COLOURS}" d="{begin}{path}">{title}</path>'
        )
    if line is not None:
        at, anchor = across(line[1]), "end" if across(line[1]) > _PLOT_WIDTH / 2 else "start"
        shift = -6 if anchor == "end" else 6
        drawn.append(f'<path class="frame" d="M{at:.1f} 0V{_PLOT_HEIGHT}"/>')
        drawn.append(
            f'<text x="{at + shift:.1f}" y="{_PLOT_HEIGHT - 8}" text-anchor="{anchor}">'
            f"{text(line[0])}</text>"
        )
    names = "".join(
        f'<span><i class="curve{number % _COLOURS}"></i>{text(row.label)}</span>'
        for number, row in enumerate(rows)
    )
    return (
        f'<div class="plot"><p class="up">{text(up)}</p>'
        f'<svg viewBox="0 0 {_PLOT_WIDTH} {_PLOT_HEIGHT}" role="img"'
        f' aria-label="{text(up)} by {text(x.label)}">{"".join(drawn)}</svg>'
        f'<p class="along"><span>{text(x.low)}</span><span>{text(x.label)}</span>'
        f'<span>{text(x.high)}</span></p><p class="legend">{names}</p></div>'
    )


_COLOURS = 6


def _scale(values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    least, highest = min(values, default=0.0), max(values, default=0.0)
    width = highest - least
    return lambda value: begin + (end - begin) * ((value - least) / width if width else 0.5)


def _rows(kind: str, rows: Sequence[tuple[str, str, str]]) -> str:
    lines = "".join(
        f'<div class="row"><span class="name">{text(label)}</span>{drawing}'
        f'<span class="value">{text(value)}</span></div>'
        for label, drawing, value in rows
    )
    return f'<div class="{kind}">{lines}</div>'


def _strip(marks: Sequence[tuple[float, float, str, str]], line: float | None = None) -> str:
    """Draw marks from one share of the width to another, each with a class and a title."""
    drawn = "".join(_mark(begin, end, kind, title) for begin, end, kind, title in marks)
    if line is not None:
        drawn += f'<path class="frame" d="M{line * _WIDE:.1f} 0V10"/>'
    return (
        f'<svg viewBox="0 0 {_WIDE} 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
    )


def _mark(begin: float, end: float, kind: str, title: str) -> str:
    begin_x, right = (min(max(share, 0.0), 1.0) * _WIDE for share in (begin, end))
    title_text = f"<title>{text(title)}</title>" if title else ""
    return (
        f'<rect class="{text(kind)}" x="{begin_x:.1f}" y="0" width="{max(right - begin_x, 0):.1f}"'
        f' height="10">{title_text}</rect>'
    )
