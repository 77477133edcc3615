"""Values of online endpoints and deployments in their two spellings."""

from __future__ import annotations

import json

from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.kinds.records.online_deployment import OWN_VARIABLES
from mlctl.pointer import Data

_MILLI = 1000


def encode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """The ISO 8601 duration of milliseconds."""
    return format_iso(value / _MILLI)


def decode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """The milliseconds of an ISO 8601 duration; other values as they are."""
    try:
        # a tick is a ten-thousandth; without rounding PT2.042S would be 2041.9999999999998
        number = round(parse_iso(value) * _MILLI, 4) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def canonical_variables(value: Data, _field: Field, _scope: Scope) -> Data:
    """Environment variables as text, without those that the service adds."""
    variables = value or {}
    return {
        key: variable if isinstance(variable, str) else json.dumps(variable)
        for key, variable in variables.items()
        if key not in OWN_VARIABLES
    }


def shares(value: Data, _field: Field, _scope: Scope) -> Data:
    """Without those that get nothing, as azure-ai-ml 1.35.2 sends it; other values as they are."""
    if not isinstance(value, dict):
        return value
    return {name: part for name, part in value.items() if part != 0 or isinstance(part, bool)}


def canonical_shares(value: Data, field: Field, scope: Scope) -> Data:
    """Shares under names in one letter case."""
    return {name.casefold(): part for name, part in shares(value or {}, field, scope).items()}
