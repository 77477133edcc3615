"""Pipelines as documents describe them: steps, what they run, and the data between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from mlctl import pointer
from mlctl.config.graph import Graph, ReadDocument
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Label, Span
from mlctl.kinds import Resource, control_flow
from mlctl.kinds.address import Reference
from mlctl.kinds.expressions import JOBS, OUTPUTS, PARENT, SIDES, Expression, find
from mlctl.kinds.records.component import KIND as COMPONENT
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data, Pointer
from mlctl.source import Document

VALUES = frozenset({"string", "number", "integer", "boolean"})
_DATA = "uri_folder"  # the default type of data
_RUNS = ("component", "trial")  # the keys by which a step names what it runs


@dataclass(frozen=True, slots=True)
class Part:
    """A mapping in a document, and its place."""

    document: Document
    at: Pointer
    data: Mapping[str, Data]

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """Return the place of a value in it, or of its key."""
        return self.document.label((*self.at, *at), text, key=key)

    def mapping(self, *at: str) -> Mapping[str, Data]:
        """Return the mapping at a pointer; empty if there is none."""
        value = pointer.get(self.data, at)
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output that a component or a pipeline declares."""

    name: str
    owner: Part
    side: str
    said: Mapping[str, Data]

    @property
    def type(self) -> str:
        """Its type in lower case; "" if it has none."""
        return str(self.said.get("type", "")).casefold()

    @property
    def needed(self) -> bool:
        """Whether a step must set it."""
        return self.said.get("optional") is not True and self.said.get("default") is None

    def label(self, text: str = "") -> Label:
        """Return the place of its declaration."""
        return self.owner.label((self.side, self.name), text, key=True)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a pipeline. `runs` is its component, or None if that is unknown.

    A step without a component is what it runs: then `written` is true, and `runs` is itself.
    """

    name: str
    part: Part
    runs: Part | None
    written: bool

    def ports(self, side: str) -> Mapping[str, Port] | None:
        """Return the ports that its component declares; None if unknown."""
        return None if self.runs is None or self.written else declared(self.runs, side)

    def outputs(self) -> frozenset[str] | None:
        """Return the outputs that other steps may read; None if unknown."""
        given = self.part.mapping(OUTPUTS)
        if control_flow.kind_of(self.part.data):
            return None  # those of the loop's body
        if self.written:
            return frozenset(map(str, given))
        ports = self.ports(OUTPUTS)
        return None if ports is None else frozenset(ports)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline: its place, its owner, and its steps in the order of the file."""

    resource: Resource
    part: Part
    steps: Mapping[str, Step]

    def ports(self, side: str) -> Mapping[str, Port]:
        """Return its own inputs or outputs."""
        return declared(self.part, side)


@dataclass(frozen=True, slots=True)
class ExpressionUse:
    """An expression in a document, and the pointer of its text."""

    document: Document
    at: Pointer
    expression: Expression
    nth: int

    def label(self, text: str = "") -> Label:
        """Return its place in the text of the file, to the column."""
        return within(self.document, self.at, self.expression.start, self.expression.end, text)


def pipelines(graph: Graph, read: ReadDocument) -> Iterator[Pipeline]:
    """Yield the pipelines among the declared resources, including repeated addresses."""
    repeated = (step for _, step in graph.repeated if step.owner is None)
    for resource in (*graph.resources.values(), *repeated):
        steps = resource.get(*map(str, resource.kind.steps)) if resource.kind.steps else None
        whole = resource.get()
        if isinstance(steps, dict) and isinstance(whole, dict):
            part = Part(resource.document, resource.root, whole)
            yield Pipeline(resource, part, steps_of(part, graph, read))


def steps_of(part: Part, graph: Graph, read: ReadDocument) -> dict[str, Step]:
    """Return the steps of a pipeline, or of a pipeline component, by name."""
    steps = {}
    for name, step in part.mapping(JOBS).items():
        if isinstance(step, dict):
            at = (*part.at, JOBS, str(step.get(control_flow.BODY, name)))
            steps[str(name)] = step_of(str(name), Part(part.document, at, step), graph, read)
    return steps


def step_of(name: str, part: Part, graph: Graph, read: ReadDocument) -> Step:
    """Read a step of a pipeline, or a job by itself, with the component that it runs."""
    key = next((word for word in _RUNS if word in part.data), None)
    if key is None:
        return Step(name, part, part, written=True)
    component = part.data[key]
    if isinstance(component, dict):
        inline = Part(part.document, (*part.at, key), component)
        parts = (*SIDES, JOBS)  # of a job by itself
        standing = not any(isinstance(component.get(side), dict) for side in parts)
        # A trial that is written in the step reads the step's inputs.
        return Step(name, part, part if standing else inline, written=standing)
    path = component_file(part.document.folder, component)
    if path is not None:
        document = read(path)
        return Step(
            name, part, Part(document, (), document.data) if document else None, written=False
        )
    return Step(name, part, _find_declared(component, graph), written=False)


