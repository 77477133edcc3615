"""The content of a picture in any format: panels of nodes, and arrows between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from mlctl.config.graph import Graph, ReadDocument
from mlctl.config.pipelines import Pipeline, Step, pipelines, uses
from mlctl.dataclasses import dataclass, field, replace
from mlctl.kinds import Resource
from mlctl.kinds.expressions import INPUTS, JOBS, OUTPUTS
from mlctl.pointer import dotted

_MANY = 40  # nodes from which a picture is packed
_SHARED = "shared, or without an endpoint"
_OF_ENDPOINTS = ("batch-deployment", "batch-endpoint", "online-deployment", "online-endpoint")


class Shape(Enum):
    """The sort of a node, which decides its shape."""

    RESOURCE = "resource"
    MISSING = "missing"  # named by a file, but not declared
    STEP = "step"
    PORT = "port"  # an input or output of a pipeline


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A node: `title` is its name, `note` describes it in a few words.

    `group` is the endpoint that it belongs to and is drawn with; "" if several share it.
    """

    id: str
    title: str
    note: str
    shape: Shape
    group: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from one node to another, with a label."""

    source: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the picture with a title; its arrows stay within it.

    In a `packed` panel no arrow crosses groups: they stand side by side.
    """

    title: str
    note: str
    nodes: Mapping[str, PictureNode]
    arrows: tuple[Arrow, ...]
    needs: tuple[str, ...] = field(default=())
    packed: bool = False


def panels(graph: Graph, read: ReadDocument) -> list[Panel]:
    """Draw the resources and their references, then each pipeline with its steps."""
    read_pipelines = list(pipelines(graph, read))
    runs = [pipeline.resource for pipeline in read_pipelines if pipeline.resource.kind.runs]
    resources = _resources(graph, runs)
    steps = [_pipeline(pipeline, graph) for pipeline in read_pipelines]
    return [resources, *steps] if resources.nodes else steps


def in_order(panel: Panel) -> list[str]:
    """Sort the nodes of a panel: each after those that lead to it, else in file order."""
    depth = _depths(panel)
    return sorted(panel.nodes, key=lambda node: depth[node])


def _depths(panel: Panel) -> dict[str, int]:
    """Return the length of the longest path to each node; a cycle is cut where it was entered."""
    sources: dict[str, list[str]] = {node: [] for node in panel.nodes}
    for arrow in panel.arrows:
        if arrow.source != arrow.target:
            sources[arrow.target].append(arrow.source)
    depth: dict[str, int] = {}

    def visit(node: str, path: frozenset[str]) -> int:
        if node not in depth:
            sources_ = [source for source in sources[node] if source not in path]
            above = [visit(source, path | {node}) for source in sources_]
            depth[node] = max(above, default=-1) + 1
        return depth[node]

    for node in panel.nodes:
        visit(node, frozenset())
    return depth


def _resources(graph: Graph, runs: list[Resource]) -> Panel:
    """All resources but jobs with steps, which have panels of their own."""
    drawn = {resource.address for resource in graph.resources.values() if resource not in runs}
    nodes: dict[str, PictureNode] = {}
    arrows = []
    for address in drawn:
        resource = graph.resources[address]
        title = str(resource.form.schema.get("title", resource.kind.title)).lower()
        note = title.partition(" (")[0]  # which form it is written in does not matter here
        title = f"{address.name}:{address.version}" if address.version else address.name
        nodes[str(address)] = PictureNode(str(address), title, note, Shape.RESOURCE)
    for edge in graph.edges:
        if edge.source in drawn and not edge.deferred:
            declared = graph.declared(edge.target)
            target = str(declared[0] if declared else edge.target)
            if target not in nodes:
                version = f":{edge.target.version}" if edge.target.version else ""
                title = f"{edge.target.name}{version}"
                nodes[target] = PictureNode(target, title, edge.target.kind, Shape.MISSING)
            arrows.append(Arrow(str(edge.source), target, dotted(edge.at)))
    return Panel("resources", "", _group_nodes(nodes, arrows), tuple(dict.fromkeys(arrows)))


