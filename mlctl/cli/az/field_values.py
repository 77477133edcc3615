"""Fields that flags set: a pointer to the schema, by which text becomes a value or not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mlctl import pointer, schema, source
from mlctl.cli.az.args import FieldText
from mlctl.cli.parser.declare import ARGUMENTS, DeclaredParameter
from mlctl.cli.parser.tree import SWITCH
from mlctl.cli.shell import TypedFlag, UsageError
from mlctl.cli.shell.command import flag_values, option
from mlctl.kinds import Kind
from mlctl.kinds.facts import Flag
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema
from mlctl.schema.text import enumerated, is_a
from mlctl.source.overlay import FlagValue

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
    word = next((word for word in enumerated(schema) if _bare(word) == _bare(text)), None)
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


def schema_of_key(schema: Schema, key: str) -> Schema | None:
    """Return the schema of an object's key; None if the key is unknown."""
    for level in (schema, *schema.get("anyOf", ())):
        if key in level.get("properties", {}):
            below: Schema = level["properties"][key]
            return below
    for level in (schema, *schema.get("anyOf", ())):
        additional = level.get(
            "additionalProperties", "anyOf" not in level and "object" in level.get("type", "object")
        )
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


# How a list of objects is given by one key of each.
_LISTED_BY = {"user_assigned_identities": "resource_id"}


def parameters(flags: Iterable[Flag], kind: Kind, *, defaults: bool) -> Iterator[DeclaredParameter]:
    """Return the parameters of flags, with help from the schema of the kind.

    `defaults` says whether an absent flag means the default; if it means "unchanged", none is
    shown.
    """
    for flag in flags:
        field = field_of(kind, flag.at)
        metavars = {"boolean": SWITCH, "object": "KEY=VALUE ...", "array": "ID ..."}
        yield option(
            flag.parameter,
            *flag.names,
            help=flag.help or " ".join(_help(field, defaults=defaults)),
            metavar=metavars.get(str(field.get("type")), ""),
            panel=flag.panel or ARGUMENTS,
            suggest=tuple(enumerated(field)),
        )


def values(
    flags: Iterable[Flag], texts: Mapping[str, FieldText], kind: Kind
) -> Iterator[FlagValue]:
    """Return the values that the flags of a command line give to fields."""
    for flag in flags:
        typed = texts.get(flag.parameter)
        if typed is not None:
            yield from _values(flag, typed, field_of(kind, flag.at))
    if texts.get("user_assigned_identities") and not texts.get("identity_type"):
        yield FlagValue(("identity", "type"), "user_assigned", "--identity-type", "user_assigned")


def field_of(kind: Kind, at: Pointer) -> Schema:
    """Return the schema of a field; of the last form, if a kind has several.

    Raises:
        KeyError: there is no such field.
    """
    *_, (_, form) = schema.forms(schema.resolved(kind.schema))
    for step in at:
        below = schema_of_key(form, str(step))
        if below is None:
            raise KeyError(pointer.dotted(at))
        form = below
    return form


def _values(flag: Flag, typed: str | Sequence[TypedFlag], field: Schema) -> Iterator[FlagValue]:
    if isinstance(typed, str):
        yield _value(flag, flag.at, typed, field, typed)
        return
    texts = flag_values(typed)
    text = " ".join(texts)
    if field.get("type") == "array":
        key = _LISTED_BY[str(flag.at[-1])]
        yield FlagValue(flag.at, [{key: text_} for text_ in texts], flag.names[0], text)
        return
    if "properties" not in field:
        yield FlagValue(flag.at, _map(flag, texts, field), flag.names[0], text or '""')
        return
    pairs = dict(pair.partition("=")[::2] for pair in texts)
    for key, value in pairs.items():
        below = schema_of_key(field, key)
        if below is None:
            properties = ", ".join(field["properties"])
            raise UsageError(
                f"argument {flag.names[0]}: unknown key `{key}`; the keys are: {properties}."
            )
        yield _value(flag, (*flag.at, key), value, below, f"{key}={value}")


def _map(flag: Flag, texts: Sequence[str], field: Schema) -> dict[str, Data]:
    """Read the entries of a map; az accepts several numbers in one text: `"blue=90 green=10"`."""
    entry: Schema = field["additionalProperties"]
    if entry.get("type") == "integer":
        pairs = dict(pair.partition("=")[::2] for text in texts for pair in text.split())
        return {key: _coerced(flag, text, entry) for key, text in pairs.items()}
    return dict(pair.partition("=")[::2] for pair in texts)


def _value(flag: Flag, at: Pointer, value: str, field: Schema, text: str) -> FlagValue:
    data = _coerced(flag, value, field)
    return FlagValue(at, data, flag.names[0], "***" if field.get("x-ms-secret") else text)


def _coerced(flag: Flag, value: str, field: Schema) -> Data:
    data = coerce(value, field, switch=True)
    if not fits(data, field):
        allowed = ", ".join(enumerated(field)) or {"boolean": "true, false"}.get(str(field["type"]))
        nouns = {"integer": "a whole number", "number": "a number"}
        noun = nouns.get(str(field.get("type")), "text")
        hint = f"Allowed values: {allowed}." if allowed else f"It takes {noun}."
        raise UsageError(f"'{value}' is not a valid value for '{'/'.join(flag.names)}'. {hint}")
    return data


def _help(field: Schema, *, defaults: bool) -> Iterator[str]:
    yield str(field.get("description", ""))
    formats = {"object": "Space-separated key=value pairs.", "array": "Space-separated."}
    if field.get("type") in ("array", "object"):
        yield formats[field["type"]]
    allowed: Sequence[Data] = enumerated(field)
    if allowed:
        yield f"Allowed values: {', '.join(map(str, allowed))}."
    if defaults and "default" in field:
        value = field["default"]
        yield f"Default: {str(value).lower() if isinstance(value, bool) else value}."
