"""Whether the values that steps give their components match the declared types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl.config.graph import Graph
from mlctl.config.pipelines import VALUES, Pipeline, Port, Step, pipelines, steps, type_of
from mlctl.config.rules.base import RuleContext, finding
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds.expressions import INPUTS, OUTPUTS, only
from mlctl.pointer import Data
from mlctl.schema.text import listed, shown, with_article

WRONG_INPUT_VALUE = Rule("MLC354", "wrong-input-value", Severity.ERROR)
OTHER_DATA = Rule("MLC355", "other-type-of-data", Severity.WARNING)
OTHER_COMPONENT = Rule("MLC359", "component-of-another-type", Severity.ERROR)

# The type of a step -> the type of its component.
_COMPONENTS = {"sweep": "command"} | {
    name: name for name in ("command", "parallel", "pipeline", "spark")
}
# Types of data that a program reads differently.
_UNLIKE = {frozenset(pair) for pair in (("uri_file", "uri_folder"), ("uri_file", "mltable"))}


@dataclass(frozen=True, slots=True)
class _Given:
    """The value of an input: its type ("" if unknown), its literal value if any, and its source."""

    type: str
    value: Data = None
    source: Port | None = None


def wrong_values(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC354 and MLC355."""
    for pipeline, step, ports in steps(graph, context.read, INPUTS):
        for name, value in step.part.mapping(INPUTS).items():
            port, given_value = ports.get(str(name)), _read_value(pipeline, value)
            misfit = _find_misfit(port, given_value) if port and given_value else None
            if misfit and port and given_value:
                rule, expected, got = misfit
                related = [port.label("it is declared here")]
                related += (
                    [given_value.source.label("this is its source")] if given_value.source else []
                )
                place = step.part.label((INPUTS, str(name)))
                message = f"`{name}` of the component must be {expected}, but gets {got}"
                hint = f"give it {expected}, or change the component"
                misfitting = finding(rule, pipeline.resource, place, message, hint, *related)
                # The service takes a pipeline that hands a fraction to a whole number.
                taken = isinstance(given_value.value, float) and type_of(port) == "integer"
                yield replace(misfitting, severity=Severity.WARNING) if taken else misfitting


