"""Pictures as trees of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlctl.render.graph.drawing import Arrow, Node, Panel, Shape
from mlctl.render.graph.layers import ordered
from mlctl.render.terminal.terminal import clean


def text(panels: Sequence[Panel]) -> str:
    """The panels one below the other: resources under what refers to them, steps in their order."""
    parts = []
    for panel in panels:
        pipeline = any(one.shape is Shape.STEP for one in panel.nodes.values())
        parts.append("\n".join(map(clean, _steps(panel) if pipeline else _tree(panel))))
    return "\n\n".join(parts) + "\n"


def _tree(panel: Panel) -> Iterator[str]:
    """Each resource that nothing refers to, with what it refers to below it."""
    targets = {one.target for one in panel.arrows}
    roots = [one for one in panel.nodes if one not in targets] or list(panel.nodes)
    below: dict[str, list[Arrow]] = {}
    for arrow in panel.arrows:
        below.setdefault(arrow.source, []).append(arrow)
    told: set[str] = set()
    for root in roots:
        yield _line(panel.nodes[root])
        told.add(root)
        yield from _branches(root, panel.nodes, below, told, "")


def _branches(
    above: str,
    nodes: Mapping[str, Node],
    below: Mapping[str, list[Arrow]],
    told: set[str],
    pad: str,
) -> Iterator[str]:
    arrows = below.get(above, [])
    for arrow in arrows:
        last = arrow is arrows[-1]
        again = arrow.target in told and arrow.target in below
        more = " (above)" if again else ""
        yield f"{pad}{'└─' if last else '├─'} {arrow.text}: {_line(nodes[arrow.target])}{more}"
        if arrow.target not in told:
            told.add(arrow.target)
            yield from _branches(arrow.target, nodes, below, told, pad + ("   " if last else "│  "))


def _line(node: Node) -> str:
    missing = ", not in these files" if node.shape is Shape.MISSING else ""
    return f"{node.title} ({node.note}{missing})"


def _steps(panel: Panel) -> Iterator[str]:
    """A pipeline: each step, in order, with what it reads; then what the pipeline writes."""
    yield f"{panel.title} ({panel.note})"
    steps = [one for one in ordered(panel) if panel.nodes[one].shape is Shape.STEP]
    outputs = [one for one in panel.nodes if one.startswith("outputs.")]
    entries: list[tuple[str, list[str]]] = []
    for step in steps:
        reads = [_read(one) for one in panel.arrows if one.target == step]
        entries.append((_line(panel.nodes[step]), reads))
    if outputs:
        written = [
            f"{_name(output).partition('.')[2]} ← {_name(one.source)}.{one.text}"
            for output in outputs
            for one in panel.arrows
            if one.target == output
        ]
        entries.append(("outputs", written))
    if panel.needs:
        entries.append(("needs", list(panel.needs)))
    for index, (head, lines) in enumerate(entries):
        last = index == len(entries) - 1
        yield f"{'└─' if last else '├─'} {head}"
        for place, line in enumerate(lines):
            mark = "└─" if place == len(lines) - 1 else "├─"
            yield f"{'   ' if last else '│  '}{mark} {line}"


def _read(arrow: Arrow) -> str:
    """`clean_data ← prep.prep_data`: what a step reads, and from where."""
    output, leads, port = arrow.text.partition(" → ")
    from_step = arrow.source.startswith("jobs.")
    return f"{port if leads else output} ← {_name(arrow.source)}{f'.{output}' if from_step else ''}"


def _name(node: str) -> str:
    """A node as people call it: a step by its name, an input as `inputs.NAME`."""
    return node.removeprefix("jobs.")
