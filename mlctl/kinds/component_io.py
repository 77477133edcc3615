"""The two spellings of component values, as azure-ai-ml 1.35.2 sends them.

The service stores a component's definition (`componentSpec`) under the keys of YAML, but turns
numbers and truth values into texts (recorded: component-put-create).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.pointer import Data

_SIZE = r"(\d+)([kmg]b)?"
_UNITS = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_LIMITS, _TRUTHS = ("default", "min", "max"), ("optional", "early_available")


def decode_scalar(value: Data, field: Field, _scope: Scope) -> Data:
    """Decode a number or truth value from the service's text."""
    return _parse_typed(value, str(field.schema.get("type")))


def canonical_scalar(value: Data, _field: Field, _scope: Scope) -> Data:
    """Return the text of a number or truth value."""
    return str(value).casefold()


def encode_ports(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode inputs or outputs as the SDK does: limits and defaults as texts."""
    return _map_each(value, lambda port: _map_port(port, _format_text))


def decode_ports(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode inputs or outputs to the types of YAML."""
    return _map_each(value, lambda port: _map_port(port, _parse_typed))


def canonical_ports(value: Data, field: Field, scope: Scope) -> Data:
    """Return inputs or outputs with all values as texts, without the default `optional: false`."""
    sent = encode_ports(decode_ports(value or {}, field, scope), field, scope)
    ports = _map_each(
        sent,
        lambda port: {key: entry for key, entry in port.items() if entry not in (None, "", False)},
    )
    return json.dumps(ports, sort_keys=True)


def size(value: Data) -> Data:
    """Parse the size of a mini-batch in files or bytes: `10kb` is 10240."""
    match = re.fullmatch(_SIZE, str(value), re.IGNORECASE)
    return int(match[1]) * _UNITS.get(str(match[2]).lower(), 1) if match else value


def encode_size(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode the size of a mini-batch as text."""
    return str(size(value))


def encode_list(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode a list as JSON text."""
    return value if isinstance(value, str) else json.dumps(value)


def decode_list(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode a list from JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def canonical_texts(value: Data, _field: Field, _scope: Scope) -> Data:
    """Return a mapping with all values as texts."""
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return json.dumps({key: str(entry).casefold() for key, entry in value.items()}, sort_keys=True)


def _map_each(value: Data, spelt: Callable[[Mapping[str, Data]], Data]) -> Data:
    if not isinstance(value, Mapping):
        return value
    return {
        name: spelt(port) if isinstance(port, Mapping) else port for name, port in value.items()
    }


def _map_port(port: Mapping[str, Data], spelt: Callable[[Data, str], Data]) -> Data:
    kind = str(port.get("type")).casefold()
    set_keys = {key for key, entry in port.items() if entry is not None}
    limits = {key: spelt(port[key], kind) for key in _LIMITS if key in set_keys}
    truths = {key: _parse_typed(port[key], "boolean") for key in _TRUTHS if key in set_keys}
    return {**port, "type": kind, **limits, **truths}


def _format_text(value: Data, kind: str) -> str:
    """Return the text of an input's value by its type, as the SDK writes it.

    A bare number counts as a float before the type is looked at, which is why 3 is `3.0` for a
    string.
    """
    bare = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        match kind:
            case "integer":
                return str(int(value))
            case "number":
                return str(float(value))
            case "boolean":
                return str(value).capitalize()
            case _:
                return str(float(value)) if bare else str(value)
    except (ValueError, OverflowError):
        return str(value)


def _parse_typed(value: Data, kind: str) -> Data:
    if not isinstance(value, str):
        return value
    try:
        match kind:
            case "boolean":
                return {"true": True, "false": False}.get(value.casefold(), value)
            case "integer":
                return int(value)
            case "number":
                return float(value)
            case _:
                return value
    except ValueError:
        return value
