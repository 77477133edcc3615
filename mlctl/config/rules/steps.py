"""Steps of pipelines: their inputs, and what they read from each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.config.graph import Graph
from mlctl.config.pipelines import (
    ExpressionUse,
    Pipeline,
    Port,
    flows,
    is_declared,
    order,
    pipelines,
    steps,
    type_of,
    uses,
)
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.config.rules.step_values import called
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.kinds.expressions import INPUTS, JOBS, OUTPUTS, PARENT, SEARCH_SPACE, SIDES, spelt
from mlctl.pointer import Pointer
from mlctl.schema import Schema, places
from mlctl.schema.fields import IGNORED_FIELD
from mlctl.schema.text import listed, nearest, with_article

UNKNOWN_BINDING = Rule("MLC350", "unknown-binding", Severity.ERROR)
STEP_CYCLE = Rule("MLC351", "cycle-of-steps", Severity.ERROR)
MISSING_STEP_INPUT = Rule("MLC352", "missing-step-input", Severity.ERROR)
UNKNOWN_STEP_PORT = Rule("MLC353", "unknown-step-input-or-output", Severity.ERROR)
NO_COMPUTE = Rule("MLC356", "step-without-compute", Severity.WARNING)

_FEW = 2  # an alternative with fewer known keys is not the intended one
_OWN_COMPUTE = ("pipeline", "spark", "import", "data_transfer")  # steps that need none


def unknown_bindings(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC350."""
    for pipeline in pipelines(graph, context.read):
        for step in pipeline.steps.values():
            for use in uses(step.part.document, step.part.data, step.part.at):
                yield from _report_unbound(pipeline, use)


