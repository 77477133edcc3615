"""The JSON Schemas of the kinds, and the check of a document by them."""

from mlctl.schema.check import check
from mlctl.schema.files import load, names, texts
from mlctl.schema.key_order import key_orders, ordered
from mlctl.schema.places import mentions, places
from mlctl.schema.rules import SCHEMA_RULES
from mlctl.schema.structure import Schema, dereferenced, forms, resolved

__all__ = [
    "SCHEMA_RULES",
    "Schema",
    "check",
    "dereferenced",
    "forms",
    "key_orders",
    "load",
    "mentions",
    "names",
    "ordered",
    "places",
    "resolved",
    "texts",
]
