"""One page of HTML that needs nothing else: no network, no script, no font.

Parts in, text out. It is dark where the reader's system is, as narrow as a phone or as wide as a
desk, and prints. Its own policy (`Content-Security-Policy`) forbids to load anything. All words in
it are text: a name like `<script>` is shown as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.dataclasses import dataclass
from mlctl.render.page import svg
from mlctl.render.page.svg import Axis, Bar, Curve, Lane, Point, Swing, text

# States of a node, in the order of the legend, with what they are called there.
STATES = ("allocating", "preparing", "running", "idle", "failed", "lost")


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs under a heading; without a heading, `title` is empty."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under heads. The first column is text, the others are numbers if `numbers`."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    numbers: bool = True


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often something was in which range."""

    title: str
    rows: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A row a node, from 0 to `length` seconds; `ticks` are the words beneath, spread evenly."""

    title: str
    length: float
    lanes: tuple[Lane, ...]
    ticks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tornado:
    """What a result hangs on: each assumption from low to high, beside what is without a change."""

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
    """Cumulative curves; `line` is a name and the place where it stands upright."""

    title: str
    rows: tuple[Curve, ...]
    x: Axis
    line: tuple[str, float] | None = None
    note: str = ""


Part = Prose | Table | Histogram | Timeline | Tornado | Scatter | Curves


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, a sentence beneath it, and its parts in order."""

    title: str
    lead: str
    parts: tuple[Part, ...]


def document(page: Page) -> str:
    """The page as HTML; it ends in a line break."""
    parts = "\n".join(map(_part, page.parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(page.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{text(page.title)}</h1>\n<p class="lead">{text(page.lead)}</p>\n{parts}\n'
        "</main>\n</body>\n</html>\n"
    )


def _part(part: Part) -> str:
    match part:
        case Prose():
            inside = "".join(f"<p>{text(paragraph)}</p>" for paragraph in part.paragraphs)
        case Table():
            inside = _table(part) + _note(part.note)
        case Histogram():
            inside = svg.bars(part.rows) + _note(part.note)
        case Timeline():
            inside = svg.timeline(part.length, part.lanes, part.ticks) + legend(part.lanes)
        case Tornado():
            inside = svg.tornado(part.base, part.rows) + _note(part.note)
        case Curves():
            inside = svg.curves(part.rows, part.x, part.line) + _note(part.note)
        case Scatter():
            inside = svg.scatter(part.points, part.x, part.y) + _note(part.note)
    head = f"<h2>{text(part.title)}</h2>" if part.title else ""
    return f"<section>{head}{inside}</section>"


def _table(part: Table) -> str:
    heads = "".join(f'<th scope="col">{text(head)}</th>' for head in part.heads)
    rows = "".join(f"<tr>{_cells(row)}</tr>" for row in part.rows)
    kind = ' class="numbers"' if part.numbers else ""
    return (
        f'<div class="scroll" tabindex="0"><table{kind}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(row: Sequence[str]) -> str:
    first, *others_ = row
    cells = "".join(f"<td>{text(cell)}</td>" for cell in others_)
    return f'<th scope="row">{text(first)}</th>{cells}'


def legend(lanes: Sequence[Lane]) -> str:
    """The states that lanes have, each beside its colour."""
    present = {spell.state for lane in lanes for spell in lane.spells}
    legend = [state for state in STATES if state in present]
    keys = "".join(f'<span><i class="{state}"></i>{state}</span>' for state in legend)
    return f'<p class="legend">{keys}</p>'


def _note(words: str) -> str:
    return f'<p class="note">{text(words)}</p>' if words else ""


STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--soft:#59636e;--line:#d1d9e0;
--mark:#0969da;--best:#bc4c00;--running:#1a7f37;--preparing:#bf8700;--allocating:#afb8c1;
--idle:#a5d6b4;--failed:#8250df;--lost:#cf222e}
@media (prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--soft:#9198a1;
--line:#3d444d;--mark:#4493f8;--best:#f0883e;--running:#3fb950;--preparing:#d29922;--allocating:#656c76;
--idle:#1f5c30;--failed:#a371f7;--lost:#f85149}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
section{overflow-x:auto}
main{max-width:74rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:0 0 .5rem;overflow-wrap:anywhere}
section{margin:2rem 0}
p{margin:.5rem 0;max-width:48rem;overflow-wrap:anywhere}
.lead{font-size:1.1rem}
.note,.legend,.axis,.along,.up{color:var(--soft);font-size:.85rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);
vertical-align:top;font-weight:400}
thead th{color:var(--soft)}
.numbers td,.numbers thead th+th{text-align:right}
tbody th{min-width:3rem}
.row{display:grid;grid-template-columns:minmax(5rem,11rem) minmax(4rem,1fr) minmax(0,11rem);
gap:.5rem;align-items:center;font-size:.85rem;margin:.15rem 0;font-variant-numeric:tabular-nums}
.row svg{width:100%;height:1rem;display:block}
.name{text-align:right;overflow-wrap:anywhere}
.value{color:var(--soft);overflow-wrap:anywhere}
.bars .row{grid-template-columns:8.5rem 1fr minmax(2rem,5rem)}
.lanes .row{grid-template-columns:4.5rem 1fr}
.lanes .value{display:none}
.lanes svg{background:color-mix(in srgb,var(--line) 30%,transparent)}
.axis{display:flex;justify-content:space-between;overflow-wrap:anywhere;margin-left:5rem}
.along{display:flex;justify-content:space-between;gap:.5rem;max-width:40rem}
.plot svg{width:100%;max-width:40rem;display:block;overflow:hidden}
.curve{fill:none;stroke-width:2;vector-effect:non-scaling-stroke}
.curve0{stroke:var(--mark)}.curve1{stroke:var(--best)}.curve2{stroke:var(--lost)}
.curve3{stroke:var(--running)}.curve4{stroke:var(--failed)}.curve5{stroke:var(--preparing)}
i.curve0{background:var(--mark)}i.curve1{background:var(--best)}i.curve2{background:var(--lost)}
i.curve3{background:var(--running)}i.curve4{background:var(--failed)}i.curve5{background:var(--preparing)}
.legend span{margin-right:1rem;white-space:nowrap}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}
.frame{fill:none;stroke:var(--soft);stroke-width:1;vector-effect:non-scaling-stroke}
svg text{fill:var(--text);font-size:14px}
.mark,.low{fill:var(--mark)}.high,.best{fill:var(--best)}
.running{fill:var(--running);background:var(--running)}
.preparing{fill:var(--preparing);background:var(--preparing)}
.allocating{fill:var(--allocating);background:var(--allocating)}
.idle{fill:var(--idle);background:var(--idle)}
.failed{fill:var(--failed);background:var(--failed)}
.lost{fill:var(--lost);background:var(--lost)}
@media (max-width:34rem){
.swings .row{grid-template-columns:minmax(4rem,7.5rem) minmax(3rem,1fr) minmax(0,5.5rem)}
body{font-size:15px}}
@media print{section{break-inside:avoid}}
"""
