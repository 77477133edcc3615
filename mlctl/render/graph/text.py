"""Pictures as trees of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlctl.render.graph.drawing import Arrow, Panel, PictureNode, Shape, in_order
from mlctl.render.terminal.terminal import clean


def text(panels: Sequence[Panel]) -> str:
    """The panels one below the other: resources under what refers to them, steps in their order."""
    parts = []
    for panel in panels:
        pipeline = any(node.shape is Shape.STEP for node in panel.nodes.values())
        parts.append("\n".join(map(clean, _steps(panel) if pipeline else _tree(panel))))
    return "\n\n".join(parts) + "\n"


def _tree(panel: Panel) -> Iterator[str]:
    """Each resource that nothing refers to, with what it refers to below it."""
    targets = {arrow.target for arrow in panel.arrows}
    roots = [node for node in panel.nodes if node not in targets] or list(panel.nodes)
    below: dict[str, list[Arrow]] = {}
    for arrow in panel.arrows:
        below.setdefault(arrow.source, []).append(arrow)
    printed: set[str] = set()
    for root in roots:
        yield _line(panel.nodes[root])
        printed.add(root)
        yield from _branches(root, panel.nodes, below, printed, "")


def _branches(
    above: str,
    nodes: Mapping[str, PictureNode],
    below: Mapping[str, list[Arrow]],
    printed: set[str],
    pad: str,
) -> Iterator[str]:
    arrows = below.get(above, [])
    for arrow in arrows:
        last = arrow is arrows[-1]
        repeated = arrow.target in printed and arrow.target in below
        more = " (above)" if repeated else ""
        yield f"{pad}{'└─' if last else '├─'} {arrow.text}: {_line(nodes[arrow.target])}{more}"
        if arrow.target not in printed:
            printed.add(arrow.target)
            yield from _branches(
                arrow.target, nodes, below, printed, pad + ("   " if last else "│  ")
            )


def _line(node: PictureNode) -> str:
    missing = ", not in these files" if node.shape is Shape.MISSING else ""
    return f"{node.title} ({node.note}{missing})"


def _steps(panel: Panel) -> Iterator[str]:
    """A pipeline: each step, in order, with what it reads; then what the pipeline writes."""
    yield f"{panel.title} ({panel.note})"
    steps = [node for node in in_order(panel) if panel.nodes[node].shape is Shape.STEP]
    outputs = [node for node in panel.nodes if node.startswith("outputs.")]
    entries: list[tuple[str, list[str]]] = []
    for step in steps:
        reads = [_read(arrow) for arrow in panel.arrows if arrow.target == step]
        entries.append((_line(panel.nodes[step]), reads))
    if outputs:
        written = [
            f"{_name(output).partition('.')[2]} ← {_name(arrow.source)}.{arrow.text}"
            for output in outputs
            for arrow in panel.arrows
            if arrow.target == output
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
