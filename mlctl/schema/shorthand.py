"""Shorthand of the schemas: what their files say in a word, as JSON Schema has it.

`x-mlctl-any-case` at an `enum`: its words in any letter case; editors complete from them.
`x-mlctl-bindings` at an object: each value in it may be text with an expression (`${{...}}`) in its
place, but those of fields at which it is false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.pointer import Data

_ANY_CASE = "x-mlctl-any-case"
_BINDINGS = "x-mlctl-bindings"
_EXPRESSION = {"type": "string", "pattern": r"\$\{\{"}
_SAID = ("title", "description", "examples", "default")


def expanded(part: Mapping[str, Data]) -> Mapping[str, Data]:
    """An object of a schema without shorthand of its own; it has no `$ref`s within it."""
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
    """Whether the values of an object may be expressions, by its own word."""
    return part.get(_BINDINGS) is True


def _with_expressions(part: Mapping[str, Data]) -> dict[str, Data]:
    properties = {
        name: schema if schema.get(_BINDINGS) is False else _bound(schema)
        for name, schema in part["properties"].items()
    }
    keywords = {key: value for key, value in part.items() if key != _BINDINGS}
    return {**keywords, "properties": properties}


def _bound(schema: Mapping[str, Any]) -> dict[str, Data]:
    """A schema that takes an expression in place of each value."""
    inner = dict(schema)
    if "properties" in schema:
        inner["properties"] = {name: _bound(one) for name, one in schema["properties"].items()}
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), Mapping):
            inner[key] = _bound(schema[key])
    if "anyOf" in schema:
        inner["anyOf"] = [_bound(one) if "properties" in one else one for one in schema["anyOf"]]
    if schema.get("type") in ("object", "array"):
        return inner
    said = {key: value for key, value in schema.items() if key in _SAID}
    return {**said, "if": _EXPRESSION, "else": inner}


def _in_any_case(words: list[str]) -> str:
    return f"^(?:{'|'.join(''.join(map(_letter, word)) for word in words)})$"


def _letter(letter: str) -> str:
    return f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else letter
