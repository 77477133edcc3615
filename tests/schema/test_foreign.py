"""Schemas of somebody else: checked in bounded time, or refused."""

from __future__ import annotations

import time

import pytest

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


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": 3}, "is not valid"),
        ({"$ref": "#"}, "leads back"),
        ({"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, "leads back"),
        ({"$ref": "https://example.invalid/x.json"}, "no pointer within the schema"),
        ({"$ref": "#/$defs/a"}, "no pointer within the schema"),
        (doubled(40), "more than 2,000 parts"),
        ({"pattern": "(a+)+b"}, "could take very long"),
        ({"pattern": "(a|a)*b"}, "could take very long"),
        ({"pattern": "((a{1,90})x?){2,}b"}, "could take very long"),
        ({"pattern": "a*a*a*a*b"}, "could take very long"),
        ({"pattern": r"(.)(\1)+"}, "could take very long"),
        ({"patternProperties": {"a*a*b": {}}}, "could take very long"),
    ],
)
def test_a_schema_without_a_bound_is_refused(schema: Schema, message: str) -> None:
    wrong = foreign.wrong(schema)
    assert wrong is not None
    assert message in wrong[1]


@pytest.mark.parametrize("pattern", ["a*b", "a*a*b", "a*a*a*b", "(x|a)b"])
@pytest.mark.parametrize("length", [50, 256, 5_000, 200_000])
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
