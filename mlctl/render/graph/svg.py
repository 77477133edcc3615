"""Pictures as SVG: one file, without scripts, styles from elsewhere or links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from mlctl.render.graph.drawing import Panel, Shape
from mlctl.render.graph.layers import Layout, layout

_MARGIN, _TITLE, _HEIGHT, _PASSAGE = 24, 40, 44, 16  # pixels; of an arrow that passes a layer
_ACROSS, _DOWN = 90, 22  # between layers, between nodes of a layer
_LINE = 12  # of what arrows say
_LETTER, _SMALL = 7.3, 6.1  # widths of a letter of titles and notes
_LONGEST = 38  # letters of a title or note
_COLOURS = {
    Shape.RESOURCE: ("#eaf2fb", "#3b6ea5"),
    Shape.MISSING: ("#fafafa", "#9a9a9a"),
    Shape.STEP: ("#eef7ee", "#3f8f4f"),
    Shape.PORT: ("#fdf4e3", "#b98a2f"),
}
_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}"
    ".title{font-size:13px}.note{font-size:11px;fill:#59636e}.panel{font-size:15px;font-weight:600}"
    ".arrow{font-size:10px;fill:#59636e;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    "path{fill:none;stroke:#8b949e;stroke-width:1.2}"
)
_HEAD = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><polygon points="0,0 8,4 0,8" fill="#8b949e"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    height: float = _HEIGHT

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def svg(panels: Sequence[Panel]) -> str:
    """The panels one below the other."""
    parts: list[str] = []
    top, widest = float(_MARGIN), 320.0
    for panel in panels:
        laid = layout(panel)
        boxes, width, height = _placed(panel, laid, top + _TITLE)
        title = f"{panel.title} ({panel.note})" if panel.note else panel.title
        parts.append(_text(_MARGIN, top + 18, title, "panel"))
        parts += [_arrow([boxes[one] for one in way]) for way in laid.ways.values()]
        parts += [piece for name in panel.nodes for piece in _node(panel, name, boxes[name])]
        parts += [one for ends, way in laid.ways.items() for one in _said(panel, ends, way, boxes)]
        top, widest = top + _TITLE + height + 2 * _MARGIN, max(widest, width)
    width, height = int(widest + _MARGIN), int(top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">\n'
        f'<style>{_STYLE}</style>\n{_HEAD}\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _placed(panel: Panel, laid: Layout, top: float) -> tuple[Mapping[str, _Box], float, float]:
    """A box for each node and passage, and the width and height of all."""
    heights = [sum(_high(panel, node) + _DOWN for node in layer) - _DOWN for layer in laid.layers]
    height = max(heights, default=0.0)
    boxes: dict[str, _Box] = {}
    x = float(_MARGIN)
    for layer, used in zip(laid.layers, heights, strict=True):
        width = max((_width(panel, node) for node in layer), default=0.0)
        y = top + (height - used) / 2
        for node in layer:
            boxes[node] = _Box(x, y, width, _high(panel, node))
            y += _high(panel, node) + _DOWN
        longest = max(
            (len(_cut(one.text)) for one in panel.arrows if one.source in layer), default=0
        )
        x += width + max(_ACROSS, longest * _SMALL + 30)
    return boxes, max((box.x + box.width for box in boxes.values()), default=0.0), height


def _high(panel: Panel, node: str) -> float:
    return _HEIGHT if node in panel.nodes else _PASSAGE


def _width(panel: Panel, node: str) -> float:
    one = panel.nodes.get(node)
    if one is None:
        return 0
    return max(len(_cut(one.title)) * _LETTER, len(_cut(one.note)) * _SMALL) + 24


def _node(panel: Panel, name: str, box: _Box) -> Iterator[str]:
    node = panel.nodes[name]
    fill, stroke = _COLOURS[node.shape]
    round_ = {Shape.STEP: 8, Shape.PORT: _HEIGHT // 2}.get(node.shape, 2)
    dashed = ' stroke-dasharray="5 3"' if node.shape is Shape.MISSING else ""
    yield (
        f"<g><title>{_safe(f'{node.title}: {node.note}')}</title>"
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{_HEIGHT}"'
        f' rx="{round_}" fill="{fill}" stroke="{stroke}"{dashed}/>'
    )
    middle = box.x + box.width / 2
    yield _text(middle, box.y + 19, _cut(node.title), "title", "middle")
    yield _text(middle, box.y + 35, _cut(node.note), "note", "middle") + "</g>"


def _arrow(way: list[_Box]) -> str:
    """A curve from box to box; through those between straight on."""
    start, *through, end = way
    x, y = start.x + start.width, start.middle
    path = f"M{x:.0f},{y:.0f}"
    for box in (*through, end):
        bend = max(abs(box.x - x) / 2, 30)
        path += f" C{x + bend:.0f},{y:.0f} {box.x - bend:.0f},{box.middle:.0f}"
        path += f" {box.x:.0f},{box.middle:.0f}"
        if box is not end:
            path += f" H{box.x + box.width:.0f}"
        x, y = box.x + box.width, box.middle
    return f'<path d="{path}" marker-end="url(#tip)"/>'


def _said(
    panel: Panel, ends: tuple[str, str], way: list[str], boxes: Mapping[str, _Box]
) -> Iterator[str]:
    """What the arrows between two nodes say, at the middle of the first part of their way."""
    source, target = boxes[way[0]], boxes[way[1]]
    x = (source.x + source.width + target.x) / 2
    y = (source.middle + target.middle) / 2 - 4
    texts = [one.text for one in panel.arrows if (one.source, one.target) == ends and one.text]
    for above, text in enumerate(reversed(texts)):
        yield _text(x, y - above * _LINE, _cut(text), "arrow", "middle")


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" class="{style}" text-anchor="{anchor}">{_safe(text)}</text>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _safe(text: str) -> str:
    return escape("".join(one if one.isprintable() else " " for one in text))
