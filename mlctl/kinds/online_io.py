"""The two spellings of values of online endpoints and deployments."""

from __future__ import annotations

import json

from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.kinds.records.online_deployment import OWN_VARIABLES
from mlctl.pointer import Data

_MILLI = 1000


def encode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode milliseconds as an ISO 8601 duration."""
    return format_iso(value / _MILLI)


def decode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode milliseconds from an ISO 8601 duration; other values are returned unchanged."""
    try:
        # a tick is a ten-thousandth; without rounding PT2.042S would be 2041.9999999999998
        number = round(parse_iso(value) * _MILLI, 4) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def canonical_variables(value: Data, _field: Field, _scope: Scope) -> Data:
    """Return environment variables as text, without those that the service adds."""
    variables = value or {}
    return {
        key: variable if isinstance(variable, str) else json.dumps(variable)
        for key, variable in variables.items()
        if key not in OWN_VARIABLES
    }


def shares(value: Data, _field: Field, _scope: Scope) -> Data:
    """Drop shares of 0, as azure-ai-ml 1.35.2 does; other values are returned unchanged."""
    if not isinstance(value, dict):
        return value
    return {name: part for name, part in value.items() if part != 0 or isinstance(part, bool)}


def canonical_shares(value: Data, field: Field, scope: Scope) -> Data:
    """Return shares with names in lower case."""
    return {name.casefold(): part for name, part in shares(value or {}, field, scope).items()}
