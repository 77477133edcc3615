"""Compile schemas to functions that quickly decide whether a value is valid.

Most documents are valid, so `jsonschema` need not be imported. The functions agree with it on every
value (a property test checks this). A schema with an unsupported keyword is not compiled, and the
library decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from mlctl.pointer import Data
from mlctl.schema.text import is_a

Predicate: TypeAlias = Callable[[Data], bool]
Known: TypeAlias = dict[int, Predicate]
"""The predicate of each schema that was met, by its id; the root keeps them alive."""

# Keywords that do not affect validity by themselves.
_ANNOTATIONS = frozenset(
    {
        "$schema",
        "$id",
        "$defs",
        "title",
        "description",
        "default",
        "examples",
        "readOnly",
        "writeOnly",
        "then",
        "else",
    }
)


_ANYTHING: Mapping[str, Data] = {}

# These functions run for every value of every document: a loop takes a third of a generator's time.
# ruff: noqa: SIM110


class UnknownKeyword(Exception):
    """The schema has a keyword that cannot be compiled."""


def compile_schema(schema: Mapping[str, Data]) -> Predicate | None:
    """Compile a schema to a function that decides validity; None if it cannot be compiled."""
    try:
        return _all(schema, {})
    except UnknownKeyword:
        return None


def _all(schema: Mapping[str, Data], compiled: Known) -> Predicate:
    """Return the check of a schema; subschemas shared by several schemas are compiled once."""
    if id(schema) not in compiled:
        compiled[id(schema)] = _conjunction(list(_checks(schema, compiled)))
    return compiled[id(schema)]


def _checks(schema: Mapping[str, Data], compiled: Known) -> Iterator[Predicate]:
    for keyword, wants in schema.items():
        if keyword in _ANNOTATIONS or keyword.startswith("x-"):
            continue
        check = _of_value(keyword, wants) or _of_parts(keyword, wants, schema, compiled)
        if check is None:
            raise UnknownKeyword(keyword)
        yield check


def _of_value(keyword: str, wants: Any) -> Predicate | None:  # noqa: PLR0911  # a table of keywords
    """Return the check of a keyword without subschemas; None if it is not one of these."""
    match keyword:
        case "type":
            return _typed([wants] if isinstance(wants, str) else wants)
        case "enum" if all(isinstance(word, str) for word in wants):
            words = frozenset(wants)
            return lambda value: isinstance(value, str) and value in words
        case "pattern" | "minLength" | "maxLength":
            return _text(keyword, wants)
        case "minimum" | "maximum":
            return _bounded(keyword, wants)
        case "required":
            names = frozenset(wants)
            return lambda value: not isinstance(value, dict) or names <= value.keys()
        case "minItems":
            return lambda value: not isinstance(value, list) or len(value) >= wants
        case "minProperties":
            return lambda value: not isinstance(value, dict) or len(value) >= wants
        case "maxItems":
            return lambda value: not isinstance(value, list) or len(value) <= wants
        case "maxProperties":
            return lambda value: not isinstance(value, dict) or len(value) <= wants
        case "uniqueItems" if wants is True:
            return _unique
        case _:
            return None


def _of_parts(  # noqa: PLR0911  # a table of keywords
    keyword: str, wants: Any, schema: Mapping[str, Data], compiled: Known
) -> Predicate | None:
    """Return the check of a keyword with subschemas; None if it is not one of these."""
    names = frozenset(schema.get("properties", {}))
    match keyword:
        case "properties":
            return _with(wants, compiled)
        case "additionalProperties":
            return (
                (lambda value: not isinstance(value, dict) or value.keys() <= names)
                if wants is False
                else _others(names, _all(wants, compiled))
            )
        case "propertyNames":
            check = _all(wants, compiled)
            return lambda value: not isinstance(value, dict) or all(map(check, value))
        case "items" if isinstance(wants, Mapping):
            check = _all(wants, compiled)
            return lambda value: not isinstance(value, list) or all(map(check, value))
        case "anyOf" | "allOf":
            branches = [_all(branch, compiled) for branch in wants]
            return _alternative(branches) if keyword == "anyOf" else _conjunction(branches)
        case "not":
            check = _all(wants, compiled)
            return lambda value: not check(value)
        case "if":
            test, met, unmet = (
                _all(part, compiled)
                for part in (wants, schema.get("then", _ANYTHING), schema.get("else", _ANYTHING))
            )
            return lambda value: met(value) if test(value) else unmet(value)
        case _:
            return None


def _conjunction(checks: list[Predicate]) -> Predicate:
    if len(checks) == 1:
        return checks[0]

    def holds(value: Data) -> bool:
        for check in checks:
            if not check(value):
                return False
        return True

    return holds


def _alternative(checks: list[Predicate]) -> Predicate:
    def holds(value: Data) -> bool:
        for check in checks:
            if check(value):
                return True
        return False

    return holds


def _typed(types: list[str]) -> Predicate:
    if types == ["string"]:
        return lambda value: isinstance(value, str)
    if types == ["object"]:
        return lambda value: isinstance(value, dict)
    if types == ["integer"]:
        return lambda value: value.__class__ is int or is_a(value, "integer")
    if len(types) == 1:
        return lambda value: is_a(value, types[0])
    return lambda value: any(is_a(value, name) for name in types)


def _text(keyword: str, limit: Any) -> Predicate:
    match keyword:
        case "minLength":
            return lambda value: not isinstance(value, str) or len(value) >= limit
        case "maxLength":
            return lambda value: not isinstance(value, str) or len(value) <= limit
        case _:
            ends = limit.endswith("$")

            def holds(value: Data) -> bool:
                if not isinstance(value, str):
                    return True
                if _expression(limit).search(value) is None:
                    return False
                return not (ends and value[-1:] == "\n")

            return holds


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most patterns of a schema are never needed."""
    return re.compile(pattern)


def _bounded(keyword: str, bound: float) -> Predicate:
    if keyword == "minimum":
        return lambda value: not (value.__class__ is int or is_a(value, "number")) or value >= bound
    return lambda value: not (value.__class__ is int or is_a(value, "number")) or value <= bound


def _with(properties: Mapping[str, Mapping[str, Data]], compiled: Known) -> Predicate:
    checks = {name: _all(inner, compiled) for name, inner in properties.items()}

    def holds(value: Data) -> bool:
        if isinstance(value, dict):
            for name in value:
                if name in checks and not checks[name](value[name]):
                    return False
        return True

    return holds


def _others(names: frozenset[str], check: Predicate) -> Predicate:
    def holds(value: Data) -> bool:
        if isinstance(value, dict):
            for name in value:
                if name not in names and not check(value[name]):
                    return False
        return True

    return holds


def _unique(value: Data) -> bool:
    if not isinstance(value, list):
        return True
    return not any(_same(item, earlier) for at, item in enumerate(value) for earlier in value[:at])


def _same(left: Data, right: Data) -> bool:
    """Compare as JSON does: 1 equals 1.0, and true does not equal 1."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