def other_components(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC359: a step without a `type` has its component's."""
    for pipeline in pipelines(graph, context.read):
        for step in pipeline.steps.values():
            step_type = str(step.part.data.get("type", "")).casefold()
            inline = step.part.data.get("component")
            if isinstance(inline, dict):
                yield from _inline_of_another_type(pipeline, step, step_type, inline)
                continue
            expected = _COMPONENTS.get(step_type)
            if expected is None or step.runs is None or step.written:
                continue
            component_type = str(step.runs.data.get("type", "")).casefold()
            if not component_type and step_type == "pipeline":
                continue  # the SDK does not check steps without a type
            component_type = component_type or "command"
            if component_type != expected and component_type in _COMPONENTS.values():
                yield finding(
                    OTHER_COMPONENT,
                    pipeline.resource,
                    step.part.label(("type",)),
                    f"step `{step.name}` is {with_article(step_type)}, but its component"
                    f" {with_article(component_type)}",
                    f"write `type: {component_type}`",
                    step.runs.label(("type",), "it is this"),
                )


def _inline_of_another_type(
    pipeline: Pipeline, step: Step, step_type: str, component: Mapping[str, Data]
) -> Iterator[Diagnostic]:
    """Check a component inline: a parallel one needs its `type`, a pipeline needs a file."""
    component_type = str(component["type"]).casefold() if "type" in component else ""
    content = "pipeline" if "jobs" in component else "parallel" if "task" in component else ""
    content = content or ("spark" if "entry" in component else "command")
    expected = _COMPONENTS.get(step_type) if step_type else None
    if "pipeline" in (component_type, content) and expected in (None, "pipeline"):
        message, hint = "is a pipeline, which needs a separate file", "name the file"
    elif not component_type and content == "parallel" and expected in (None, content):
        message, hint = "is parallel, but has no `type`", "write `type: parallel` in it"
    elif expected not in (None, component_type or content):
        message = (
            f"is {with_article(component_type or content)}, but the step {with_article(step_type)}"
        )
        hint = f"write `type: {component_type or content}` in the step"
    else:
        return
    yield finding(
        OTHER_COMPONENT,
        pipeline.resource,
        step.part.label(("component",), key=True),
        f"the component in step `{step.name}` {message}",
        hint,
    )


def called(kind: str) -> str:
    """Describe a type in words."""
    return {"string": "text", "integer": "a whole number"}.get(kind, with_article(f"`{kind}`"))


def _read_value(pipeline: Pipeline, value: Data) -> _Given | None:
    """Read what a step sets an input to; None if nothing is known of it."""
    text = value.get("path") if isinstance(value, dict) else value
    if isinstance(text, str) and "${{" in text:
        port = _find_port(pipeline, text)
        return _Given(type_of(port), port.said.get("value"), port) if port else None
    if isinstance(value, dict):
        literal = "value" in value and "path" not in value
        kind = "" if literal else str(value.get("type", "")).casefold()
        return _Given("" if "${{" in kind else kind, value["value"] if literal else None)
    return _Given("", value)


def _find_port(pipeline: Pipeline, text: str) -> Port | None:
    """Return the port that a text is bound to, if it is nothing but an expression."""
    bound = only(text)
    match bound.path if bound else ():
        case ("parent", "inputs", *names):
            return pipeline.ports(INPUTS).get(".".join(names))
        case ("parent", "jobs", name, "outputs", output):
            step = pipeline.steps.get(name)
            return ((step and step.ports(OUTPUTS)) or {}).get(output)
        case _:
            return None


def _find_misfit(port: Port, given_value: _Given) -> tuple[Rule, str, str] | None:
    """Return the broken rule, what the input must be, and what it gets; None if it fits."""
    expected = type_of(port)
    if not expected:
        return None
    if given_value.value is not None:
        breach = _find_breach(port, given_value.value)
        return (WRONG_INPUT_VALUE, breach, shown(given_value.value)) if breach else None
    if not given_value.type or given_value.type == expected:
        return None
    type_names = called(expected), called(given_value.type)
    if (given_value.type in VALUES) != (expected in VALUES) or _is_disjoint(
        given_value.type, expected
    ):
        return WRONG_INPUT_VALUE, *type_names
    return (OTHER_DATA, *type_names) if frozenset((given_value.type, expected)) in _UNLIKE else None


def _find_breach(port: Port, value: Data) -> str | None:
    """Return the constraint that a value breaks; None if it fits."""
    expected = type_of(port)
    if expected not in VALUES:
        return None if isinstance(value, str) else called(expected)  # text may be a path
    if not _is_a(expected, value):
        return called(expected)
    number = None if expected == "string" else _number(value)
    least, largest = _number(port.said.get("min")), _number(port.said.get("max"))
    words = port.said.get("enum")
    if number is not None and least is not None and number < least:
        return f"at least {port.said['min']}"
    if number is not None and largest is not None and number > largest:
        return f"at most {port.said['max']}"
    if isinstance(words, list) and words and str(value) not in map(str, words):
        return f"one of {listed(map(str, words))}"
    return None


def _is_a(expected: str, value: Data) -> bool:
    """Whether a value can have the type; YAML and the wire also have numbers as text."""
    if expected == "boolean":
        return isinstance(value, bool) or str(value).casefold() in ("true", "false")
    number = _number(value)
    return expected == "string" or (
        number is not None and (expected == "number" or number.is_integer())
    )


def _number(value: Data) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _is_disjoint(kind: str, expected: str) -> bool:
    """Whether no value of one type is also one of the other."""
    numbers = ("number", "integer")
    return {kind, expected} <= VALUES and (
        (kind in numbers and expected == "boolean") or (kind == "boolean" and expected in numbers)
    )


CHECKS = (wrong_values, other_components)
