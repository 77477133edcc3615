"""Unroll control flow in pipelines: `if_else`, `do_while`, `parallel_for`, a private preview.

A loop becomes its rounds (`BODY-1`, `BODY-2`); a step that depends on conditions lists them under
`condition`. What other steps read from a loop becomes the text `or A B`, the last round that ran,
or `and A B`, all of them. Source: azure-ai-ml 1.35.2,
`entities/_builders/{condition_node,do_while,parallel_for}.py`
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlctl.kinds.expressions import INPUTS, JOBS, OUTPUTS, PARENT, find, only, spelt
from mlctl.pointer import Data

TYPES = ("if_else", "do_while", "parallel_for")
CONDITION = "condition"  # of a step: texts, each with its expected value, "true" or "false"
LOOP = "loop"  # of a round: what other steps read, EVERY or LAST
BODY = "round_of"  # of a round: the step that it repeats
LAST, EVERY = "or", "and"
_MOST_ROUNDS = 1000  # azure-ai-ml, DO_WHILE_MAX_ITERATION
_BLOCKS = {"true_block": "true", "false_block": "false"}
_OF_STEP = r"\$\{\{\s*parent\.jobs\.([\w-]+)\.outputs\.([\w-]+)\s*\}\}"
_NO_NAME = r"[^\w-]"


class ControlFlowError(ValueError):
    """A control-flow step that cannot be read: `step`, and why, in a sentence."""

    def __init__(self, step: str, text: str) -> None:
        super().__init__(text)
        self.step = step


def kind_of(step: Data) -> str:
    """Return the type of a control-flow step, "" for other steps."""
    kind = str(step.get("type") or "").casefold() if isinstance(step, Mapping) else ""
    return kind if kind in TYPES else ""


def unroll(steps: Mapping[str, Data], text_of: Callable[[str], str | None]) -> dict[str, Data]:
    """Return the steps of a pipeline with loops unrolled; `text_of` gives an input's text.

    Raises:
        ControlFlowError: a step names no body, no items, or too many rounds.
    """
    control: dict[str, Any] = {name: step for name, step in steps.items() if kind_of(step)}
    if not control:
        return dict(steps)
    plain = {name: _copy(step) for name, step in steps.items() if name not in control}
    loops = {
        name: _find_target(name, step.get("body"), plain)
        for name, step in control.items()
        if kind_of(step) != "if_else"
    }
    for name, step in control.items():
        if name not in loops:
            _guard_blocks(name, step, plain, loops)
    results: dict[str, tuple[tuple[str, ...], str]] = {}  # of a loop or its body
    for name, body in loops.items():
        if body not in plain:
            raise ControlFlowError(name, f"`{body}` is the body of another loop")
        step, inside = control[name], plain.pop(body)
        if kind_of(step) == "do_while":
            rounds = dict(_unroll_while(name, step, body, inside))
            results[body] = tuple(rounds), LAST
        else:
            rounds = dict(_unroll_for(name, step, body, inside, text_of))
            results[name] = tuple(rounds), EVERY
        clash = sorted(rounds.keys() & steps.keys())
        if clash:
            raise ControlFlowError(name, f"`{clash[0]}` is the name of a round: rename the step")
        plain |= rounds
    return {name: _replace_loops(step, results) for name, step in plain.items()}


def drop_unrun(steps: Mapping[str, Data], names: Callable[[str], bool]) -> dict[str, Data]:
    """Return the steps that have run, without their references to steps that have not."""
    without = {name: ((), LAST) for name in steps if not names(name)}
    return {name: _replace_loops(steps[name], without) for name in steps if name not in without}


def rounds_of(text: str) -> tuple[bool, list[tuple[str, ...]]] | None:
    """Parse `or A B` or `and A B` into (all of them, paths); None for other texts."""
    expressions = list(find(text))
    words = set(re.sub(_OF_STEP, " ", text).split())
    if not expressions or words not in ({LAST}, {EVERY}):
        return None
    return words == {EVERY}, [expression.path for expression in expressions]


def _unroll_while(
    name: str, step: Any, body: str, inside: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Unroll `do_while`: each round reads from the one before it, while its condition holds."""
    limits = step.get("limits")
    text = str(limits.get("max_iteration_count") if isinstance(limits, Mapping) else None)
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_ROUNDS:
        raise ControlFlowError(
            name, f"`limits.max_iteration_count` must be from 1 to {_MOST_ROUNDS}, not `{text}`"
        )
    mapping = step.get("mapping")
    for number in range(1, int(text) + 1):
        turn = _copy(inside)
        if number > 1:
            previous = f"{body}-{number - 1}"
            for output, ports in mapping.items() if isinstance(mapping, Mapping) else ():
                for port in ports if isinstance(ports, list) else [ports]:
                    value = spelt(PARENT, JOBS, previous, OUTPUTS, _parse_port(output))
                    turn[INPUTS] = {**(turn.get(INPUTS) or {}), _parse_port(port): value}
            word = str(True if step.get(CONDITION) is None else step[CONDITION]).strip()
            if word.casefold() not in ("true", "false"):
                word = spelt(PARENT, JOBS, previous, OUTPUTS, _parse_port(word))
            _add_guard(turn, "true", word)
        turn |= {LOOP: LAST, BODY: body}
        yield f"{body}-{number}", turn