def steps(
    graph: Graph, read: ReadDocument, side: str
) -> Iterator[tuple[Pipeline, Step, Mapping[str, Port]]]:
    """Yield each step whose component is known, with the inputs or outputs that it declares."""
    for pipeline in pipelines(graph, read):
        for step in pipeline.steps.values():
            ports = step.ports(side)
            if ports is not None:
                yield pipeline, step, ports


def declared(part: Part, side: str) -> dict[str, Port]:
    """Return the inputs or outputs that a component, a pipeline or a job declares.

    If a job declares one by a value, it has the type of the value.
    """
    return {
        str(name): Port(
            str(name), part, side, said if isinstance(said, dict) else _get_mapping(said)
        )
        for name, said in part.mapping(side).items()
    }


def is_declared(name: str, ports: Collection[str]) -> bool:
    """Whether a name is that of a port, of a group of ports (`group.rate`), or of a part of one."""
    return name in ports or any(
        name.startswith(f"{port}.") or port.startswith(f"{name}.") for port in ports
    )


def uses(document: Document, data: Data, at: Pointer) -> Iterator[ExpressionUse]:
    """Yield the expressions in the texts of a value, in order."""
    for inner, text in pointer.texts(data):
        for nth, expression in enumerate(find(text)):
            yield ExpressionUse(document, (*at, *inner), expression, nth)


def flows(pipeline: Pipeline) -> Iterator[tuple[str, str, ExpressionUse]]:
    """Yield which step reads from which: (from, to, the expression)."""
    for step in pipeline.steps.values():
        for use in uses(step.part.document, step.part.data, step.part.at):
            path = use.expression.path
            if path[:2] == (PARENT, JOBS) and len(path) > 2:  # noqa: PLR2004
                yield path[2], step.name, use


def order(pipeline: Pipeline) -> tuple[list[str], list[str]]:
    """Sort the steps so that each comes after those it reads from; also return those in a cycle."""
    sources: dict[str, set[str]] = {name: set() for name in pipeline.steps}
    for source, target, _ in flows(pipeline):
        if source in sources:
            sources[target].add(source)
    ordered: list[str] = []
    while ready := [
        name for name in sources if name not in ordered and sources[name] <= {*ordered}
    ]:
        ordered += ready
    waiting = [name for name in sources if name not in ordered]
    while loose := [name for name in waiting if not any(name in sources[one] for one in waiting)]:
        waiting = [name for name in waiting if name not in loose]  # they only depend on a cycle
    return ordered, waiting


def type_of(port: Port) -> str:
    """Return the type of a port, or the default type of data."""
    return port.type or (_DATA if {"path", "mode"} & port.said.keys() else "")


def within(document: Document, at: Pointer, start: int, end: int, text: str = "") -> Label:
    """Return the place of the characters `start` to `end` of the text at `at`.

    If the file spells the text differently (escapes, folded lines), the place of the whole text.
    """
    whole, value = document.label(at, text), str(pointer.get(document.data, at))
    piece, raw = value[start:end], whole.span.text
    place = -1
    for _ in range(value[:start].count(piece) + 1):
        place = raw.find(piece, place + 1)
        if place < 0:
            return whole
    above = raw[:place].split("\n")
    line = whole.span.line + len(above) - 1
    column = len(above[-1]) + (whole.span.column if len(above) == 1 else 0)
    inside = piece.split("\n")
    last = len(inside[-1]) + (column if len(inside) == 1 else 0)
    return Label(Span(whole.span.source, line, column, line + len(inside) - 1, last), text)


def component_file(folder: Path, value: Data) -> Path | None:
    """Return the local file of a component's value; None for other values."""
    if not isinstance(value, str) or not is_local(value) or "${{" in value:
        return None
    return folder / local_path(value)


def _get_mapping(value: Data) -> dict[str, Data]:
    if isinstance(value, bool):
        return {"type": "boolean", "value": value}
    if isinstance(value, int):
        return {"type": "integer", "value": value}
    if isinstance(value, float):
        return {"type": "number", "value": value}
    return {"value": value} if isinstance(value, str) else {}


def _find_declared(component: Data, graph: Graph) -> Part | None:
    """Find the declared component that a reference names."""
    reference = Reference.parse(component, COMPONENT.name) if isinstance(component, str) else None
    if reference is None or reference.address is None:
        return None
    for address in graph.declared(reference.address)[:1]:
        resource = graph.resources[address]
        whole = resource.get()
        if resource.owner is None and isinstance(whole, dict):
            return Part(resource.document, resource.root, whole)
    return None
