"""Find what a schema says about each value of a document, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from mlctl.pointer import Data, Pointer
from mlctl.schema.compiled import Predicate, compile_schema
from mlctl.schema.structure import Schema
from mlctl.schema.text import is_a


def places(
    schema: Schema, data: Data, at: Pointer = (), *, leaves: bool = True
) -> Iterator[tuple[Pointer, Schema]]:
    """Yield each value of `data` with its schemas: several if alternatives apply.

    Without `leaves`, only objects and lists. `schema` has no references. Of an `anyOf`, the
    alternatives count that accept the value's type; of an `if`, the branch that applies.
    """
    branching = "anyOf" in schema or "if" in schema
    for level in _levels(schema, data) if branching else (schema,):
        yield at, level
        if isinstance(data, dict):
            properties, additional = level.get("properties", {}), level.get("additionalProperties")
            for name, value in data.items():
                inner = properties.get(name, additional)
                if isinstance(inner, dict) and (leaves or isinstance(value, dict | list)):
                    yield from places(inner, value, (*at, name), leaves=leaves)
        elif isinstance(data, list) and isinstance(level.get("items"), dict):
            for index, value in enumerate(data):
                yield from places(level["items"], value, (*at, index), leaves=leaves)


def mentions(schema: Schema, annotation: str) -> bool:
    """Whether an annotation occurs anywhere in a schema."""
    return annotation in _below(_Key(schema))


def _levels(schema: Schema, data: Data) -> Iterator[Schema]:
    yield schema
    for branch in schema.get("anyOf", ()):
        types = branch.get("type", ())
        if any(
            is_a(data, type_name) for type_name in ([types] if isinstance(types, str) else types)
        ):
            yield from _levels(branch, data)
    if "if" in schema:
        condition = _condition(_Key(schema["if"]))
        then = schema.get("then" if condition(data) else "else")
        if then is not None:
            yield from _levels(then, data)


class _Key:
    """A schema as a cache key, by identity."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.schema is self.schema


@cache
def _condition(key: _Key) -> Predicate:
    predicate = compile_schema(key.schema)
    assert predicate is not None, "a condition has keywords that are compiled"
    return predicate


@cache
def _below(key: _Key) -> frozenset[str]:
    annotations: set[str] = set()
    inner: list[Data] = [key.schema]
    visited: set[int] = set()
    while inner:
        part = inner.pop()
        if id(part) in visited or not isinstance(part, dict | list):
            continue
        visited.add(id(part))
        if isinstance(part, dict):
            annotations |= {name for name in part if name.startswith("x-")}
            inner += part.values()
        else:
            inner += part
    return frozenset(annotations)