def _unroll_for(
    name: str, step: Any, body: str, inside: dict[str, Any], text_of: Callable[[str], str | None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Unroll `parallel_for`: one round per item, whose values become inputs."""
    items = _parse_items(name, step.get("items"), text_of)
    outputs = step.get(OUTPUTS)
    for key, item in items.items():
        if not isinstance(item, Mapping):
            raise ControlFlowError(
                name, f"each of `items` must be a mapping of inputs, not `{item}`"
            )
        turn = _copy(inside)
        inputs = turn.get(INPUTS) or {}
        unknown = sorted(map(str, item.keys() - inputs.keys()))
        # A component may have inputs that the step does not set.
        if unknown and not {"component", "componentId"} & turn.keys():
            raise ControlFlowError(name, f"`{unknown[0]}` in `items` is not an input of `{body}`")
        turn[INPUTS] = {**inputs, **item}
        if isinstance(outputs, Mapping):
            turn[OUTPUTS] = {**(turn.get(OUTPUTS) or {}), **outputs}
        turn |= {LOOP: EVERY, BODY: body}
        yield f"{body}-{re.sub(_NO_NAME, '_', str(key))}", turn


def _parse_items(name: str, items: Data, text_of: Callable[[str], str | None]) -> dict[Any, Data]:
    """Return the items of a loop, by number or key."""
    if isinstance(items, str):
        expression = only(items)
        if expression is not None and expression.path[:2] == (PARENT, JOBS):
            raise ControlFlowError(
                name, f"`items` are `{items}`, which is unknown before it has run: write them out"
            )
        text = text_of(expression.path[-1]) if expression is not None else items
        try:
            items = json.loads(text or "")
        except ValueError:
            raise ControlFlowError(name, f"`items` is not JSON: `{text}`") from None
    if isinstance(items, list):
        items = dict(enumerate(items, 1))
    if not isinstance(items, Mapping) or not items:
        raise ControlFlowError(name, "`items` must be a list or mapping, and not empty")
    return dict(items)


def _guard_blocks(name: str, step: Any, plain: dict[str, Any], loops: Mapping[str, str]) -> None:
    """Add the condition of `if_else` to the steps of both blocks."""
    condition = step.get(CONDITION)
    if condition is None or isinstance(condition, Mapping | list):
        raise ControlFlowError(name, "`condition` must be true, false or an output of a step")
    blocks = {key: step.get(key) for key in _BLOCKS}
    if not any(blocks.values()):
        raise ControlFlowError(name, "it has neither `true_block` nor `false_block`")
    for key, block in blocks.items():
        for target in block if isinstance(block, list) else [block] if block else []:
            _add_guard(
                plain[_find_target(name, target, plain, loops)], _BLOCKS[key], str(condition)
            )


def _add_guard(step: dict[str, Any], expected: str, text: str) -> None:
    texts = {key: list(values) for key, values in step.get(CONDITION, {}).items()}
    texts.setdefault(expected, []).append(text)
    step[CONDITION] = texts


def _find_target(
    name: str, text: Data, plain: Mapping[str, Data], loops: Mapping[str, str] | None = None
) -> str:
    """Return the step that `${{parent.jobs.NAME}}` names, or a loop's body."""
    expression = only(text) if isinstance(text, str) else None
    target = expression.path[2] if expression and expression.path[:2] == (PARENT, JOBS) else ""
    target = (loops or {}).get(target, target)
    if target not in plain:
        raise ControlFlowError(name, f"`{text}` does not name a step that it can run")
    return target


def _parse_port(text: Data) -> str:
    """Return the name of an input or output, which may be written as an expression."""
    expression = only(str(text))
    return expression.path[-1] if expression is not None else str(text)


def _copy(step: Data) -> dict[str, Any]:
    return dict(step) if isinstance(step, Mapping) else {}


def _replace_loops(data: Any, loops: Mapping[str, tuple[tuple[str, ...], str]]) -> Any:
    """Replace loops by their rounds; references to loops without rounds are dropped."""

    def rounds(match: re.Match[str]) -> str:
        if match[1] not in loops:
            return match[0]
        names, joined = loops[match[1]]
        texts = [spelt(PARENT, JOBS, name, OUTPUTS, match[2]) for name in names]
        return f"{joined} {' '.join(texts)}" if texts else ""

    if isinstance(data, str):
        return re.sub(_OF_STEP, rounds, data)
    if isinstance(data, Mapping):
        return {key: _replace_loops(value, loops) for key, value in data.items()}
    return [_replace_loops(value, loops) for value in data] if isinstance(data, list) else data
