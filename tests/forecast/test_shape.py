"""The types of a forecast are those of its JSON Schema."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from mlctl.forecast.shape import Forecast
from tests.builders.paths import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "output" / "forecast.schema.json").read_text())
PLAIN = {str: {"string"}, int: {"integer"}, float: {"number"}, type(None): {"null"}}


def differences(hint: Any, schema: Any, at: str = "$") -> Iterator[str]:
    """Where a type and a schema do not say the same."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    options = schema.get("anyOf") or [
        {**schema, "type": name} for name in schema.get("type", ()) if isinstance(name, str)
    ]
    if isinstance(hint, types.UnionType):
        (member,) = (one for one in get_args(hint) if one is not type(None))
        kinds = [option for option in options if option.get("type") != "null"]
        if len(kinds) == len(options) or len(kinds) != 1:
            yield f"{at}: {hint} is not {schema}"
        else:
            yield from differences(member, kinds[0], at)
    elif is_typeddict(hint):
        hints = get_type_hints(hint)
        if not set(hints) == set(schema["properties"]) == set(schema["required"]):
            yield f"{at}: {sorted(hints)} are not {sorted(schema['properties'])}"
        for name, inner in hints.items():
            yield from differences(inner, schema["properties"].get(name, {}), f"{at}.{name}")
    elif get_origin(hint) is list:
        yield from differences(get_args(hint)[0], schema.get("items", {}), f"{at}[]")
    elif hint in PLAIN and not fits(hint, schema):
        yield f"{at}: {hint} is not {schema}"


def fits(hint: type, schema: Any) -> bool:
    """Whether a plain type is that of a schema."""
    if "const" in schema or "enum" in schema:
        return all(type(value) is hint for value in schema.get("enum", [schema.get("const")]))
    return {schema.get("type")} == PLAIN[hint]


def test_the_types_say_what_the_schema_says() -> None:
    assert list(differences(Forecast, SCHEMA)) == []


def test_a_type_that_says_something_else_is_seen() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    schema["properties"]["seed"]["type"] = "string"
    schema["properties"]["scenario"]["properties"]["mood"] = {"type": "string"}
    schema["properties"]["deadline_s"]["type"] = "number"
    found = list(differences(Forecast, schema))
    assert [text.partition(":")[0] for text in found] == ["$.seed", "$.deadline_s", "$.scenario"]
