"""Pictures as text that other programs draw: Mermaid, and Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlctl.render.graph.drawing import Panel, PictureNode, Shape

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
    """A flowchart of Mermaid, as GitHub and Azure DevOps draw it in Markdown."""
    lines = ["flowchart LR"]
    for number, panel in enumerate(panels):
        ids = _ids(panel, number)
        lines.append(f'  subgraph p{number}["{_mermaid(_title(panel))}"]')
        for node in panel.nodes.values():
            opens, closes = _MERMAID[node.shape]
            lines.append(f"    {ids[node.id]}{opens}{_mermaid(_label(node), '<br/>')}{closes}")
        lines.append("  end")
        for arrow in panel.arrows:
            text = f'|"{_mermaid(arrow.text)}"|' if arrow.text else ""
            lines.append(f"  {ids[arrow.source]} -->{text} {ids[arrow.target]}")
    lines.append("  classDef missing stroke-dasharray: 4 3,color:#666")
    return "\n".join(lines) + "\n"


def dot(panels: Sequence[Panel]) -> str:
    """A digraph of Graphviz."""
    lines = ["digraph mlctl {", "  rankdir=LR;", '  node [fontname="sans-serif", fontsize=11];']
    lines.append('  edge [fontname="sans-serif", fontsize=9];')
    for number, panel in enumerate(panels):
        lines += _dot_panel(panel, number)
    return "\n".join([*lines, "}"]) + "\n"


def _dot_panel(panel: Panel, number: int) -> Iterator[str]:
    ids = _ids(panel, number)
    yield f"  subgraph cluster_{number} {{"
    yield f"    label={_quoted(_title(panel))};"
    for node in panel.nodes.values():
        yield f"    {ids[node.id]} [label={_quoted(_label(node))}, {_DOT[node.shape]}];"
    for arrow in panel.arrows:
        yield f"    {ids[arrow.source]} -> {ids[arrow.target]} [label={_quoted(arrow.text)}];"
    yield "  }"


def _ids(panel: Panel, number: int) -> dict[str, str]:
    """Names of nodes that no format minds."""
    return {node: f"n{number}_{index}" for index, node in enumerate(panel.nodes)}


def _title(panel: Panel) -> str:
    return f"{panel.title} ({panel.note})" if panel.note else panel.title


def _label(node: PictureNode) -> str:
    return f"{node.title}\n{node.note}"


def _mermaid(text: str, line: str = " ") -> str:
    """Text within quotes of Mermaid: what it would read is written as entities."""
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
