"""Schemas of somebody else: checked in bounded time, or refused."""

from __future__ import annotations

import time

import pytest
from jsonschema import Draft202012Validator

from mlctl.pointer import Data
from mlctl.schema import foreign

Schema = dict[str, Data]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"size": {"pattern": "^Standard_(D|E|NC)[0-9]+.*_v[3-9]$"}}},
        {"$defs": {"a": {"type": "object"}}, "allOf": [{"$ref": "#/$defs/a"}]},
        {"patternProperties": {"^x-[a-z]+$": {"type": "string"}}},
        {"properties": {"pattern": {"const": "(a+)+"}}},
        {"properties": {"name": {"pattern": r"^([a-z]\(|[*+?])?(ab)+\.$"}}},
    ],
)
def test_a_usual_schema_is_taken(schema: Schema) -> None:
    assert foreign.wrong(schema) is None


def doubled(levels: int) -> Schema:
    """A schema whose references double with each level."""
    parts = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**parts, f"l{levels}": {}}, "$ref": "#/$defs/l0"}


def nested(keyword: str, levels: int) -> Schema:
    """A schema in schemas."""
    schema: Schema = {"type": "object"}
    for _ in range(levels):
        schema = {keyword: schema if keyword == "not" else [schema, {"type": "string"}]}
    return schema


def unevaluated(levels: int) -> Schema:
    """A schema whose parts ask again what those within them have evaluated."""
    schema: Schema = {"properties": {"a": {}}}
    for _ in range(levels):
        schema = {"anyOf": [schema, {"properties": {"b": {}}}], "unevaluatedProperties": False}
    return schema


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": 3}, "is not valid"),
        ({"$ref": "#"}, "is recursive"),
        ({"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, "is recursive"),
        ({"$ref": "https://example.invalid/x.json"}, "neither a pointer in the schema"),
        ({"$ref": "#/$defs/a"}, "neither a pointer in the schema"),
        (doubled(12), "more than 2,000 parts"),
        ({"pattern": "(a+)+b"}, "could take very long"),
        ({"pattern": "(a|a)*b"}, "could take very long"),
        ({"pattern": "((a{1,90})x?){2,}b"}, "could take very long"),
        ({"pattern": "a*a*a*a*b"}, "could take very long"),
        ({"pattern": r"(.)(\1)+"}, "could take very long"),
        ({"patternProperties": {"a*a*b": {}}}, "could take very long"),
        ({"pattern": "a?" * 30 + "a" * 30}, "could take very long"),
        ({"pattern": "(?:a?){30}a{30}"}, "could take very long"),
        ({"pattern": "(a|a)" * 30 + "b"}, "could take very long"),
        ({"pattern": "(a|a){30}b"}, "could take very long"),
        ({"pattern": "a{0,90}a{0,90}a{0,90}a{0,90}a{0,90}b"}, "could take very long"),
        ({"pattern": "(?P<x>a)(?P=x)+"}, "could take very long"),
        ({"pattern": "a{99999999999999999999}"}, "is not a regular expression"),
        ({"pattern": "["}, "is not a 'regex'"),
        ({"patternProperties": {"[": {}}}, "is not a 'regex'"),
        ({"pattern": "(" * 5_000 + ")" * 5_000}, "nested too deeply"),
        ({"properties": {"default": {"$ref": "http://127.0.0.1:9/x"}}}, "neither a pointer in"),
        ({"properties": {"enum": {"$ref": "file:///etc/hostname"}}}, "neither a pointer in"),
        ({"properties": {"const": {"pattern": "(a+)+b"}}}, "could take very long"),
        ({"properties": {"$defs": {"not": {"pattern": "(a+)+b"}}}}, "could take very long"),
        (
            {"properties": {"%41": {}, "A": {"pattern": "(a+)+b"}}, "$ref": "#/properties/%41"},
            "neither a pointer in",
        ),
        (
            {"properties": {"tags": {"$id": "http://h/x", "$ref": "#/$defs/a"}}},
            "only allowed for the whole schema",
        ),
        (
            {"$defs": {"a": {"$id": "http://h/x", "not": {}}}, "$ref": "#/$defs/a/not"},
            "neither a pointer in",
        ),
        (
            {"not": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}},
            "only allowed for the whole schema",
        ),
        (unevaluated(4), "more than 3 `unevaluated...`"),
        (nested("anyOf", 31), "nested too deeply"),
        (nested("not", 900), "nested too deeply"),
    ],
)
def test_a_schema_without_a_bound_is_refused(schema: Schema, message: str) -> None:
    wrong = foreign.wrong(schema)
    assert wrong is not None
    assert message in wrong[1]


