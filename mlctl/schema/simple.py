"""Quick checks for simple schemas by others, without the library.

In these a value meets at most one schema (no `anyOf` or the like, no reference, no pattern), so a
document is checked in one pass. Most schemas in policies are simple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlctl.pointer import Data
from mlctl.schema.compiled import Predicate, compile_schema

_DEEPEST = 30  # levels of nested schemas
_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def predicate(schema: Mapping[str, Data]) -> Predicate | None:
    """Return a function that checks a value against a schema; None if it is not simple."""
    return compile_schema(schema) if _is_simple(schema, _DEEPEST) else None


def _is_simple(schema: Data, depth: int) -> bool:
    """Whether something is certainly a valid schema with only simple keywords."""
    return (
        depth > 0
        and isinstance(schema, dict)
        and all(_is_simple_keyword(key, value, depth) for key, value in schema.items())
    )


def _is_simple_keyword(keyword: Data, value: Any, depth: int) -> bool:
    if keyword == "properties":
        return isinstance(value, dict) and all(
            isinstance(name, str) and _is_simple(inner, depth - 1) for name, inner in value.items()
        )
    if keyword == "additionalProperties":
        return value is False or _is_simple(value, depth - 1)
    if keyword == "items":
        return _is_simple(value, depth - 1)
    fits = _VALUES.get(keyword) if isinstance(keyword, str) else None
    return fits is not None and fits(value)


def _are_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def _is_type(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _are_names(names) and bool(names) and _TYPES.issuperset(names)


def _is_count(value: Any) -> bool:
    return value.__class__ is int and value >= 0


_VALUES: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": _are_names,
    "required": _are_names,
    **dict.fromkeys(("minimum", "maximum"), lambda value: value.__class__ is int),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("title", "description"), lambda value: isinstance(value, str)),
}
