"""What steps of pipelines give their components: does it fit what these declare?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl.config.graph import Graph
from mlctl.config.pipelines import VALUES, Pipeline, Port, Step, pipelines, steps, type_of
from mlctl.config.rules.base import RuleContext, finding
from mlctl.dataclasses import dataclass
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
# Types of data that a program reads in another way.
_UNLIKE = {frozenset(pair) for pair in (("uri_file", "uri_folder"), ("uri_file", "mltable"))}


@dataclass(frozen=True, slots=True)
class _Given:
    """What an input is given: its type ("" unknown), its value where it is one, and its source."""

    type: str
    value: Data = None
    source: Port | None = None


def wrong_values(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC354 and MLC355."""
    for pipeline, step, ports in steps(graph, context.read, INPUTS):
        for name, value in step.part.mapping(INPUTS).items():
            port, given_value = ports.get(str(name)), _given(pipeline, value)
            misfit = _misfit(port, given_value) if port and given_value else None
            if misfit and port and given_value:
                rule, expected, got = misfit
                related = [port.label("it is declared here")]
                related += [given_value.source.label("this is it")] if given_value.source else []
                yield finding(
                    rule,
                    pipeline.resource,
                    step.part.label((INPUTS, str(name))),
                    f"`{name}` of the component is {expected}, and gets {got}",
                    f"give it {expected}, or change the component",
                    *related,
                )


def other_components(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC359: a step without a `type` is what its component is."""
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
                continue  # the SDK does not look at what has no type
            component_type = component_type or "command"
            if component_type != expected and component_type in _COMPONENTS.values():
                yield finding(
                    OTHER_COMPONENT,
                    pipeline.resource,
                    step.part.label(("type",)),
                    f"step `{step.name}` is {with_article(step_type)}, and its component"
                    f" {with_article(component_type)}",
                    f"write `type: {component_type}`",
                    step.runs.label(("type",), "it is this"),
                )


def _inline_of_another_type(
    pipeline: Pipeline, step: Step, step_type: str, component: Mapping[str, Data]
) -> Iterator[Diagnostic]:
    """A component in the step itself: a parallel one says its `type`, a pipeline has a file."""
    component_type = str(component["type"]).casefold() if "type" in component else ""
    content = "pipeline" if "jobs" in component else "parallel" if "task" in component else ""
    content = content or ("spark" if "entry" in component else "command")
    expected = _COMPONENTS.get(step_type) if step_type else None
    if "pipeline" in (component_type, content) and expected in (None, "pipeline"):
        message, hint = "is a pipeline, which needs a separate file", "name the file"
    elif not component_type and content == "parallel" and expected in (None, content):
        message, hint = "is a parallel one without a `type`", "write `type: parallel` in it"
    elif expected not in (None, component_type or content):
        message = (
            f"is {with_article(component_type or content)}, and the step {with_article(step_type)}"
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
    """A type in words."""
    return {"string": "text", "integer": "a whole number"}.get(kind, with_article(f"`{kind}`"))


def _given(pipeline: Pipeline, value: Data) -> _Given | None:
    """What stands in a step for an input; None where nothing is known of it."""
    text = value.get("path") if isinstance(value, dict) else value
    if isinstance(text, str) and "${{" in text:
        port = _bound(pipeline, text)
        return _Given(type_of(port), port.said.get("value"), port) if port else None
    if isinstance(value, dict):
        literal = "value" in value and "path" not in value
        kind = "" if literal else str(value.get("type", "")).casefold()
        return _Given("" if "${{" in kind else kind, value["value"] if literal else None)
    return _Given("", value)


def _bound(pipeline: Pipeline, text: str) -> Port | None:
    """What a text is bound to, where it is nothing but an expression."""
    bound = only(text)
    match bound.path if bound else ():
        case ("parent", "inputs", name):
            return pipeline.ports(INPUTS).get(name)
        case ("parent", "jobs", name, "outputs", output):
            step = pipeline.steps.get(name)
            return ((step and step.ports(OUTPUTS)) or {}).get(output)
        case _:
            return None


def _misfit(port: Port, given_value: _Given) -> tuple[Rule, str, str] | None:
    """The rule that is broken, what the input is, and what it gets; None where it fits."""
    expected = type_of(port)
    if not expected:
        return None
    if given_value.value is not None:
        breach = _breach(port, given_value.value)
        return (WRONG_INPUT_VALUE, breach, shown(given_value.value)) if breach else None
    if not given_value.type or given_value.type == expected:
        return None
    type_names = called(expected), called(given_value.type)
    if (given_value.type in VALUES) != (expected in VALUES) or _narrower(
        given_value.type, expected
    ):
        return WRONG_INPUT_VALUE, *type_names
    return (OTHER_DATA, *type_names) if frozenset((given_value.type, expected)) in _UNLIKE else None


def _breach(port: Port, value: Data) -> str | None:
    """What an input is that a value does not fit; None where it does."""
    expected = type_of(port)
    if expected not in VALUES:
        return None if isinstance(value, str) else called(expected)  # text may be a path
    if not _is_a(expected, value):
        return called(expected)
    number = None if expected == "string" else _number(value)
    least, largest = _number(port.said.get("min")), _number(port.said.get("max"))
    words = port.said.get("enum")
    if number is not None and least is not None and number < least:
        return f"{port.said['min']} at least"
    if number is not None and largest is not None and number > largest:
        return f"{port.said['max']} at most"
    if isinstance(words, list) and words and str(value) not in map(str, words):
        return f"one of {listed(map(str, words))}"
    return None


def _is_a(expected: str, value: Data) -> bool:
    """Whether a value can be one of the type; YAML and the wire have numbers as text, too."""
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


def _narrower(kind: str, expected: str) -> bool:
    """Whether no value of one type of values is one of the other."""
    numbers = ("number", "integer")
    return {kind, expected} <= VALUES and (
        (kind in numbers and expected == "boolean") or (kind == "boolean" and expected in numbers)
    )


CHECKS = (wrong_values, other_components)
