"""The JSON Schemas of the kinds, and the check of a document by them."""

from mlctl.schema.check import check
from mlctl.schema.files import load, names, texts
from mlctl.schema.places import mentions, places
from mlctl.schema.structure import Schema, dereferenced, forms, resolved

__all__ = [
    "Schema",
    "check",
    "dereferenced",
    "forms",
    "load",
    "mentions",
    "names",
    "places",
    "resolved",
    "texts",
]
