"""The structure of schemas: local references, and the forms of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from mlctl import pointer
from mlctl.pointer import Data

Built = TypeVar("Built")

_ANY_CASE = "x-mlctl-any-case"
_BINDINGS = "x-mlctl-bindings"
_EXPRESSION = {"type": "string", "pattern": r"\$\{\{"}
_SAID = ("title", "description", "examples", "default")


def expanded(part: Mapping[str, Data]) -> Mapping[str, Data]:
    """Return an object of a schema, without `$ref`s, with its own shorthand expanded."""
    if takes_expressions(part):
        part = _with_expressions(part)
    if _ANY_CASE in part:
        remaining_keywords = {
            key: value for key, value in part.items() if key not in ("enum", _ANY_CASE)
        }
        words = part["enum"]
        part = {**remaining_keywords, "anyOf": [{"enum": words}, {"pattern": _in_any_case(words)}]}
    return part


def takes_expressions(part: Mapping[str, Data]) -> bool:
    """Whether the values of an object may be expressions, as it says."""
    return part.get(_BINDINGS) is True


def _with_expressions(part: Mapping[str, Data]) -> dict[str, Data]:
    properties = {
        name: schema if schema.get(_BINDINGS) is False else _bound(schema)
        for name, schema in part["properties"].items()
    }
    keywords = {key: value for key, value in part.items() if key != _BINDINGS}
    return {**keywords, "properties": properties}


def _bound(schema: Mapping[str, Any]) -> dict[str, Data]:
    """Return a schema that accepts an expression in place of each value."""
    inner = dict(schema)
    if "properties" in schema:
        inner["properties"] = {
            name: _bound(inner_schema) for name, inner_schema in schema["properties"].items()
        }
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), Mapping):
            inner[key] = _bound(schema[key])
    if "anyOf" in schema:
        inner["anyOf"] = [
            _bound(branch) if "properties" in branch else branch for branch in schema["anyOf"]
        ]
    if schema.get("type") in ("object", "array"):
        return inner
    said = {key: value for key, value in schema.items() if key in _SAID}
    return {**said, "if": _EXPRESSION, "else": inner}


def _in_any_case(words: list[str]) -> str:
    return f"^(?:{'|'.join(''.join(map(_letter, word)) for word in words)})$"


def _letter(letter: str) -> str:
    return f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else letter


Schema = Mapping[str, Data]


def once_per_schema(build: Callable[[Schema], Built]) -> Callable[[Schema], Built]:
    """Build once per schema, by its id; the schemas are kept, so that ids stay unique."""
    results: dict[int, tuple[Schema, Built]] = {}

    @wraps(build)
    def of_schema(schema: Schema) -> Built:
        if id(schema) not in results:
            results[id(schema)] = (schema, build(schema))
        return results[id(schema)][1]

    return of_schema


def forms(root: Schema) -> Iterator[tuple[Schema | None, Schema]]:
    """Yield (condition, schema) of each form: the root's `if`/`then`/`else` chain, or the root.

    The condition of the last form is None: it applies if no earlier condition does.
    """
    rung = root
    while "if" in rung:
        yield rung["if"], rung["then"]
        rung = rung["else"]
    yield None, rung


def dereference(root: Schema, schema: Schema) -> Schema:
    """Return `schema` with its own local `$ref` resolved in `root`; its siblings win."""
    while is_local_reference(schema.get("$ref")):
        target = pointer.get(root, pointer.parse(schema["$ref"][1:]))
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


@once_per_schema
def resolved(schema: Schema) -> Schema:
    """Return `schema` with all local `$ref`s resolved and shorthand expanded.

    Recursive ones stay. What several refer to is one object in the result.
    """
    whole: Schema = _resolve(schema, schema, (), {})
    return whole


def without_shorthand(schema: Schema) -> Schema:
    """Return `schema` as editors understand it: with shorthand expanded, but references kept."""
    whole: Schema = _written_out(schema, schema)
    return whole


def is_local_reference(ref: Data) -> bool:
    """Whether the value of a `$ref` points into the same document."""
    return isinstance(ref, str) and ref.startswith("#")


def _resolve(part: Data, root: Schema, above: tuple[str, ...], targets: dict[str, Data]) -> Data:
    if isinstance(part, list):
        return [_resolve(item, root, above, targets) for item in part]
    if not isinstance(part, dict):
        return part
    ref = part.get("$ref")
    if not isinstance(ref, str) or not is_local_reference(ref) or ref in above:
        return expanded(
            {
                key: value if key == "$defs" else _resolve(value, root, above, targets)
                for key, value in part.items()
            }
        )
    if ref not in targets:
        target = pointer.get(root, pointer.parse(ref[1:]))
        targets[ref] = _resolve(target, root, (*above, ref), targets)
    if len(part) == 1:
        return targets[ref]
    siblings = {key: value for key, value in part.items() if key != "$ref"}
    return {**targets[ref], **_resolve(siblings, root, above, targets)}


def _written_out(part: Data, root: Schema) -> Data:
    if isinstance(part, list):
        return [_written_out(item, root) for item in part]
    if not isinstance(part, Mapping):
        return part
    if takes_expressions(part):
        return _resolve(part, root, (), {})
    return expanded({key: _written_out(value, root) for key, value in part.items()})
