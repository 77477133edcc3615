"""Values of another type than a field has, which az reads as if they had it: `"30"` for 30."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema.exceptions import ValidationError

from mlctl import pointer
from mlctl.diagnostics import Diagnostic
from mlctl.pointer import Data, Pointer
from mlctl.schema import rules
from mlctl.schema.places import places
from mlctl.schema.structure import Schema, resolved
from mlctl.source import Document

# As marshmallow reads them, which the SDK checks documents with.
_TRUE = ("true", "yes", "on", "y", "t")
_FALSE = ("false", "no", "off", "n", "f")
_LONGEST = 40  # characters of a number
_STRICT = "search_space"  # where only whole numbers are whole numbers
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[Tt \t]+\d.*)?")
# Where az sends a date on as text.
_DATED = {"tags", "properties", "environment_variables", "flavors", "utc_time_created"}


def read_as_az_does(errors: Iterable[ValidationError], document: Document) -> Iterator[Diagnostic]:
    """Give a document the values that az would read in it, with a warning for each."""
    for at, types, value in _type_errors(errors):
        above: Data = pointer.get(document.data, at[:-1])
        if not at or not isinstance(above, dict | list):
            continue
        reading = _reading(value, types, at)
        if reading is not None and pointer.get(document.data, at) == value:
            above[at[-1]] = reading  # type: ignore[index]  # a pointer into it
            shown = str(reading).lower() if isinstance(reading, bool) else str(reading)
            kind = "text" if isinstance(value, str) else "a number"
            quoted = f'quote it: "{document.written(at)}"'
            hint = quoted if isinstance(reading, str) else f"write {shown}"
            message = f"`{pointer.dotted(at)}` is written as {kind}; az reads it as `{shown}`"
            yield Diagnostic(rules.READ_OTHERWISE, message, document.label(at), hint)


def unquoted_dates(document: Document, schema: Schema) -> Iterator[Diagnostic]:
    """Yield a finding for each date without quotes that stands for text: az takes none."""
    for at, part in dict(places(resolved(schema), document.data)).items():
        text = pointer.get(document.data, at)
        if not isinstance(text, str) or not _DATE.fullmatch(text) or not _DATED.isdisjoint(at):
            continue
        of_component = at == ("version",) and "number" in part.get("type", ())
        if document.written(at) == text and not of_component:
            message = f"`{pointer.dotted(at)}` takes text, not the date `{text}`"
            yield Diagnostic(rules.WRONG_TYPE, message, document.label(at), f'quote it: "{text}"')


def _type_errors(
    errors: Iterable[ValidationError],
) -> Iterator[tuple[Pointer, tuple[str, ...], Data]]:
    """Where a value has another type, which types the field takes, and the value."""
    for error in errors:
        if error.validator == "type":
            types: Any = error.validator_value
            names = (types,) if isinstance(types, str) else tuple(types)
            yield tuple(error.absolute_path), names, error.instance
        yield from _type_errors(error.context or ())


def _reading(value: Data, types: tuple[str, ...], at: Pointer) -> Data:
    """What az reads; None where it reads nothing else, or refuses the value."""
    if isinstance(value, str):
        return _parsed(value.strip().casefold(), types) if len(value) <= _LONGEST else None
    if types == ("boolean",) and value in (0, 1):
        return bool(value)
    return _whole(value, types, at) if isinstance(value, float) else None


def _parsed(word: str, types: tuple[str, ...]) -> Data:
    """What az reads of a text."""
    if "boolean" in types and word in (*_TRUE, *_FALSE):
        return word in _TRUE
    if not {"integer", "number"} & {*types} or "_" in word:
        return None
    try:
        number = float(word)
    except ValueError:
        return None
    whole = word.lstrip("+-").isdecimal()
    return int(word) if whole else number if "number" in types and math.isfinite(number) else None


def _whole(value: float, types: tuple[str, ...], at: Pointer) -> Data:
    """What az reads of a number with a fraction: a version as text, else the whole part."""
    if {"string", "integer"} == {*types} and at[-1] == "version":
        return str(value)
    is_cut = types == ("integer",) and math.isfinite(value) and _STRICT not in at
    return int(value) if is_cut else None
