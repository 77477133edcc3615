"""The quick answer is the library's answer, whatever the document."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from mlctl import schema
from mlctl.kinds import KINDS
from mlctl.pointer import Data
from mlctl.schema import compiled
from tests.builders.generated import FORMS, documents

NAMES = schema.names()
CHECKS = {name: compiled.compile_schema(schema.resolved(schema.load(name))) for name in NAMES}


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Any:
    """JSON Schema's `$` is the very end."""
    if isinstance(value, str) and (
        not re.search(pattern, value) or (pattern.endswith("$") and value.endswith("\n"))
    ):
        yield ValidationError(pattern)


EXACT: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
LIBRARY = {name: EXACT(schema.resolved(schema.load(name))) for name in NAMES}
ODD: st.SearchStrategy[Data] = st.sampled_from(
    [None, True, False, 0, 1, -1, 2.0, 2.5, "", "x", "1", "x\n", [], [1], [{}], {}, {"a": None}]
)
ANYTHING = st.recursive(
    ODD | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


def agree(name: str, data: Data) -> bool:
    """Whether both say the same."""
    check = CHECKS[name]
    assert check is not None
    library: bool = LIBRARY[name].is_valid(data)
    return check(data) is library


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_has_a_quick_answer(name: str) -> None:
    assert CHECKS[name] is not None


@given(st.sampled_from(NAMES), ANYTHING)
def test_of_anything_at_all_both_say_the_same(name: str, data: Data) -> None:
    assert agree(name, data)


@given(st.sampled_from(FORMS), st.data())
def test_of_a_document_with_a_flaw_both_say_the_same(
    form: tuple[str, str], data: st.DataObject
) -> None:
    kind, shape = form
    document = data.draw(documents(kind, "thing", shape))
    name = KINDS[kind].schema_name
    assert agree(name, document)
    for holder in objects(document):
        key = data.draw(st.sampled_from([*holder, "stray"]))
        before = holder.get(key, ...)
        for odd in (data.draw(ODD), f"{before}\n"):
            holder[key] = odd
            assert agree(name, document)
        holder.pop(key)
        assert agree(name, document)
        if before is not ...:
            holder[key] = before


def objects(data: Data) -> list[dict[str, Data]]:
    """Every object in a document."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    below = [one for value in inner for one in objects(value)]
    return [data, *below] if isinstance(data, dict) else below


@given(st.sampled_from(["enum", "oneOf", "const", "patternProperties", "$ref"]))
def test_a_keyword_that_is_not_known_is_left_to_the_library(keyword: str) -> None:
    assert compiled.compile_schema({"properties": {"a": {keyword: [1]}}}) is None