PATTERNS = (
    *("a*b", "a*a*b", "a*a*a*b", "(x|a)b", "a?" * 6 + "b", "(a|a){2}a*b", "(a|a)a*a*b"),
    *("(a|a)a*a*a*b", "(a+)?(a+)?(a+)?b", "a?" * 14 + "b", "(a|a)" * 13 + "b", "a{0,60}" * 4 + "b"),
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("length", [50, 100, 256, 10_000, 100_000, 200_000])
def test_a_pattern_is_matched_with_a_text_at_once_or_not_at_all(pattern: str, length: int) -> None:
    start = time.process_time()
    unmet = list(foreign.unmet("a" * length, {"pattern": pattern}))
    assert [at for at, _ in unmet] == [()]
    assert time.process_time() - start < 5


def test_what_is_unmet_is_reported_in_the_order_of_the_places() -> None:
    schema = {"properties": {"b": {"pattern": "^x"}, "a": {"type": "integer"}}}
    unmet = list(foreign.unmet({"b": "y", "a": "z"}, schema))
    assert [at for at, _ in unmet] == [("a",), ("b",)]
    assert unmet[1][1] == "'y' does not match '^x'"


def test_the_library_knows_no_keyword_that_the_check_of_schemas_does_not() -> None:
    assert set(Draft202012Validator.VALIDATORS) == {
        *("$dynamicRef", "$ref", "additionalProperties", "allOf", "anyOf", "const", "contains"),
        *("dependentRequired", "dependentSchemas", "enum", "exclusiveMaximum", "exclusiveMinimum"),
        *("format", "if", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems"),
        *("minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern"),
        *("patternProperties", "prefixItems", "properties", "propertyNames", "required", "type"),
        *("unevaluatedItems", "unevaluatedProperties", "uniqueItems"),
    }


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf", "not"])
def test_the_deepest_schema_that_is_taken_is_checked(keyword: str) -> None:
    schema = nested(keyword, 30)
    assert foreign.wrong(schema) is None
    list(foreign.unmet({"a": 1}, schema))


def test_three_times_unevaluated_is_taken_and_quick() -> None:
    schema = nested("anyOf", 24) | unevaluated(3)
    start = time.process_time()
    assert foreign.wrong(schema) is None
    assert len(list(foreign.unmet({"a": 1, "c": 2}, schema))) == 1
    assert time.process_time() - start < 2


def test_a_list_of_many_objects_is_searched_for_repeated_ones_in_linear_time() -> None:
    items: list[Data] = [{"number": number} for number in range(10_000)]
    start = time.process_time()
    assert not list(foreign.unmet(items, {"uniqueItems": True}))
    assert list(foreign.unmet([*items, {"number": 3.0}], {"uniqueItems": True}))
    assert not list(foreign.unmet([1, True, "1"], {"uniqueItems": True}))
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("data", "schema", "message"),
    [
        ({"k" * 300: 1}, {"patternProperties": {"a*b": {}}}, "cannot be checked"),
        ([1] * 2_000, {"items": {"allOf": [{}] * 1_100}}, "too large for this schema"),
        (1.5, {"multipleOf": 1e-320}, "is not a multiple"),
    ],
)
def test_what_is_too_much_for_a_schema_is_reported(
    data: Data, schema: Schema, message: str
) -> None:
    assert foreign.wrong(schema) is None
    assert [message in why for _, why in foreign.unmet(data, schema)] == [True]


SIZE = {"properties": {"size": {"$ref": "amlCompute.schema.json#/properties/size"}}}


def test_a_reference_to_a_shipped_schema_is_followed_without_a_network() -> None:
    assert foreign.wrong(SIZE) is None
    assert list(foreign.unmet({"size": "Standard_DS3_v2"}, SIZE)) == []
    assert [at for at, _ in foreign.unmet({"size": 3}, SIZE)] == [("size",)]
    whole = {"$ref": "amlCompute.schema.json"}
    assert foreign.wrong(whole) is None
    assert [message for _, message in foreign.unmet({"name": "cpu"}, whole)] == [
        "'type' is a required property"
    ]


@pytest.mark.parametrize(
    "reference",
    ["nothing.schema.json", "amlCompute.schema.json#/properties/no", "../amlCompute.schema.json"],
)
def test_a_reference_to_what_is_not_shipped_is_refused(reference: str) -> None:
    wrong = foreign.wrong({"$ref": reference})
    assert wrong is not None
    assert "nor a schema of mlctl" in wrong[1]