def pack(panel: Panel) -> Panel:
    """Keep a picture of many resources readable: users of shared resources name them instead.

    A hundred arrows to one cluster would cross the whole picture. A small panel is returned
    unchanged.
    """
    if len(panel.nodes) < _MANY or not any(node.group for node in panel.nodes.values()):
        return panel
    nodes, arrows = dict(panel.nodes), []
    for arrow in panel.arrows:
        source, target = nodes[arrow.source], nodes[arrow.target]
        if source.group == target.group:
            arrows.append(arrow)
        else:
            note = f"{source.note}\n{arrow.text}: {target.title}"
            nodes[arrow.source] = replace(source, note=note)
    shared = {
        id_: node if node.group else replace(node, group=_SHARED) for id_, node in nodes.items()
    }
    return replace(panel, nodes=shared, arrows=tuple(arrows), packed=True)


def _group_nodes(
    nodes: Mapping[str, PictureNode], arrows: Sequence[Arrow]
) -> dict[str, PictureNode]:
    """Return the nodes by id, each with the only endpoint that leads to it or contains it."""
    users: dict[str, list[str]] = {}
    for arrow in arrows:
        users.setdefault(arrow.target, []).append(arrow.source)
    groups = {
        node: node.partition("/")[2].partition("/")[0]
        for node in nodes
        if node.partition("/")[0] in _OF_ENDPOINTS
    }
    for node in in_order(Panel("", "", nodes, tuple(arrows))):
        owners = {groups.get(user, "") for user in users.get(node, ())}
        if node not in groups and len(owners) == 1:
            groups[node] = owners.pop()
    return {
        node: replace(nodes[node], group=groups.get(node, ""))
        for node in sorted(nodes, key=lambda node: (groups.get(node, ""), node))
    }


def _pipeline(pipeline: Pipeline, graph: Graph) -> Panel:
    nodes: dict[str, PictureNode] = {}
    for side, mark in ((INPUTS, "input"), (OUTPUTS, "output")):
        for name in pipeline.ports(side):
            nodes[f"{side}.{name}"] = PictureNode(f"{side}.{name}", name, mark, Shape.PORT)
    for step in pipeline.steps.values():
        nodes[f"{JOBS}.{step.name}"] = PictureNode(
            f"{JOBS}.{step.name}", step.name, _runs(step), Shape.STEP
        )
    arrows = [arrow for step in pipeline.steps.values() for arrow in _flows(step, nodes)]
    resource = pipeline.resource
    title = str(resource.get("display_name") or resource.get("name") or resource.document.place)
    note = str(resource.form.schema.get("title", f"{resource.form.name} {resource.kind.title}"))
    needs = [str(edge.target) for edge in graph.edges_of(resource.address)]
    return Panel(
        title, note.lower(), nodes, tuple(dict.fromkeys(arrows)), tuple(dict.fromkeys(needs))
    )


def _flows(step: Step, nodes: Mapping[str, PictureNode]) -> Iterator[Arrow]:
    """Return the arrows to and from a step."""
    node = f"{JOBS}.{step.name}"
    for use in uses(step.part.document, step.part.data, step.part.at):
        below = use.at[len(step.part.at) :]
        port = str(below[1]) if len(below) > 1 and below[0] in (INPUTS, OUTPUTS) else dotted(below)
        match use.expression.path:
            case ("parent", "inputs", *names) if (source := dotted((INPUTS, *names))) in nodes:
                yield Arrow(source, node, port)
            case ("parent", "outputs", name, *_) if f"{OUTPUTS}.{name}" in nodes:
                yield Arrow(node, f"{OUTPUTS}.{name}", port)
            case ("parent", "jobs", name, "outputs", output) if f"{JOBS}.{name}" in nodes:
                yield Arrow(
                    f"{JOBS}.{name}", node, output if output == port else f"{output} → {port}"
                )
            case ("parent", "jobs", name, *_) if f"{JOBS}.{name}" in nodes:
                yield Arrow(f"{JOBS}.{name}", node, port)
            case _:
                pass


def _runs(step: Step) -> str:
    """Describe briefly what a step runs."""
    data = step.part.data
    kind = str(data.get("type") or "command").lower()
    component = data.get("component") or data.get("trial")
    if isinstance(component, str):
        return f"{kind} {_short(component)}"
    task = data.get("task")
    return f"{kind} {task}" if isinstance(task, str) else kind


def _short(reference: str) -> str:
    name = reference.removeprefix("azureml:")
    if name.startswith("//"):
        parts = name.strip("/").split("/")
        return parts[3] if len(parts) > 3 else name  # noqa: PLR2004 - registries/R/components/NAME
    return name.rpartition("/")[2] if name.startswith("/") else name
