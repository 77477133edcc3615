"""Commands of jobs and components: the inputs and outputs that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.config.graph import Graph
from mlctl.config.pipelines import Part, is_declared, pipelines, within
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.kinds.expressions import (
    INPUTS,
    OUTPUTS,
    ROOTS,
    SEARCH_SPACE,
    SIDES,
    Expression,
    broken,
    find,
    spelt,
)
from mlctl.pointer import Pointer
from mlctl.schema.text import listed, nearest, shown

UNDECLARED = Rule("MLC342", "undeclared-input-or-output", Severity.ERROR)
BROKEN_EXPRESSION = Rule("MLC357", "broken-expression", Severity.WARNING)

# The places of commands in whatever runs one.
_TEXTS: tuple[Pointer, ...] = (
    ("command",),
    ("args",),
    ("input_data",),
    ("task", "program_arguments"),
    ("task", "append_row_to"),
    ("task", "model"),
)
# `[--x ${{inputs.x}}]`, an older form: left out completely if the input has no value.
_OLD_OPTIONAL = re.compile(r"(?<!\$)(?<!\$\[)\[[^\[\]]*\]")
_PROSE = ("description", "display_name", "comment", "tags")
_ALWAYS = {OUTPUTS: ("default",)}  # present in every job


@dataclass(frozen=True, slots=True)
class _Command:
    """Something with a command, and the inputs, outputs and parameters that it may name."""

    owner: Resource
    part: Part
    known: Mapping[str, tuple[str, ...]]
    what: str


def undeclared(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC342, once per name in a command."""
    for command in _commands(graph):
        for at in _TEXTS:
            text = pointer.get(command.part.data, at)
            if isinstance(text, str):
                blank = _OLD_OPTIONAL.sub(lambda match: " " * len(match[0]), text)
                first_uses = {
                    expression.path: expression for expression in reversed([*find(blank)])
                }
                for expression in reversed(first_uses.values()):
                    yield from _undeclared(command, at, expression)


def _undeclared(command: _Command, at: Pointer, expression: Expression) -> Iterator[Diagnostic]:
    side, name = expression.path[0], ".".join(expression.path[1:])
    names = command.known.get(side)
    if names is None or not name or is_declared(name, (*names, *_ALWAYS.get(side, ()))):
        return
    near = nearest(name, names)
    choices = f"; the {side} are {listed(names, 'and')}" if names and side in SIDES else ""
    yield finding(
        UNDECLARED,
        command.owner,
        within(command.part.document, (*command.part.at, *at), expression.start, expression.end),
        f"the command names `{side}.{name}`, which the {command.what} does not declare",
        f"did you mean `{spelt(side, near)}`?"
        if near
        else f"declare `{name}` under `{side}`{choices}",
    )


def broken_expressions(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC357."""
    for resource in declared(graph):
        data = resource.get()
        for at, text in pointer.texts(data) if resource.kind.steps else ():
            if "$" not in text or any(part_of_text in at for part_of_text in _PROSE):
                continue
            for part in broken(text):
                place = within(resource.document, (*resource.root, *at), part.start, part.end)
                message = f"{shown(part.text)} is not an expression"
                hint = "close it with `]]`" if part.text.startswith("$[[") else "write `${{...}}`"
                yield finding(BROKEN_EXPRESSION, resource, place, message, hint)
            for part_of_text in find(text):
                near = nearest(part_of_text.path[0], ROOTS)
                if part_of_text.path[0] not in ROOTS and near:
                    place = within(
                        resource.document,
                        (*resource.root, *at),
                        part_of_text.start,
                        part_of_text.end,
                    )
                    message = f"`{part_of_text.path[0]}` means nothing in an expression"
                    hint = f"did you mean `{spelt(near, *part_of_text.path[1:])}`?"
                    yield finding(BROKEN_EXPRESSION, resource, place, message, hint)


def _commands(graph: Graph) -> Iterator[_Command]:
    """Yield everything that runs a command: jobs, components, steps, trials."""
    for resource in declared(graph):
        data = resource.get()
        if not resource.kind.steps or not isinstance(data, dict):
            continue
        subject = "job" if resource.kind.runs else "component"
        part = Part(resource.document, resource.root, data)
        yield _Command(resource, part, _known(part), subject)
        yield from _trial(resource, part, subject)
    for pipeline in pipelines(graph, lambda _path: None):
        for step in pipeline.steps.values():
            inline = step.part.mapping("component")
            if step.written and "component" not in step.part.data:
                yield _Command(pipeline.resource, step.part, _known(step.part), "step")
            elif inline:
                at = (*step.part.at, "component")
                part = Part(step.part.document, at, inline)
                owner = part if part.mapping(INPUTS) or part.mapping(OUTPUTS) else step.part
                yield _Command(pipeline.resource, part, _known(owner), "component")
            yield from _trial(pipeline.resource, step.part, "step")


def _trial(resource: Resource, part: Part, subject: str) -> Iterator[_Command]:
    trial = part.mapping("trial")
    if trial:
        inner = Part(part.document, (*part.at, "trial"), trial)
        declaring = inner if inner.mapping(INPUTS) else part
        space = tuple(map(str, part.mapping(SEARCH_SPACE)))
        names = {**_known(declaring), SEARCH_SPACE: space}
        yield _Command(resource, inner, names, "trial" if declaring is inner else subject)


def _known(part: Part) -> dict[str, tuple[str, ...]]:
    """Return the names of each side; the schema reports a side that is not a mapping."""
    return {
        side: tuple(map(str, part.mapping(side)))
        for side in SIDES
        if isinstance(part.data.get(side, {}), dict | None)
    }


CHECKS = (undeclared, broken_expressions)
