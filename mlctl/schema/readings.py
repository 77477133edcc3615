"""Values of another type than a field has, which az reads as if they had it: `"30"` for 30."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema.exceptions import ValidationError

from mlctl import pointer
from mlctl.diagnostics import Diagnostic
from mlctl.pointer import Data, Pointer
from mlctl.schema import rules
from mlctl.source import Document

# As marshmallow reads them, which the SDK checks documents with.
_TRUE = ("true", "yes", "on", "y", "t")
_FALSE = ("false", "no", "off", "n", "f")
_LONGEST = 40  # characters of a number


def read_as_az_does(errors: Iterable[ValidationError], document: Document) -> Iterator[Diagnostic]:
    """Give a document the values that az would read in it, with a warning for each."""
    for at, types, value in _type_errors(errors):
        above: Data = pointer.get(document.data, at[:-1])
        if not at or not isinstance(above, dict | list):
            continue
        reading = _reading(value, types, str(at[-1]))
        if reading is not None and pointer.get(document.data, at) == value:
            above[at[-1]] = reading  # type: ignore[index]  # a pointer into it
            shown = str(reading).lower() if isinstance(reading, bool) else str(reading)
            text = isinstance(value, str)
            hint = f"write {shown}" if text else f'quote it: "{document.written(at)}"'
            kind = "text" if text else "a number"
            message = f"`{pointer.dotted(at)}` is written as {kind}; az reads it as `{shown}`"
            yield Diagnostic(rules.READ_OTHERWISE, message, document.label(at), hint)


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


def _reading(value: Data, types: tuple[str, ...], name: str) -> Data:
    """What az reads; None where it reads nothing else, or refuses the value."""
    if isinstance(value, float) and {"string", "integer"} == {*types} and name == "version":
        return str(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    word = value.strip().casefold()
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
