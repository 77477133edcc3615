"""The order in which a document's keys are written: that of its schema."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.pointer import Data, Pointer
from mlctl.schema.places import places
from mlctl.schema.structure import Schema, resolved

_FIRST = ("$schema", "name", "endpoint_name", "version", "type")  # as in az's own files


def ordered(data: Data, schema: Schema) -> Data:
    """Sort a document's keys by its schema; unknown keys come last."""
    orders = key_orders(schema, data)

    def within(value: Data, at: Pointer) -> Data:
        if isinstance(value, list):
            return [within(item, (*at, number)) for number, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        names = [name for name in orders.get(at, ()) if name in value]
        return {name: within(value[name], (*at, name)) for name in (dict.fromkeys(names) | value)}

    return within(data, ())


def key_orders(schema: Schema, data: Data) -> dict[Pointer, Sequence[str]]:
    """Return the schema's keys for each mapping of a document, in order.

    The document's identifying keys come first. Mappings with user-defined keys are left out.
    """
    orders: dict[Pointer, dict[str, None]] = {}
    for at, level in places(resolved(schema), data, leaves=False):
        names = level.get("properties", {})
        if names:
            lead = () if at else [name for name in _FIRST if name in names]
            orders.setdefault(at, {}).update(dict.fromkeys((*lead, *names)))
    return {at: list(names) for at, names in orders.items()}
