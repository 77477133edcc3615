"""The flags that set a field: each is a pointer to a field of the kind's schema.

A flag's meaning, type and default are read from the schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mlctl import pointer, schema
from mlctl.cli.az.args import FieldText
from mlctl.cli.az.field_values import coerce, fits, inside
from mlctl.cli.parser.declare import ARGUMENTS
from mlctl.cli.parser.tree import SWITCH
from mlctl.cli.shell import TypedFlag, UsageError
from mlctl.cli.shell.command import flag_values, option
from mlctl.kinds import Kind
from mlctl.kinds.facts import Flag
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema
from mlctl.schema.text import enumerated
from mlctl.source.overlay import FlagValue

# How a list of objects is given by one key of each.
_LISTED_BY = {"user_assigned_identities": "resource_id"}


def parameters(flags: Iterable[Flag], kind: Kind, *, defaults: bool) -> Iterator[inspect.Parameter]:
    """Return the parameters of flags, with help from the schema of the kind.

    `defaults` says whether an absent flag means the default; if it means "unchanged", none is
    shown.
    """
    for flag in flags:
        field = field_of(kind, flag.at)
        yield option(
            flag.parameter,
            *flag.names,
            help=flag.help or " ".join(_help(field, defaults=defaults)),
            metavar=_metavar(field),
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


def field_of(kind: Kind, at: Pointer) -> Schema:
    """Return the schema of a field; of the last form, if a kind has several.

    Raises:
        KeyError: there is no such field.
    """
    *_, (_, form) = schema.forms(schema.resolved(kind.schema))
    for step in at:
        below = inside(form, str(step))
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
        below = inside(field, key)
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
        hint = f"Allowed values: {allowed}." if allowed else f"It takes {_noun(field)}."
        raise UsageError(f"'{value}' is not a valid value for '{'/'.join(flag.names)}'. {hint}")
    return data


def _noun(field: Schema) -> str:
    return {"integer": "a whole number", "number": "a number"}.get(str(field.get("type")), "text")


def _metavar(field: Schema) -> str:
    match field.get("type"):
        case "boolean":
            return SWITCH
        case "object":
            return "KEY=VALUE ..."
        case "array":
            return "ID ..."
        case _:
            return ""


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
