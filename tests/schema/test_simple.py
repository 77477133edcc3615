"""Schemas that are checked without the library: the same verdict, at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mlctl.schema import foreign, simple

NAMES = st.sampled_from(["name", "size", "tags"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "a", "abc", 1.0, 2.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of simple keywords, around others."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": st.just(value=False) | inner,
            "items": inner,
            "enum": st.lists(st.sampled_from(["", "a", "abc"]), max_size=2, unique=True),
            "minimum": st.integers(-3, 9),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 3),
            "maxProperties": st.integers(0, 3),
            "title": st.text(max_size=3),
        },
    )


SCHEMAS = st.recursive(schemas(st.nothing()), schemas, max_leaves=4)


@given(SCHEMAS, VALUES)
def test_a_simple_schema_is_met_where_the_library_says_so(schema: Any, value: Any) -> None:
    meets = simple.predicate(schema)
    assert meets is not None
    assert meets(value) is Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"type": []},
        {"type": ["string", "string"]},
        {"required": "name"},
        {"required": ["name", "name"]},
        {"properties": ["name"]},
        {"properties": {"name": 3}},
        {"properties": {3: {}}},
        {"minLength": -1},
        {"minLength": True},
        {"minimum": "3"},
        {"title": 3},
        {"items": {"type": "text"}},
        {"additionalProperties": {"required": 1}},
        {3: 3},
    ],
)
def test_what_may_be_wrong_is_left_to_the_library(schema: Any) -> None:
    assert simple.predicate(schema) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string"}]},
        {"pattern": "(a+)+"},
        {"$ref": "#/$defs/a"},
        {"uniqueItems": True},
        {"minimum": float("nan")},
    ],
)
def test_what_could_take_long_is_left_to_the_library(schema: Any) -> None:
    assert simple.predicate(schema) is None


def test_a_schema_that_is_nested_too_deeply_is_no_simple_one() -> None:
    schema: Any = {}
    for _ in range(40):
        schema = {"items": schema}
    assert simple.predicate(schema) is None
    assert foreign.wrong(schema) is not None
