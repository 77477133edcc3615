"""A self-contained HTML page: no network, no script, no font.

The page follows the reader's dark mode, fits phones and desktops, and prints. Its
`Content-Security-Policy` forbids loading anything. All text is escaped: a name like `<script>` is
shown as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.render.page import svg
from mlctl.render.page.svg import DONE, Axis, Bar, Curve, Lane, Point, Swing, text

# States of a node in the order of the legend, and their labels.
STATES = (
    "allocating",
    "preparing",
    "running",
    "idle",
    "leaving",
    "unusable",
    "failed",
    "preempted",
    "lost",
)


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs under a heading; `title` is empty for none."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """Rows of cells under heads. The first column is text; the others are numbers if `numbers`."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    numbers: bool = True


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values fell into each range."""

    title: str
    rows: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A row per node, from 0 to `length` seconds; `ticks` are labels below, spread evenly."""

    title: str
    length: float
    lanes: tuple[Lane, ...]
    ticks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tornado:
    """What a result depends on: each assumption from low to high, beside the unchanged result."""

    title: str
    base: float
    rows: tuple[Swing, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points in two dimensions."""

    title: str
    points: tuple[Point, ...]
    x: Axis
    y: Axis
    note: str = ""


@dataclass(frozen=True, slots=True)
class Curves:
    """Cumulative curves; `line` is the name and position of a vertical line."""

    title: str
    rows: tuple[Curve, ...]
    x: Axis
    line: tuple[str, float] | None = None
    note: str = ""
    up: str = DONE


Part = Prose | HtmlTable | Histogram | Timeline | Tornado | Scatter | Curves


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, a sentence below it, and its parts in order."""

    title: str
    lead: str
    parts: tuple[Part, ...]


@cache
def style() -> str:
    """Return the style sheet that all pages and the studio share."""
    return (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def document(page: Page) -> str:
    """Render the page as HTML, with a final line break."""
    parts = "\n".join(map(_part, page.parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(page.title)}</title>\n<style>\n{style()}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{text(page.title)}</h1>\n<p class="lead">{text(page.lead)}</p>\n{parts}\n'
        "</main>\n</body>\n</html>\n"
    )


def _part(part: Part) -> str:
    match part:
        case Prose():
            inside = "".join(f"<p>{text(paragraph)}</p>" for paragraph in part.paragraphs)
        case HtmlTable():
            heads = "".join(f'<th scope="col">{text(head)}</th>' for head in part.heads)
            rows = "".join(f"<tr>{_cells(row)}</tr>" for row in part.rows)
            kind = ' class="numbers"' if part.numbers else ""
            inside = (
                f'<div class="scroll" tabindex="0"><table{kind}><thead><tr>{heads}</tr></thead>'
                f"<tbody>{rows}</tbody></table></div>"
            ) + _note(part.note)
        case Histogram():
            inside = svg.bars(part.rows) + _note(part.note)
        case Timeline():
            inside = svg.timeline(part.length, part.lanes, part.ticks) + legend(part.lanes)
        case Tornado():
            inside = svg.tornado(part.base, part.rows) + _note(part.note)
        case Curves():
            inside = svg.curves(part.rows, part.x, part.line, part.up) + _note(part.note)
        case Scatter():
            inside = svg.scatter(part.points, part.x, part.y) + _note(part.note)
    head = f"<h2>{text(part.title)}</h2>" if part.title else ""
    return f"<section>{head}{inside}</section>"


def _cells(row: Sequence[str]) -> str:
    first, *values = row
    cells = "".join(f"<td>{text(cell)}</td>" for cell in values)
    return f'<th scope="row">{text(first)}</th>{cells}'


def legend(lanes: Sequence[Lane]) -> str:
    """Return the states of the lanes, each beside its colour."""
    present = {spell.state for lane in lanes for spell in lane.spells}
    legend = [state for state in STATES if state in present]
    keys = "".join(f'<span><i class="{state}"></i>{state}</span>' for state in legend)
    return f'<p class="legend">{keys}</p>'


def _note(words: str) -> str:
    return f'<p class="note">{text(words)}</p>' if words else ""
