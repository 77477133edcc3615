"""Pictures as text: trees, Mermaid, and Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil, sqrt

from mlctl.render.graph.drawing import Arrow, Panel, PictureNode, Shape, in_order, pack
from mlctl.render.terminal.terminal import clean

_MERMAID = {
    Shape.RESOURCE: ('["', '"]'),
    Shape.MISSING: ('["', '"]:::missing'),
    Shape.STEP: ('("', '")'),
    Shape.PORT: ('(["', '"])'),
}
_DOT = {
    Shape.RESOURCE: "shape=box",
    Shape.MISSING: 'shape=box, style=dashed, color=gray, fontcolor="gray30"',
    Shape.STEP: "shape=box, style=rounded",
    Shape.PORT: "shape=ellipse",
}


def mermaid(panels: Sequence[Panel]) -> str:
    """Format a Mermaid flowchart, as GitHub and Azure DevOps draw it in Markdown.

    Without a direction, a subgraph that no arrow enters would be laid out from the top down, with
    the endpoints side by side: 41 000 pixels wide for 150 resources.
    """
    lines = ["flowchart LR"]
    for number, panel in enumerate(map(pack, panels)):
        ids = _ids(panel, number)
        lines.append(f'  subgraph p{number}["{_mermaid(_title(panel))}"]\n  direction LR')
        for index, (group, nodes) in enumerate(_groups(panel)):
            if group:
                lines.append(
                    f'    subgraph p{number}g{index}["{_mermaid(group)}"]\n    direction LR'
                )
            for node in nodes:
                opens, closes = _MERMAID[node.shape]
                lines.append(f"    {ids[node.id]}{opens}{_mermaid(_label(node), '<br/>')}{closes}")
            if group:
                lines.append("    end")
        lines.append("  end")
        for arrow in panel.arrows:
            text = f'|"{_mermaid(arrow.text)}"|' if arrow.text else ""
            lines.append(f"  {ids[arrow.source]} -->{text} {ids[arrow.target]}")
    lines.append("  classDef missing stroke-dasharray: 4 3,color:#666")
    return "\n".join(lines) + "\n"


def dot(panels: Sequence[Panel]) -> str:
    """Format a Graphviz digraph."""
    lines = [
        "digraph mlctl {",
        '  rankdir=LR; fontname="sans-serif";',
        '  node [fontname="sans-serif", fontsize=11];',
    ]
    lines.append('  edge [fontname="sans-serif", fontsize=9];')
    for number, panel in enumerate(map(pack, panels)):
        lines += _dot_panel(panel, number)
    return "\n".join([*lines, "}"]) + "\n"


def _dot_panel(panel: Panel, number: int) -> Iterator[str]:
    ids = _ids(panel, number)
    groups = _groups(panel)
    rows = ceil(sqrt(2.5 * len(groups)))  # a group is wider than it is high
    if panel.packed:  # `dot` fills each column from its foot
        columns = range(0, len(groups), rows)
        groups = [group for start in columns for group in groups[start : start + rows][::-1]]
    packing = f'  pack=20; packmode="array_u{rows}"; {{'
    yield packing if panel.packed else f"  subgraph cluster_{number} {{"
    if not panel.packed:
        yield f"    label={_quoted(_title(panel))};"
    for index, (group, nodes) in enumerate(groups):
        if group:
            yield f"    subgraph cluster_{number}_{index} {{ label={_quoted(group)}; style=rounded;"
        for node in nodes:
            yield f"    {ids[node.id]} [label={_quoted(_label(node))}, {_DOT[node.shape]}];"
        if group:
            yield "    }"
    for arrow in panel.arrows:
        yield f"    {ids[arrow.source]} -> {ids[arrow.target]} [label={_quoted(arrow.text)}];"
    yield "  }"


def _groups(panel: Panel) -> list[tuple[str, list[PictureNode]]]:
    """Return the nodes of each group, first those without one."""
    ordered = sorted(panel.nodes.values(), key=lambda node: node.group)
    return [(group, list(nodes)) for group, nodes in groupby(ordered, lambda node: node.group)]


def _ids(panel: Panel, number: int) -> dict[str, str]:
    """Return node names that every format accepts."""
    return {node: f"n{number}_{index}" for index, node in enumerate(panel.nodes)}


def _title(panel: Panel) -> str:
    return f"{panel.title} ({panel.note})" if panel.note else panel.title


def _label(node: PictureNode) -> str:
    return f"{node.title}\n{node.note}"


def _mermaid(text: str, line: str = " ") -> str:
    """Escape text for a quoted label of Mermaid: special characters become entities."""
    safe = _printable(text)
    for mark, entity in (
        ("#", "#35;"),
        ('"', "#quot;"),
        ("<", "#lt;"),
        (">", "#gt;"),
        ("`", "#96;"),
    ):
        safe = safe.replace(mark, entity)
    return safe.replace("\n", line)


def _quoted(text: str) -> str:
    safe = _printable(text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _printable(text: str) -> str:
    return "".join(mark if mark == "\n" or mark.isprintable() else " " for mark in text)


def text(panels: Sequence[Panel]) -> str:
    """Render the panels one below the other: resources as trees, steps in order."""
    parts = []
    for panel in panels:
        pipeline = any(node.shape is Shape.STEP for node in panel.nodes.values())
        parts.append("\n".join(map(clean, _steps(panel) if pipeline else _tree(panel))))
    return "\n\n".join(parts) + "\n"


def _tree(panel: Panel) -> Iterator[str]:
    """Render each resource that nothing refers to, with its references below it."""
    targets = {arrow.target for arrow in panel.arrows}
    roots = [node for node in panel.nodes if node not in targets] or list(panel.nodes)
    groups = {node: panel.nodes[node].group for node in roots}
    below: dict[str, list[Arrow]] = {}
    for arrow in panel.arrows:
        below.setdefault(arrow.source, []).append(arrow)
    printed: set[str] = set()
    for group, members in groupby(roots, lambda root: groups[root]):
        listed = list(members)
        pad = "  " if group and len(set(groups.values())) > 1 else ""
        if pad:
            yield f"{group}:"
        for root in listed:
            yield pad + _line(panel.nodes[root])
            printed.add(root)
            yield from _branches(root, panel.nodes, below, printed, pad)


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
        label = f"{arrow.text}: " if arrow.text else ""
        yield f"{pad}{'└─' if last else '├─'} {label}{_line(nodes[arrow.target])}{more}"
        if arrow.target not in printed:
            printed.add(arrow.target)
            yield from _branches(
                arrow.target, nodes, below, printed, pad + ("   " if last else "│  ")
            )


def _line(node: PictureNode) -> str:
    missing = ", not in these files" if node.shape is Shape.MISSING else ""
    return f"{node.title} ({node.note}{missing})"


def _steps(panel: Panel) -> Iterator[str]:
    """Render a pipeline: each step in order with its inputs, then the pipeline's outputs."""
    yield f"{panel.title} ({panel.note})"
    steps = [node for node in in_order(panel) if panel.nodes[node].shape is Shape.STEP]
    outputs = [node for node in panel.nodes if node.startswith("outputs.")]
    entries: list[tuple[str, list[str]]] = []
    for step in steps:
        reads = [_input_text(arrow) for arrow in panel.arrows if arrow.target == step]
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


def _input_text(arrow: Arrow) -> str:
    """Format `clean_data ← prep.prep_data`: what a step reads, and from where."""
    output, leads, port = arrow.text.partition(" → ")
    from_step = arrow.source.startswith("jobs.")
    return f"{port if leads else output} ← {_name(arrow.source)}{f'.{output}' if from_step else ''}"


def _name(node: str) -> str:
    """Return a node's name for people: a step's own name, or `inputs.NAME`."""
    return node.removeprefix("jobs.")
