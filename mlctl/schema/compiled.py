"""Schemas compiled to functions that say quickly whether a value is valid.

Most documents are valid, so that `jsonschema` need not be imported. The functions agree with it on
every value (a property test says so). A schema with a keyword that is not known here is not
compiled, and the library decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from mlctl.pointer import Data
from mlctl.schema.text import is_a

Predicate: TypeAlias = Callable[[Data], bool]

# Keywords without an effect on validity of their own.
_ANNOTATIONS = frozenset(
    {
        *("$schema", "$id", "$defs", "title", "description", "default", "examples"),
        *("readOnly", "writeOnly", "then", "else"),
    }
)


class UnknownKeyword(Exception):
    """The schema has a keyword that cannot be compiled."""


def compile_schema(schema: Mapping[str, Data]) -> Predicate | None:
    """A function that says whether a value is valid; None if the schema cannot be compiled."""
    try:
        return _all(schema)
    except UnknownKeyword:
        return None


def _all(schema: Mapping[str, Data]) -> Predicate:
    checks = tuple(_checks(schema))
    if len(checks) == 1:
        return checks[0]
    return lambda value: all(check(value) for check in checks)


def _checks(schema: Mapping[str, Data]) -> Iterator[Predicate]:
    for keyword, wants in schema.items():
        if keyword in _ANNOTATIONS or keyword.startswith("x-"):
            continue
        check = _of_value(keyword, wants) or _of_parts(keyword, wants, schema)
        if check is None:
            raise UnknownKeyword(keyword)
        yield check


def _of_value(keyword: str, wants: Any) -> Predicate | None:  # noqa: PLR0911  # a table of keywords
    """The check for a keyword without schemas within it; None if it is not one of these."""
    match keyword:
        case "type":
            return _typed([wants] if isinstance(wants, str) else wants)
        case "enum" if all(isinstance(one, str) for one in wants):
            return _among(frozenset(wants))
        case "pattern" | "minLength" | "maxLength":
            return _text(keyword, wants)
        case "minimum" | "maximum":
            return _bounded(keyword, wants)
        case "required":
            return _having(wants)
        case "minItems":
            return _long(wants)
        case _:
            return None


def _of_parts(  # noqa: PLR0911  # a table of keywords
    keyword: str, wants: Any, schema: Mapping[str, Data]
) -> Predicate | None:
    """The check for a keyword with schemas within it; None if it is not one of these."""
    known = frozenset(schema.get("properties", {}))
    match keyword:
        case "properties":
            return _with(wants)
        case "additionalProperties":
            return _without_others(known) if wants is False else _others(known, _all(wants))
        case "items" if isinstance(wants, Mapping):
            return _each(_all(wants))
        case "anyOf" | "allOf":
            return _joined(any if keyword == "anyOf" else all, [_all(one) for one in wants])
        case "not":
            return _not(_all(wants))
        case "if":
            return _branch(wants, schema.get("then", {}), schema.get("else", {}))
        case _:
            return None


def _typed(types: list[str]) -> Predicate:
    if types == ["string"]:
        return lambda value: isinstance(value, str)
    if types == ["object"]:
        return lambda value: isinstance(value, dict)
    return lambda value: any(is_a(value, one) for one in types)


def _among(words: frozenset[str]) -> Predicate:
    return lambda value: isinstance(value, str) and value in words


def _text(keyword: str, wants: Any) -> Predicate:
    match keyword:
        case "minLength":
            return lambda value: not isinstance(value, str) or len(value) >= wants
        case "maxLength":
            return lambda value: not isinstance(value, str) or len(value) <= wants
        case _:
            search, ends = re.compile(wants).search, wants.endswith("$")
            return lambda value: (
                not isinstance(value, str)
                or (search(value) is not None and not (ends and value.endswith("\n")))
            )


def _bounded(keyword: str, bound: float) -> Predicate:
    if keyword == "minimum":
        return lambda value: not is_a(value, "number") or value >= bound
    return lambda value: not is_a(value, "number") or value <= bound


def _having(names: list[str]) -> Predicate:
    return lambda value: not isinstance(value, dict) or all(name in value for name in names)


def _with(properties: Mapping[str, Mapping[str, Data]]) -> Predicate:
    checks = {name: _all(inner) for name, inner in properties.items()}
    return lambda value: (
        not isinstance(value, dict)
        or all(checks[name](inner) for name, inner in value.items() if name in checks)
    )


def _without_others(known: frozenset[str]) -> Predicate:
    return lambda value: not isinstance(value, dict) or value.keys() <= known


def _others(known: frozenset[str], check: Predicate) -> Predicate:
    return lambda value: (
        not isinstance(value, dict)
        or all(check(inner) for name, inner in value.items() if name not in known)
    )


def _each(check: Predicate) -> Predicate:
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _long(least: int) -> Predicate:
    return lambda value: not isinstance(value, list) or len(value) >= least


def _joined(rule: Callable[[Iterator[bool]], bool], checks: list[Predicate]) -> Predicate:
    return lambda value: rule(check(value) for check in checks)


def _not(check: Predicate) -> Predicate:
    return lambda value: not check(value)


def _branch(
    condition: Mapping[str, Data], then: Mapping[str, Data], other: Mapping[str, Data]
) -> Predicate:
    test, met, unmet = _all(condition), _all(then), _all(other)
    return lambda value: met(value) if test(value) else unmet(value)