def unknown_fields(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC358: unknown fields that Azure ignores; it refuses the others (MLC101)."""
    for resource in declared(graph):
        data = resource.get() if resource.kind.steps else None
        if not isinstance(data, dict) or not isinstance(data.get(JOBS), dict):
            continue
        for at, level in places(resource.form.schema, data):
            properties, value = level.get("properties", {}), pointer.get(data, at)
            closed = "additionalProperties" in level or "if" in level  # by each of its alternatives
            if len(properties) < _FEW or closed:
                continue
            for name in value if isinstance(value, dict) else ():
                if name not in properties:
                    yield _report_ignored(resource, (*at, name), level)


def _report_ignored(resource: Resource, at: Pointer, schema: Schema) -> Diagnostic:
    """Report a key that a schema does not have."""
    name = str(at[-1])
    near = nearest(name, schema["properties"])
    hint = f"did you mean `{near}`?" if near else "remove it, or move it to where it belongs"
    advice = schema.get("x-mlctl-retired", {}).get(name)
    title = str(schema.get("title", resource.kind.name)).lower()
    owner = f"`{at[-2]}`" if title.endswith("s") and len(at) > 1 else with_article(title)
    return finding(
        IGNORED_FIELD, resource, at, f"{owner} has no field `{name}`", str(advice or hint), key=True
    )


def _report_unbound(pipeline: Pipeline, use: ExpressionUse) -> Iterator[Diagnostic]:
    """Report an expression that names nothing in the pipeline."""
    head, side, *path = (*use.expression.path, "", "")[: max(len(use.expression.path), 2)]
    if head != PARENT:
        return
    if side not in (*SIDES, JOBS) or not path:
        near = nearest(side, (*SIDES, JOBS))
        hint = f"did you mean `{spelt(PARENT, near, *path)}`?" if near and path else None
        forms = [spelt(PARENT, INPUTS, "NAME"), spelt(PARENT, JOBS, "STEP", OUTPUTS, "NAME")]
        hint = hint or f"write {listed(forms)}"
        yield _finding(pipeline, use, f"`{use.expression.text}` names nothing", hint)
    elif side == JOBS:
        yield from _unknown_step(pipeline, use, path)
    elif not is_declared(name := ".".join(path), ports := pipeline.ports(side)):
        message = f"the pipeline has no {side[:-1]} `{name}`"
        hint = _suggest((PARENT, side), name, ports) or f"declare `{name}` under `{side}`"
        yield _finding(pipeline, use, message, hint)


def _unknown_step(pipeline: Pipeline, use: ExpressionUse, path: list[str]) -> Iterator[Diagnostic]:
    name, *port = path
    step = pipeline.steps.get(name)
    if step is None:
        near = nearest(name, pipeline.steps)
        hint = (
            f"did you mean `{spelt(PARENT, JOBS, near, *port)}`?"
            if near
            else f"the steps are {listed(pipeline.steps, 'and')}"
        )
        yield _finding(pipeline, use, f"the pipeline has no step `{name}`", hint)
        return
    outputs = step.outputs() if len(port) > 1 and port[0] == OUTPUTS else None
    if outputs is not None and port[1] not in outputs:
        hint = _suggest((PARENT, JOBS, name, OUTPUTS), port[1], outputs) or (
            f"its outputs are {listed(sorted(outputs), 'and')}"
            if outputs
            else f"declare `{port[1]}` under its `{OUTPUTS}`"
        )
        yield _finding(pipeline, use, f"step `{name}` has no output `{port[1]}`", hint)


def cycles(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC351: once per cycle of steps, at the reference that closes it."""
    for pipeline in pipelines(graph, context.read):
        _, waiting = order(pipeline)
        reported: set[str] = set()
        for ring in _find_cycles(pipeline, waiting):
            if reported.isdisjoint(ring):
                reported.update(ring)
                yield _report_cycle(pipeline, ring)


def _find_cycles(pipeline: Pipeline, waiting: list[str]) -> Iterator[list[str]]:
    """Yield the path from each step in a cycle back to itself."""
    reads = {name: [s for s, t, _ in flows(pipeline) if t == name] for name in waiting}
    for first in waiting:
        previous, queue = {first: ""}, [first]
        while queue:
            current = queue.pop(0)
            if first in reads[current]:
                ring = [current]
                while previous[ring[-1]]:
                    ring.append(previous[ring[-1]])
                yield ring[::-1]
                break
            for source in reads[current]:
                if source in reads and source not in previous:
                    previous[source] = current
                    queue.append(source)


def _report_cycle(pipeline: Pipeline, ring: list[str]) -> Diagnostic:
    """Report a cycle: each step in `ring` reads from the next, the last from the first."""
    reading = {(target, source): use for source, target, use in flows(pipeline)}
    pairs = list(zip(ring, [*ring[1:], ring[0]], strict=True))
    *earlier_uses, last = [reading[pair] for pair in pairs]
    sentence = (
        f"step `{ring[0]}` reads its own output"
        if len(ring) == 1
        else f"steps {listed(ring, 'and')} wait for each other"
    )
    related = tuple(use.label("which reads this") for use in earlier_uses)
    hint = "remove one of the references"
    return finding(STEP_CYCLE, pipeline.resource, last.label(), sentence, hint, *related)


def missing_inputs(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC352."""
    for pipeline, step, ports in steps(graph, context.read, INPUTS):
        given_inputs = {**step.part.mapping(INPUTS), **step.part.mapping(SEARCH_SPACE)}
        strange = [str(name) for name in given_inputs if not is_declared(str(name), ports)]
        for name, port in ports.items():
            given = not port.needed or is_declared(name, given_inputs)
            if not given and nearest(name, strange) is None:
                at = (INPUTS,) if given_inputs else ()
                place = step.part.label(at, key=True)
                message = f"step `{step.name}` does not set `{name}`, which its component needs"
                hint = f"add `{name}` under `{INPUTS}`{_a_type(port)}"
                related = port.label("it is declared here")
                yield finding(MISSING_STEP_INPUT, pipeline.resource, place, message, hint, related)


def unknown_ports(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC353."""
    for side in SIDES:
        for pipeline, step, ports in steps(graph, context.read, side):
            for name in map(str, step.part.mapping(side)):
                if not is_declared(name, ports):
                    near = nearest(name, ports)
                    yield finding(
                        UNKNOWN_STEP_PORT,
                        pipeline.resource,
                        step.part.label((side, name), key=True),
                        f"the component of step `{step.name}` has no {side[:-1]} `{name}`",
                        f"did you mean `{near}`?" if near else _has(ports, side),
                    )


def no_compute(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC356: once per pipeline job, at the first step without one."""
    for pipeline in pipelines(graph, context.read):
        default = pipeline.part.mapping("settings").get("default_compute")
        if not pipeline.resource.kind.runs or default or pipeline.part.data.get("compute"):
            continue
        for step in pipeline.steps.values():
            kind = str(step.part.data.get("type", "")).casefold()
            nested = step.runs is not None and step.runs.data.get(JOBS)
            if kind not in _OWN_COMPUTE and not nested and "compute" not in step.part.data:
                message = f"step `{step.name}` has no `compute`, and the pipeline has no default"
                yield finding(
                    NO_COMPUTE,
                    pipeline.resource,
                    step.part.label(key=True),
                    message,
                    "write `settings: {default_compute: azureml:NAME}`, or `serverless`",
                )
                break


def _a_type(port: Port) -> str:
    return f": {called(type_of(port))}" if type_of(port) else ""


def _has(ports: Mapping[str, Port], side: str) -> str:
    return f"its {side} are {listed(ports, 'and')}" if ports else f"it has no {side}"


def _suggest(
    above: tuple[str, ...], name: str, names: Mapping[str, Port] | frozenset[str]
) -> str | None:
    near = nearest(name, sorted(names))
    return f"did you mean `{spelt(*above, near)}`?" if near else None


def _finding(pipeline: Pipeline, use: ExpressionUse, message: str, hint: str) -> Diagnostic:
    return finding(UNKNOWN_BINDING, pipeline.resource, use.label(), message, hint)


CHECKS = (unknown_bindings, cycles, missing_inputs, unknown_ports, no_compute, unknown_fields)
