"""Convert text to a field's value by its schema: `3` is a number only in a number field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from mlctl import source
from mlctl.pointer import Data
from mlctl.schema import Schema
from mlctl.schema.text import enumerated, is_a

_TRUTHS = {"true": True, "false": False}
# What az's own switches also accept (azure-cli-core, `get_three_state_flag`).
_MORE_TRUTHS = {
    **dict.fromkeys(("yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("no", "off", "0", "f", "n"), False),
}


def coerce(text: str, schema: Schema, *, switch: bool = False) -> Data:
    """Convert `text` to the type of a field of `schema`; return `text` if none fits.

    Words of an enum are accepted in any letter case, with or without `_`, and in ARM's spelling
    (`LowPriority`). A field for text gets text, whatever it looks like. `switch` accepts `yes` and
    `1` for true.
    """
    word = _word(text, schema)
    if word is not None:
        return word
    types = set(_types(schema))
    if not types:
        return _json(text)
    truths = {**_TRUTHS, **(_MORE_TRUTHS if switch else {})}
    if "boolean" in types and "string" not in types and text.casefold() in truths:
        return truths[text.casefold()]
    if {"object", "array"} & types and text.lstrip()[:1] in ("{", "["):
        value = source.plain(text)  # YAML's flow style: JSON, and what shells leave of it
        return value if any(is_a(value, type_) for type_ in types) else text
    if "string" in types:
        return text
    return _number(text, types)


def fits(value: Data, schema: Schema) -> bool:
    """Whether a value has one of the types of a schema, and is in its enum."""
    allowed, types = enumerated(schema), list(_types(schema))
    if allowed:
        return value in allowed
    return not types or any(is_a(value, type_) for type_ in types)


def inside(schema: Schema, key: str) -> Schema | None:
    """Return the schema of an object's key; None if the key is unknown."""
    for level in (schema, *schema.get("anyOf", ())):
        if key in level.get("properties", {}):
            below: Schema = level["properties"][key]
            return below
    for level in (schema, *schema.get("anyOf", ())):
        additional = level.get("additionalProperties", _open(level))
        if additional is not False:
            return additional if isinstance(additional, dict) else {}
    return None


def keys(schema: Schema) -> list[str]:
    """Return the keys of an object of the schema that users can set."""
    levels = (schema, *schema.get("anyOf", ()))
    return [
        name
        for level in levels
        for name, below in level.get("properties", {}).items()
        if not read_only(below) and not name.startswith("$")
    ]


def takes(schema: Schema, kind: str) -> bool:
    """Whether a value of a JSON type is allowed."""
    types = set(_types(schema))
    return not types or kind in types


def read_only(schema: Schema) -> bool:
    """Whether only the service sets the field."""
    return bool(schema.get("readOnly"))


def _open(level: Schema) -> bool:
    """Whether a schema that does not mention other keys accepts them."""
    return "anyOf" not in level and "object" in level.get("type", "object")


def _word(text: str, schema: Schema) -> str | None:
    return next((word for word in enumerated(schema) if _bare(word) == _bare(text)), None)


def _bare(word: Data) -> str:
    return re.sub(r"[_\s-]", "", str(word)).casefold()


def _types(schema: Schema) -> Iterator[str]:
    for level in (schema, *schema.get("anyOf", ())):
        types = level.get("type", ())
        yield from [types] if isinstance(types, str) else types


def _number(text: str, types: set[str]) -> Data:
    if {"integer", "number"} & types and re.fullmatch(r"[+-]?\d{1,20}", text):
        return int(text)
    if "number" in types and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        return float(text)
    return text


def _json(text: str) -> Data:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return source.plain(text) if text[:1] in ("{", "[") else text
